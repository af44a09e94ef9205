# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Reading what test programs print, and adding it up. A stage leaves build/logs/STAGE.result with lines
# "passed N", "failed N", "skipped WHAT: WHY" and "unsteady WHAT: HOW IT FAILED", of what passed when it was run again.

# ctest's output on stdin -> result lines on stdout.
ctest_report()
{
	awk '
	/tests passed, [0-9]+ tests? failed out of [0-9]+/ {
		for (i = 1; i <= NF; i++)
			if ($i == "tests" && $(i + 1) == "failed" || $i == "test" && $(i + 1) == "failed")
				failed += $(i - 1)
		total += $NF
	}
	/^No tests were found/ { none = 1 }
	/\*\*\*Skipped/ {
		name = $0
		sub(/^[^:]*: */, "", name)
		sub(/ [. ]*\*\*\*Skipped.*/, "", name)
		skipped[++n_skipped] = name
	}
	/\(Disabled\)/ { skipped[++n_skipped] = $3 }
	END {
		for (i = 1; i <= n_skipped; i++)
			print "skipped " skipped[i] ": the test says that it cannot run here"
		print "passed " total - failed - n_skipped
		print "failed " failed + 0
		if (none || !total)
			print "skipped all: no such tests in this build"
	}'
}

# The output of python3 -m unittest -v on stdin -> result lines on stdout.
unittest_report()
{
	awk '
	/^Ran [0-9]+ tests? in / { total += $2; seen = 1 }
	/^FAILED \(/ || /^OK \(/ {
		line = $0
		gsub(/[(),]/, " ", line)
		n = split(line, words, " ")
		for (i = 1; i <= n; i++) {
			split(words[i], pair, "=")
			if (pair[1] == "failures" || pair[1] == "errors" || words[i] ~ /^unexpected/)
				failed += pair[2]
			if (pair[1] == "skipped")
				n_skipped += pair[2]
		}
	}
	/ \.\.\. skipped / {
		why = $0
		sub(/.* \.\.\. skipped /, "", why)
		print "skipped " $1 ": " why
	}
	END {
		if (!seen) {
			print "failed 1"
			exit
		}
		passed = total - failed - n_skipped
		print "passed " (passed > 0 ? passed : 0)
		print "failed " failed + 0
	}'
}

# A stage's log on stdin -> the lines that name what failed and say why: of the end-to-end runner and other stages
# ("FAILED ..."), unittest, cmocka, ctest, sanitizers, compilers and clang-tidy. Short enough that twenty of them are read
# at a glance: of a long one the middle is left out, as its end says what was found instead.
name_failures()
{
	awk '
	/^FAILED \(/ || seen[$0]++ { next }
	/^(FAILED |FAIL: |ERROR: )/ || /^[ \t]+[0-9]+ - .*\(.*\)$/ || /: (fatal )?error: / ||
	/^[A-Za-z_.]*(Error|Exception|Expired)(: |$)/ || /^\[ +ERROR +\] ---/ || /^SUMMARY: [A-Za-z]*Sanitizer/ || /: runtime error: / {
		if (++n <= 20)
			print (length($0) <= 600 ? $0 : substr($0, 1, 300) " ... " substr($0, length($0) - 295))
	}'
}

# sum_results FILE... -> "passed failed skipped" of all files.
sum_results()
{
	awk '
	$1 == "passed" { passed += $2 }
	$1 == "failed" { failed += $2 }
	$1 == "skipped" { skipped++ }
	END { print passed + 0, failed + 0, skipped + 0 }' "$@" /dev/null
}
