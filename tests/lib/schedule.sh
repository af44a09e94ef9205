# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Runs stages beside each other, a stage after those it needs: one more than there are processors, as tests also wait;
# those that run beside all others do not count. A stage is a function of stages.sh; its output goes to
# build/logs/STAGE.log. Each has a temporary folder of its own in the folder $scratch. A stage that leaves files there,
# or processes, has failed.

logs=build/logs
linger_seconds=30 # how long processes of a stage may outlive it: a cluster ends after its owner

# close_over STAGE... -> the stages and all they need, needs first, each once.
close_over()
{
	local -A seen=()
	local order=() stage need
	visit()
	{
		[ -z "${seen[$1]-}" ] || return 0
		seen[$1]=1
		for need in ${stage_needs[$1]}; do
			visit "$need"
		done
		order+=("$1")
	}
	for stage in "$@"; do
		visit "$stage"
	done
	printf '%s\n' "${order[@]}"
}

# take_folder: two runs at a time in one folder are refused, since both would write to build/; file descriptor 9 is the
# lock. One that was killed itself may have left its stages behind: they are ended.
take_folder()
{
	local pid
	exec 9>build/lock
	if ! flock -n 9; then
		echo "tests/run: another run is under way in $PWD" >&2
		return 1
	fi
	for pid in $(cd /proc && env -u MEMTAMER_RUN grep -lsxz "MEMTAMER_RUN=$OLDPWD" [0-9]*/environ); do
		kill -KILL "${pid%/*}" 2>/dev/null
	done
	return 0
}

# left_running: processes that inherited the environment of this stage, whatever their parents are now.
left_running()
{
	local pid
	for pid in $(cd /proc && env -u MEMTAMER_STAGE grep -lsxz "MEMTAMER_STAGE=$MEMTAMER_STAGE" [0-9]*/environ); do
		echo "${pid%/*}"
	done
}

# leave_nothing: end and remove what a stage that has ended left behind, and fail if there was anything.
leave_nothing()
{
	local end=$((SECONDS + linger_seconds)) pid status=0
	while [ -n "$(left_running)" ] && [ "$SECONDS" -lt "$end" ]; do
		sleep 0.2
	done
	for pid in $(left_running); do
		echo "FAILED left running: $(tr '\0' ' ' <"/proc/$pid/cmdline")"
		kill -KILL "$pid"
		status=1
	done
	if ! rmdir "$TMPDIR"; then
		echo "FAILED left behind: $(ls -A "$TMPDIR")"
		rm -rf "$TMPDIR"
		status=1
	fi
	return "$status"
}

# start_stage STAGE: in a process of its own; leaves .log, .result and .end (exit status, seconds).
start_stage()
{
	local stage=$1
	rm -f "$logs/$stage".{log,result,end}
	set -m # a process group of its own, so that all of it can be stopped
	(
		exec 9>&-
		status=0
		begin=${EPOCHREALTIME/[.,]/}
		result=$PWD/$logs/$stage.result
		export TMPDIR=$scratch/$stage MEMTAMER_STAGE=$$/$stage MEMTAMER_RUN=$PWD
		mkdir "$TMPDIR"
		"stage_${stage//-/_}" >"$logs/$stage.log" 2>&1 </dev/null || status=$?
		if ! leave_nothing >>"$logs/$stage.log" 2>&1; then
			echo "failed 1" >>"$result"
			status=1
		fi
		finish=${EPOCHREALTIME/[.,]/}
		echo "$status $(((finish - begin) / 1000))" >"$logs/$stage.end"
	) &
	pids[$stage]=$!
	set +m
}

# settle STAGE: its process has ended: complete the result, print its line, name what failed and tail its log.
settle()
{
	local stage=$1 status=1 ms=0 passed failed skipped word
	[ ! -f "$logs/$stage.end" ] || read -r status ms <"$logs/$stage.end"
	touch "$logs/$stage.result"
	# A stage without counts of its own is one test; one that fails without saying which counts as one failure.
	read -r passed failed skipped <<<"$(sum_results "$logs/$stage.result")"
	if [ "$status" != 0 ] && [ "$failed" = 0 ]; then
		echo "failed 1" >>"$logs/$stage.result"
	elif [ "$status" = 0 ] && [ "$((passed + failed + skipped))" = 0 ]; then
		echo "passed 1" >>"$logs/$stage.result"
	fi
	if [ "${CI-}" = true ] && [ "$skipped" != 0 ]; then
		echo "failed $skipped" >>"$logs/$stage.result"
	fi
	read -r passed failed skipped <<<"$(sum_results "$logs/$stage.result")"
	word=ok
	[ "$failed" = 0 ] || word=FAILED
	[ "$word$passed" != ok0 ] || word=skipped
	printf '%-8s %-14s %5d passed %3d failed %3d skipped %6d.%ds\n' "$word" "$stage" \
		"$passed" "$failed" "$skipped" "$((ms / 1000))" "$((ms % 1000 / 100))"
	state[$stage]=$word
	sed -n -e 's/^skipped /         skipped: /p' -e 's/^unsteady /         failed once, passed when run again: /p' "$logs/$stage.result"
	if [ "$word" = FAILED ]; then
		# What failed stands first: whoever shows only a part of this output shows its beginning.
		name_failures <"$logs/$stage.log" | sed 's/^/    ! /'
		tail -n 40 "$logs/$stage.log" | cut -c 1-500 | sed 's/^/    | /'
		echo "    log: $logs/$stage.log"
	fi
}

