# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# The stages of tests/run: a row in stage_about and stage_needs, and a function. A function prints to its log, returns
# 0 or not, and may write "passed N", "failed N" and "skipped WHAT: WHY" lines to $result.

declare -A stage_about=() stage_needs=()
stages_short="" # in the order of the rows; the first that can start starts first
stages_long=""
stages_by_hand=""

add_row() # LIST NAME "NEEDS" "ABOUT"
{
	declare -g "$1=${!1} $2"
	stage_needs[$2]=$3
	stage_about[$2]=$4
}

row() { add_row stages_short "$@"; }
row_long() { add_row stages_long "$@"; } # a stage of `tests/run all`: takes minutes, or repeats what another one finds
row_by_hand() { add_row stages_by_hand "$@"; } # a stage that runs only when it is named

row cluster-build "" "build Kubernetes and helm for the cluster (kept)"
row release "" "build optimised and hardened; look at the hardening of the binaries"
row build-gcc "" "build, debug, gcc, warnings are errors"
row image "release" "the container image, built twice: the same bytes, and what it promises"
row e2e-short "build-gcc image cluster-build" "installed by helm on a real cluster: a pod patched, a warning from history, a retry after an OOM kill"
row build-asan "" "build with AddressSanitizer and UndefinedBehaviorSanitizer"
row chart "build-gcc image cluster-build" "the chart: values, roles, alerts, manifests; a real API server; a real install"
row blackbox "build-gcc" "the real programs over HTTPS, with a real Prometheus"
row asan "build-asan" "all of ctest under the sanitizers"
row build-tsan "" "build with ThreadSanitizer"
row tsan "build-tsan" "the tests that start threads, under ThreadSanitizer"
row unit "build-gcc" "unit tests and the link graph"
row build-clang "" "build with clang, warnings are errors"
row fuzz-replay "build-asan" "fuzz corpora replayed under the sanitizers"
row blackbox-asan "build-asan" "a sample of the black-box tests under the address sanitizer"
row property "build-gcc" "properties of decide() on random pods"
row golden "build-gcc" "golden cases through decide()"
row docs "build-gcc" "generated documents are what the tables say"
row format "" "clang-format changes nothing"
row shell "" "the scripts parse"
row demo "" "demo/run does what it shows, and prints what README.md says"

row_long service-build "cluster-build" "build Kueue and VPA's admission controller for the cluster (kept; five minutes)"
row_long e2e "e2e-short service-build" "all other end-to-end tests of programs, image and chart in a real Kubernetes cluster"
row_long build-fuzz "" "build the libFuzzer targets"
row_long fuzz "build-fuzz" "each fuzz target searches for twenty seconds"
row_long blackbox-tsan "build-tsan" "a sample of the black-box tests under ThreadSanitizer"
row_long valgrind "build-gcc" "the same under valgrind"
row_long tidy "build-clang" "clang-tidy finds nothing"
row_long cluster "cluster-build" "a real Kubernetes cluster comes up, runs pods, and leaves nothing behind"
row_long demo-cluster "image cluster-build" "make cluster makes a cluster in which a dry run warns from history"

row_by_hand tidy-changed "build-clang" "clang-tidy on the files that differ from \$MEMTAMER_SINCE"
row_by_hand e2e-frameworks "build-gcc image cluster-build" "the programs beside JobSet and the training-operator"

# Purposes of tests/install beyond build and test.
declare -A stage_packages=([image]=image [cluster-build]=cluster)

stages_check="build-gcc build-clang build-asan format shell unit golden property asan tsan docs"
# These measure the machine as a whole, or look at what happens within seconds.
stages_alone="e2e-frameworks"
# These run beside all others, whatever is going on: others wait for them, or they mostly wait themselves.
stages_beside="cluster-build service-build tidy e2e-short e2e"

list_stages()
{
	print_stages "of tests/run:" $stages_short
	print_stages "of tests/run all, beside these:" $stages_long
	print_stages "only when named:" $stages_by_hand
}

print_stages() # TITLE STAGE...
{
	local stage
	echo "$1"
	for stage in "${@:2}"; do
		printf '  %-14s %s\n' "$stage" "${stage_about[$stage]}"
	done
}

is_stage()
{
	[ -n "${stage_about[$1]-}" ]
}

skip() # WHY
{
	echo "skipped all: $1" >>"$result"
}

have() # TOOL: else the stage is skipped
{
	command -v "$1" >/dev/null && return
	skip "$1 is not installed"
	return 1
}

