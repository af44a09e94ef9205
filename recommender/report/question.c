/* SPDX-License-Identifier: Apache-2.0 */
#include "report/question.h"

#include "model/identity_meant.h"

#include <errno.h>

static enum identity_match match_of(const struct identity_meant *self, const char *workload, const char *const *aliases,
				    size_t n_aliases)
{
	enum identity_match best = identity_meant_match(self, workload);

	for (size_t i = 0; i < n_aliases; i++)
		best = MAX(best, identity_meant_match(self, aliases[i]));
	return best;
}

static enum identity_match match_profile(const struct identity_meant *self, const struct profile *profile)
{
	const char *named = profile->spec->ref.key;
	enum identity_match by_name = named ? match_of(self, named, NULL, 0) : IDENTITY_MATCH_NONE;
	enum identity_match learned = match_of(self, profile->workload, profile->aliases, profile->n_aliases);

	return MAX(by_name, learned);
}

static enum identity_match match_known(const struct identity_meant *self, const struct known *known)
{
	const struct history *history = known->history;

	if (known->profile)
		return match_profile(self, known->profile);
	return match_of(self, history->workload, (const char *const *)history->aliases, history->n_aliases);
}

/* Selects all candidates, until it is known which workload is meant. */
static bool may_be_meant(const void *context, const struct profile *profile)
{
	return match_profile(context, profile) != IDENTITY_MATCH_NONE;
}

/* Removes all entries but those that match best. @return whether there are any. */
static bool keep_meant(const struct identity_meant *self, struct knowledge *knowledge)
{
	enum identity_match best = IDENTITY_MATCH_STEM;
	size_t n = 0;

	for (size_t i = 0; i < knowledge->items.n; i++)
		best = MAX(best, match_known(self, &knowledge->items.items[i]));
	for (size_t i = 0; i < knowledge->items.n; i++) {
		struct known *known = &knowledge->items.items[i];

		if (match_known(self, known) == best)
			knowledge->items.items[n++] = *known;
		else
			known_release(known);
	}
	knowledge->items.n = n;
	return n > 0;
}

int question_load(const struct cli_args *args, struct knowledge *ret)
{
	struct identity_meant question;
	const struct knowledge_filter filter = {may_be_meant, &question};
	struct err err;
	int code;

	if (!args->n_operands)
		return knowledge_load(args, NULL, ret);
	identity_meant_init(&question, args->operands[0]);
	code = knowledge_load(args, &filter, ret);
	if (code || keep_meant(&question, ret))
		return code;
	err_set(&err, -ENOENT, "nothing is known of %s%s; `report` lists what is", question.operand,
		knowledge_where(ret, (char[KNOWN_WHERE_BYTES]){0}));
	return cli_fail(args, &err, EXIT_USAGE);
}
