#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The test runner, tested: what it reads from ctest and unittest, and what it makes of stages that fail, skip or crash.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 2
. tests/lib/report.sh
failures=0

expect() # NAME WANTED GOT
{
	[ "$2" = "$3" ] && return
	printf '%s:\n  wanted: %s\n  got:    %s\n' "$1" "$2" "$3"
	failures=$((failures + 1))
}

expect "ctest, all pass" $'passed 12\nfailed 0' \
	"$(echo '100% tests passed, 0 tests failed out of 12' | ctest_report)"
expect "ctest, one fails" $'passed 50\nfailed 1' \
	"$(echo '98% tests passed, 1 tests failed out of 51' | ctest_report)"
expect "ctest, one skips" $'skipped unit-disk: the test says that it cannot run here\npassed 2\nfailed 0' \
	"$(printf '1/3 Test #1: unit-disk ...........***Skipped   0.01 sec\n%s\n' \
		'100% tests passed, 0 tests failed out of 3' | ctest_report)"
expect "ctest, nothing there" $'passed 0\nfailed 0\nskipped all: no such tests in this build' \
	"$(echo 'No tests were found!!!' | ctest_report)"
expect "unittest, all pass" $'passed 3\nfailed 0' "$(printf 'Ran 3 tests in 0.1s\n\nOK\n' | unittest_report)"
expect "unittest, mixed" $'skipped test_a: '"'no prometheus'"$'\npassed 1\nfailed 3' \
	"$(printf "test_a (x.Y) ... skipped 'no prometheus'\nRan 5 tests in 0.1s\n\nFAILED (failures=1, errors=2, skipped=1)\n" |
		unittest_report)"
expect "unittest, crashed" "failed 1" "$(echo 'Traceback ...' | unittest_report)"
expect "what failed, by name" $'FAILED  loop.the_loop (2.0s): KeyError\nFAIL: test_a (x.Y)\n\t  4 - unit-disk (Failed)\na.c:3:1: error: no [x]' \
	"$(printf '%s\n' 'ok      store.reads (1.0s): FAILED pods' 'FAILED  loop.the_loop (2.0s): KeyError' 'FAIL: test_a (x.Y)' \
		'FAILED (failures=1)' 'The following tests FAILED:' $'\t  4 - unit-disk (Failed)' 'a.c:3:1: error: no [x]' |
		name_failures)"

expect "why it failed" $'[  ERROR   ] --- 1 != 2\n[   LINE   ] --- t.c:7: error: Failure!\nAssertionError: 3 != 4\nSUMMARY: AddressSanitizer: heap-use-after-free a.c:1' \
	"$(printf '%s\n' '[  ERROR   ] --- 1 != 2' '[   LINE   ] --- t.c:7: error: Failure!' 'AssertionError: 3 != 4' 'an Error: in words' \
		'SUMMARY: AddressSanitizer: heap-use-after-free a.c:1' | name_failures)"

# The scheduler, on made-up stages in a folder of their own.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/build/logs" "$folder/tmp"
run_made_up() # STAGE...
{
	(
		cd "$folder" || exit 2
		. "$OLDPWD/tests/lib/schedule.sh"
		declare -A stage_needs=([good]="" [bad]="" [after]="bad" [skips]="" [counts]="good"
			[aside]="" [last]="" [beside]="aside" [shaky]="" [litters]="" [litters-beside]="" [lingers]="")
		scratch=$folder/tmp
		linger_seconds=0
		stages_alone="last"
		stages_beside="aside"
		stage_good() { :; }
		stage_bad() { return 3; }
		stage_after() { :; }
		stage_skips() { echo "skipped all: no tool" >>"$result"; }
		stage_shaky() { printf 'passed 2\nunsteady a: it took too long\n' >>"$result"; }
		stage_counts() { printf 'passed 5\nfailed 0\n' >>"$result"; }
		# Ends only when the one that wants the machine to itself has run beside it.
		stage_aside() { until [ -e seen ]; do sleep 0.05; done; rm seen; }
		stage_last() { touch last seen && sleep 0.5 && rm last; }
		stage_beside() { [ ! -e last ]; }
		stage_litters() { touch "$TMPDIR/file"; }
		stage_litters_beside() { touch "$TMPDIR/../file"; }
		stage_lingers() { setsid sleep 1000 & echo $! >pid; }
		run_stages "$@"
		echo "exit $?"
	) | sed '/^took /d' | tail -n "${lines-2}" | tr '\n' ';'
}
expect "needs run first and are counted" "6 passed, 0 failed;exit 0;" "$(CI='' run_made_up counts)"
expect "a failure blocks what needs it" "0 passed, 2 failed;exit 1;" "$(CI='' run_made_up after)"
expect "a skip is no failure" "1 passed, 0 failed;exit 0;" "$(CI='' run_made_up skips good)"
expect "a skip is a failure in CI" "1 passed, 1 failed;exit 1;" "$(CI=true run_made_up skips good)"
expect "what passes when run again has passed" "2 passed, 0 failed;exit 0;" "$(CI=true run_made_up shaky)"
expect "one runs beside all others" "2 passed, 0 failed;exit 0;" "$(CI='' MEMTAMER_TEST_JOBS=1 run_made_up aside last)"
expect "none starts beside one that wants to be alone" "3 passed, 0 failed;exit 0;" \
	"$(CI='' MEMTAMER_TEST_JOBS=2 run_made_up aside last beside)"

expect "what failed is named at the end" "FAILED   bad (log: build/logs/bad.log)" \
	"$(CI='' lines=3 run_made_up bad good | cut -d ';' -f 1)"
expect "a file left in the temporary folder is a failure" "1 passed, 1 failed;exit 1;" "$(CI='' run_made_up litters good)"
expect "it is removed" "" "$(ls "$folder/tmp")"
expect "a file left beside the temporary folder is a failure" "1 passed, 1 failed;exit 1;" \
	"$(CI='' run_made_up litters-beside)"
rm "$folder/tmp/file"
expect "a process left running is a failure" "0 passed, 1 failed;exit 1;" "$(CI='' run_made_up lingers)"
expect "it is ended" "" "$(cat "/proc/$(cat "$folder/pid")/cmdline" 2>/dev/null)"
take_made_up() # does a new run take the folder?
{
	(cd "$folder" && . "$OLDPWD/tests/lib/schedule.sh" && take_folder 2>/dev/null && echo taken)
}
MEMTAMER_RUN=$folder sleep 1000 &
left=$!
expect "two runs in one folder are refused" "" "$(exec 8>"$folder/build/lock" && flock 8 && take_made_up)"
expect "what the other one runs goes on" 0 "$(kill -0 "$left" && echo $?)"
expect "a run that was killed leaves the folder free" taken "$(take_made_up)"
wait "$left" 2>/dev/null
expect "what it left running is ended" 137 $?

[ "$failures" = 0 ] && echo ok
exit "$((failures > 0))"