# python_with MODULE...: the first python3 that has them (a version manager's may hide Debian's).
python_with()
{
	local python list
	list=$(IFS=,; echo "$*")
	for python in /usr/bin/python3 python3; do
		"$python" -c "import $list" 2>/dev/null && echo "$python" && return
	done
	return 1
}

build() # PRESET [TARGET...]
{
	local preset=$1
	shift
	cmake --preset "$preset" && cmake --build --preset "$preset" -j "$(nproc)" ${1:+--target "$@"}
}

stage_build_gcc()
{
	build dev
}

stage_build_clang()
{
	have clang || return 0
	build clang
}

stage_build_asan()
{
	build asan
}

stage_build_fuzz()
{
	have clang || return 0
	build fuzz
}

stage_build_tsan()
{
	build tsan
}

stage_release()
{
	build release || return
	local program status=0
	for program in build/release/bin/memtamer-*; do
		[ -x "$program" ] || { skip "no programs in the release build" && return 0; }
		readelf -lW "$program" | grep -q GNU_RELRO || { echo "$program: no RELRO" && status=1; }
		readelf -dW "$program" | grep -q BIND_NOW || readelf -dW "$program" | grep -q 'FLAGS.*NOW' ||
			{ echo "$program: lazy binding" && status=1; }
		readelf -hW "$program" | grep -q 'Type:.*DYN' || { echo "$program: no PIE" && status=1; }
		readelf -lW "$program" | grep GNU_STACK | grep -q RWE && echo "$program: executable stack" && status=1
	done
	return "$status"
}

# Files of ours with this ending, also those that are not committed yet.
sources()
{
	git ls-files -co --exclude-standard -- "$@" | while read -r file; do
		[ ! -f "$file" ] || echo "$file"
	done
}

stage_format()
{
	have clang-format || return 0
	sources '*.c' '*.h' | xargs -r clang-format --dry-run --Werror
}

stage_shell()
{
	local file status=0 n=0
	for file in $(git grep -lE --untracked '^#!/(usr/bin/env |bin/)(ba)?sh|^# shellcheck shell=bash'); do
		n=$((n + 1))
		bash -n "$file" || { echo "failed 1" >>"$result" && status=1; }
	done
	[ "$status" != 0 ] || echo "passed $n" >>"$result"
	return "$status"
}

run_ctest() # PRESET [ctest arguments]
{
	local preset=$1 status=0 output=build/logs/ctest-$BASHPID.txt wrap=()
	shift
	# ThreadSanitizer needs its addresses free, which some kernels' randomisation does not leave.
	[ "$preset" != tsan ] || wrap=(setarch "$(uname -m)" -R)
	"${wrap[@]}" ctest --preset "$preset" -j "$(nproc)" "$@" >"$output" 2>&1 || status=$?
	cat "$output"
	ctest_report <"$output" >>"$result"
	rm -f "$output"
	return "$status"
}

stage_unit()
{
	run_ctest dev -LE '^(golden|property|fuzz)$'
}

stage_golden()
{
	run_ctest dev -L '^golden$'
}

stage_property()
{
	run_ctest dev -L '^property$'
}

stage_fuzz_replay()
{
	run_ctest asan -L '^fuzz$'
}

# What it finds is kept in build/fuzz/work: mend it, and put the input into the corpus of its target. With a seed, a
# commit that passes passes again; the search for new inputs is a campaign without one.
stage_fuzz()
{
	have clang || return 0
	local status=0 output=build/logs/fuzz-$BASHPID.txt
	tests/fuzz/campaign --seconds 20 --seed 1 >"$output" 2>&1 || status=$?
	cat "$output"
	echo "passed $(grep -c '^passed ' "$output")" >>"$result"
	echo "failed $(grep -c '^failed ' "$output")" >>"$result"
	rm -f "$output"
	return "$status"
}

stage_asan()
{
	run_ctest asan -LE '^fuzz$'
}

stage_tsan()
{
	run_ctest tsan -L '^threads$'
}

# .c files of the compilation database.
compiled()
{
	sed -n 's/^ *"file": "\(.*\)",\{0,1\}$/\1/p' build/clang/compile_commands.json | sort -u
}

# When a processor is idle: this stage runs beside all others.
stage_tidy()
{
	have clang-tidy || return 0
	compiled | xargs -r -n 4 -P "$(nproc)" chrt --idle 0 clang-tidy -p build/clang --quiet
}

stage_tidy_changed()
{
	have clang-tidy || return 0
	git diff --name-only "${MEMTAMER_SINCE:?a commit}" -- '*.c' | sed "s#^#$PWD/#" | grep -xFf <(compiled) |
		xargs -r -n 2 -P "$(nproc)" clang-tidy -p build/clang --quiet
}

