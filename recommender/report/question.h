/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* question: which workload an operand KIND/NAME of a command means: by any key that is known of it, the kind in any
 * case or left out. Where nothing is called so, what runs append to the name is taken off, as it is from the names of
 * owners that are made anew for each run; never for kinds that recur (CronJob/nightly-2 is another than
 * CronJob/nightly) nor for keys of labels ("workload:bert-2"), whose names are kept whole. One thread. */
#include "model/identity.h"
#include "report/knowledge.h"

struct question {
	const char *namespace_name; /* NULL: any */
	const char *operand;	    /* NULL: nothing is asked */
	char stem[2 * IDENTITY_KEY_BYTES];
	bool is_exact; /* a workload that is known is called so: no other is meant */
};

/** Load what is known, of a cluster the histories only of what may be meant, and settle which that is. Without an
 *  operand all is loaded. Texts are borrowed. @return as knowledge_load. */
int question_load(struct question *self, const char *command, const struct cli_args *args, const char *operand,
		  struct knowledge *ret);
bool question_is_of(const struct question *self, const struct known *known);
/** Say that there is no such workload. @return EXIT_USAGE. */
int question_unknown(const struct question *self, const char *command);
