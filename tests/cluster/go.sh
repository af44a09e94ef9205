# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Go for tests/cluster/build: a new enough toolchain, modules by their sums, and all that Go writes under $cache.
#
# Kubernetes and helm need a newer Go than Debian 12 has. Where the machine's is too old, Go's own toolchain module comes
# through the module proxy, in the version and with the sum that stand below.

needs_go_minor=26
toolchain=go1.26.8
declare -A toolchain_sum=(
	[amd64]="h1:ZOmGe1OnfREDMIdb1Qi4G9JSuDPBLGExZMQ4nis1RXM="
)

say()
{
	echo "tests/cluster/build: $*" >&2
}

fail()
{
	say "$*"
	exit 1
}

# The minor version of the Go in PATH: 19 for go1.19.8.
go_minor()
{
	local version
	version=$(cd / && GOTOOLCHAIN=local go env GOVERSION)
	version=${version#go1.}
	echo "${version%%[!0-9]*}"
}

# fetch_module MODULE@VERSION [SUM]: print the folder of the module's files, which have that sum. Without one Go's checksum
# database vouches for them.
fetch_module()
{
	local answer sum
	answer=$(cd "$cache" && GOFLAGS="$GOFLAGS -mod=mod" go mod download -json "$1") || fail "no module $1: $answer"
	sum=$(sed -n 's/^\t"Sum": "\(.*\)",\{0,1\}$/\1/p' <<<"$answer")
	[ "$sum" = "${2-$sum}" ] || fail "$1 has the sum '$sum', not the pinned one"
	sed -n 's/^\t"Dir": "\(.*\)",\{0,1\}$/\1/p' <<<"$answer"
}

# The module holds files without their x bits, and each go.mod as _go.mod, since a module may not contain another.
fetch_toolchain() # DIR
{
	local arch from file
	arch=$(go env GOARCH)
	[ -n "${toolchain_sum[$arch]-}" ] || fail "no toolchain is pinned for $arch: install Go 1.$needs_go_minor or newer"
	say "this machine's Go is too old; fetching $toolchain"
	from=$(fetch_module "golang.org/toolchain@v0.0.1-$toolchain.linux-$arch" "${toolchain_sum[$arch]}")
	rm -rf "$1.new"
	cp -r --no-preserve=mode "$from" "$1.new"
	find "$1.new" -name _go.mod | while read -r file; do
		mv "$file" "${file%_go.mod}go.mod"
	done
	chmod 755 "$1.new/bin"/* "$1.new/pkg/tool"/*/*
	mv "$1.new" "$1"
}

# keep_in_cache: Go writes under $cache only, and files that can be deleted. XDG_CONFIG_HOME is for its counters
# (telemetry), which have no setting of their own.
keep_in_cache()
{
	export GOENV=${GOENV-${XDG_CONFIG_HOME-${HOME-}/.config}/go/env} XDG_CONFIG_HOME=$cache/go/config GOPATH=$cache/go
	export GOCACHE=${GOCACHE-$cache/go/build} GOMODCACHE=${GOMODCACHE-$cache/go/mod}
	GOFLAGS="-modcacherw $(cd / && GOTOOLCHAIN=local go env GOFLAGS)" || fail "there is no Go; run tests/install cluster"
	export GOFLAGS
}

new_enough_go()
{
	keep_in_cache
	[ "$(go_minor)" -lt "$needs_go_minor" ] || return 0
	[ -x "$cache/$toolchain/bin/go" ] || fetch_toolchain "$cache/$toolchain"
	export GOROOT=$cache/$toolchain PATH=$cache/$toolchain/bin:$PATH
}
