/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the words that triage searches logs for, one on each line: grep looks for the same in tests/bench/triage.py.
 */
#include "triage/signals.h"

#include <stdio.h>

int main(void)
{
	for (size_t i = 0; i < SIGNAL_COUNT_; i++)
		for (const char *words = signals[i].words; words && *words; words += words[0] == '|') {
			size_t n = strcspn(words, "|");

			printf("%.*s\n", (int)n, words);
			words += n;
		}
	return 0;
}