stage_docs()
{
	RESULT=$result tests/lib/docs-drift build/dev
}

# run_blackbox PRESET [run.py arguments]: the python tests against that build.
run_blackbox()
{
	local bin=build/$1/bin python status=0 output=build/logs/python-$BASHPID.txt
	shift
	if [ ! -x "$bin/memtamer-webhook" ]; then
		skip "no programs in $bin"
		return 0
	fi
	if ! python=$(python_with yaml jsonpatch); then
		skip "python3-yaml and python3-jsonpatch are not installed"
		return 0
	fi
	"$python" -B tests/blackbox/run.py --bin "$bin" "$@" >"$output" 2>&1 || status=$?
	cat "$output"
	unittest_report <"$output" >>"$result"
	rm -f "$output"
	return "$status"
}

stage_blackbox()
{
	run_blackbox dev
}

stage_blackbox_asan()
{
	run_blackbox asan --sample
}

stage_blackbox_tsan()
{
	run_blackbox tsan --sample --under setarch
}

stage_valgrind()
{
	have valgrind || return 0
	run_blackbox dev --sample --under valgrind
}

# Needs no cluster: the image as a folder. The real kubelet runs it in the stage e2e.
stage_image()
{
	if [ "$(id -u)" != 0 ]; then
		skip "chroot needs root"
		return 0
	fi
	tests/install image || { skip "the packages of tests/install image could not be installed" && return 0; }
	local again=build/image/again.tar
	image/build --bin build/release/bin || return
	image/check build/image/memtamer.tar || return
	image/build --bin build/release/bin --out "$again" >/dev/null || return
	cmp build/image/memtamer.tar "$again" && rm "$again"
}

# What needs a cluster is left out without root.
stage_chart()
{
	local python status=0 output=build/logs/chart-$BASHPID.txt
	if ! python=$(python_with yaml); then
		skip "python3-yaml is not installed"
		return 0
	fi
	[ "$(id -u)" != 0 ] || tests/install cluster || skip "the packages of tests/install cluster could not be installed"
	"$python" -B tests/chart/run.py >"$output" 2>&1 || status=$?
	cat "$output"
	unittest_report <"$output" >>"$result"
	rm -f "$output"
	return "$status"
}

stage_demo()
{
	demo/run | tee build/logs/demo-output.txt && tests/lib/demo-excerpts build/logs/demo-output.txt
}

# can_cluster: what tests/cluster needs is here; else the stage is skipped.
can_cluster()
{
	if [ "$(id -u)" != 0 ]; then
		skip "a kubelet needs root"
		return 1
	fi
	tests/install cluster || { skip "the packages of tests/install cluster could not be installed" && return 1; }
}

# ~/.cache/memtamer keeps what it makes.
stage_cluster_build()
{
	can_cluster || return 0
	tests/cluster/build
}

stage_service_build()
{
	can_cluster || return 0
	tests/cluster/build kueue vpa-admission
}

stage_cluster()
{
	can_cluster || return 0
	local status=0 output=build/logs/cluster-$BASHPID.txt
	tests/cluster/smoke >"$output" 2>&1 || status=$?
	cat "$output"
	echo "passed $(grep -c '^ok ' "$output")" >>"$result"
	rm -f "$output"
	return "$status"
}

stage_demo_cluster()
{
	can_cluster || return 0
	local status=0
	export MEMTAMER_CLUSTER=$PWD/build/cluster-demo
	demo/cluster --owner "$BASHPID" || status=$?
	tests/cluster/down || status=1
	return "$status"
}

# run_e2e [run.py arguments]
run_e2e()
{
	can_cluster || return 0
	local python status=0 output=build/logs/e2e-$BASHPID.txt
	if ! python=$(python_with yaml jsonpatch); then
		skip "python3-yaml and python3-jsonpatch are not installed"
		return 0
	fi
	MEMTAMER_IMAGE=build/image/memtamer.tar "$python" -uB tests/e2e/run.py --bin build/dev/bin "$@" >"$output" 2>&1 || status=$?
	cat "$output"
	grep -E '^(passed|failed) [0-9]+$|^(skipped|unsteady) [^ ]+: ' "$output" >>"$result"
	rm -f "$output"
	return "$status"
}

stage_e2e()
{
	run_e2e --again 1 --except short.
}

# A cluster, and logs, of its own: it may run beside the others.
stage_e2e_short()
{
	MEMTAMER_CLUSTER=$PWD/build/cluster-short run_e2e --logs build/logs/e2e-short --only short.
}

stage_e2e_frameworks()
{
	run_e2e --needing jobset training-operator
}
