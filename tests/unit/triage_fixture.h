/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* triage_fixture: a triage on texts. */
#include "triage/triage.h"

#include <stdlib.h>

static inline struct triage *begin(void)
{
	struct triage *triage = malloc(sizeof(*triage));

	assert_non_null(triage);
	assert_int_equal(triage_init(triage), 0);
	return triage;
}

static inline void read_text(struct triage *triage, const char *name, enum input input, const char *text)
{
	if (text)
		assert_int_equal(facts_read_bytes(&triage->facts, name, input, text, strlen(text)), 0);
}

/* All that triage says of one text. */
static inline struct triage *decide(const char *name, enum input input, const char *text)
{
	struct triage *triage = begin();

	read_text(triage, name, input, text);
	triage_decide(triage);
	return triage;
}

static inline void end(struct triage *triage)
{
	triage_release(triage);
	free(triage);
}
