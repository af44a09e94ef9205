# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What the scripts of tests/cluster share: the folder, processes by pid file, waiting.
#
# The folder of a cluster ($dir):
#	keeper.pid, init.pid	"PID START" of the keeper and of the cluster's process 1, in the machine's numbers
#	services/NAME.pid	the same of each service, in the numbers of the cluster's own pid namespace
#	cgroup			the name of the cgroup (in each hierarchy) that holds all pods
#	assets			a link to the programs
#	kubeconfig, admin.token	the administrator's; services have their own in config/
#	logs/NAME.log		what each service said; all that is left after tests/cluster/down
#	ready			exists when the cluster is up

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
dir=${MEMTAMER_CLUSTER:-$root/build/cluster}

say()
{
	echo "tests/cluster: $*" >&2
}

fail()
{
	say "$*"
	exit 1
}

# start_of PID: when it started, in clock ticks since boot; with the pid it names a process for good.
start_of()
{
	local stat
	{ read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 1
	# The name, in brackets, may hold anything; state is the first word behind it, start the 20th.
	# shellcheck disable=SC2086 # words
	set -- ${stat##*) }
	[ "$1" != Z ] && [ "$1" != X ] && echo "${20}"
}

# write_pid FILE PID
write_pid()
{
	local start
	start=$(start_of "$2") || return
	echo "$2 $start" >"$1.new" && mv "$1.new" "$1"
}

# pid_of FILE: the pid in it if that process is alive and still the same.
pid_of()
{
	local pid start
	{ read -r pid start <"$1"; } 2>/dev/null || return 1
	[ "$(start_of "$pid")" = "$start" ] && echo "$pid"
}

# wait_until SECONDS COMMAND...: try it until it succeeds. The time only ends a test that hangs.
wait_until()
{
	local end=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ "$SECONDS" -lt "$end" ] || return 1
		sleep 0.1
	done
}

not()
{
	! "$@"
}

# A command beside the cluster: its network, but the machine's files and processes.
in_cluster_network() # COMMAND...
{
	local init
	init=$(pid_of "$dir/init.pid") || fail "no cluster is up in $dir"
	KUBECONFIG=$dir/kubeconfig KUBECACHEDIR=$dir/kubecache PATH=$(readlink -f "$dir/assets"):$PATH \
		exec nsenter --target "$init" --net -- "$@"
}

# The roots of the cgroup hierarchies: one with cgroup v2, many with v1.
cgroup_roots()
{
	awk '$3 == "cgroup" || $3 == "cgroup2" { print $2 }' /proc/self/mounts
}

# remove_cgroups NAME: bottom up; the processes in them are dead or nearly so.
remove_cgroups()
{
	local at
	for at in $(cgroup_roots); do
		[ ! -d "$at/$1" ] || wait_until 30 remove_cgroup "$at/$1" || say "$at/$1 cannot be removed"
	done
}

remove_cgroup()
{
	find "$1" -depth -type d -exec rmdir {} + 2>/dev/null
	[ ! -d "$1" ]
}

# clean: what a cluster that has ended leaves, all but its logs. All mounts ended with its mount namespace.
clean()
{
	local cgroup
	if read -r cgroup 2>/dev/null <"$dir/cgroup"; then
		remove_cgroups "$cgroup"
	fi
	find "$dir" -mindepth 1 -maxdepth 1 ! -name logs -exec rm -rf --one-file-system {} +
}