# sum_up STAGE...: what failed, once more, since whoever shows only a part of this output shows its end.
sum_up()
{
	local stage
	for stage in "$@"; do
		[ "${state[$stage]}" = FAILED ] || continue
		echo "FAILED   $stage (log: $logs/$stage.log)"
		name_failures <"$logs/$stage.log" | head -n 12 | cut -c 1-300 | sed 's/^/    ! /'
	done | tail -n 50
}

# blocked_by STAGE -> a need that did not succeed; not_ready STAGE: some need has not ended.
blocked_by()
{
	local need
	for need in ${stage_needs[$1]}; do
		case ${state[$need]} in
		FAILED | blocked) echo "$need" && return ;;
		esac
	done
	return 1
}

not_ready()
{
	local need
	for need in ${stage_needs[$1]}; do
		case ${state[$need]} in
		waiting | running) return 0 ;;
		esac
	done
	return 1
}

is_alone()
{
	[[ " $stages_alone " = *" $1 "* ]]
}

is_beside()
{
	[[ " $stages_beside " = *" $1 "* ]]
}

stop_all()
{
	local stage
	for stage in "${!pids[@]}"; do
		kill -TERM -- "-${pids[$stage]}" 2>/dev/null
	done
	wait
	exit 130
}

# start_what_can: start waiting stages while there is room; a stage whose need failed is a failure itself.
start_what_can()
{
	local stage need alone=
	for stage in "${order[@]}"; do
		[ "${state[$stage]}" != running ] || ! is_alone "$stage" || alone=$stage
	done
	for stage in "${order[@]}"; do
		[ "${state[$stage]}" = waiting ] || continue
		if need=$(blocked_by "$stage"); then
			state[$stage]=blocked
			printf 'failed 1\n' >"$logs/$stage.result"
			printf '%-8s %-14s not run: %s failed\n' FAILED "$stage" "$need"
			continue
		fi
		not_ready "$stage" && continue
		if is_beside "$stage"; then
			start_stage "$stage"
			state[$stage]=running
			continue
		fi
		[ -z "$alone" ] && [ "$running" -lt "$width" ] || continue
		# A stage that wants the machine to itself waits for an empty one.
		if is_alone "$stage"; then
			[ "$running" = 0 ] || continue
		fi
		start_stage "$stage"
		state[$stage]=running
		running=$((running + 1))
		! is_alone "$stage" || alone=$stage
	done
}

run_stages()
{
	local -A state=() pids=()
	local order=() stage running=0 width begin=$SECONDS
	mapfile -t order < <(close_over "$@")
	width=${MEMTAMER_TEST_JOBS:-$(($(nproc) + 1))}
	for stage in "${order[@]}"; do
		state[$stage]=waiting
	done
	trap stop_all INT TERM
	while :; do
		start_what_can
		[ ${#pids[@]} -gt 0 ] || break
		sleep 0.1
		for stage in "${!pids[@]}"; do
			kill -0 "${pids[$stage]}" 2>/dev/null && continue
			wait "${pids[$stage]}" 2>/dev/null
			unset "pids[$stage]"
			is_beside "$stage" || running=$((running - 1))
			settle "$stage"
		done
	done
	local passed failed skipped files=()
	for stage in "${order[@]}"; do
		files+=("$logs/$stage.result")
	done
	read -r passed failed skipped <<<"$(sum_results "${files[@]}")"
	if [ -n "$(ls -A "$scratch")" ]; then
		echo "FAILED   left in $scratch by some stage:" $(ls -A "$scratch")
		failed=$((failed + 1))
	fi
	sum_up "${order[@]}"
	[ "$skipped" = 0 ] || echo "$skipped skipped; the reasons stand above"
	! grep -hqs '^unsteady ' "${files[@]}" || echo "an unsteady test: it is a fault of the test or of memtamer, look for it"
	echo "took $((SECONDS - begin))s"
	echo "$passed passed, $failed failed"
	[ "$failed" = 0 ]
}
