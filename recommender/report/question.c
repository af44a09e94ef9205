/* SPDX-License-Identifier: Apache-2.0 */
#include "report/question.h"

#include "k8s/kinds.h"
#include "model/identity.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>

struct question {
	const char *operand;
	char stem[2 * IDENTITY_KEY_BYTES];
};

/* Writes the operand as model/identity.h writes keys, with the stem of the name: "Job/resnet-train-20261101" ->
 * "Job/resnet-train". */
static void stem_operand(const char *operand, char *ret, size_t size)
{
	const char *slash = strchr(operand, '/');
	char stem[IDENTITY_KEY_BYTES];

	identity_stem(slash ? slash + 1 : operand, stem, sizeof(stem));
	if (slash)
		snprintf(ret, size, "%.*s/%s", (int)(slash - operand), operand, stem);
	else
		snprintf(ret, size, "%s", stem);
}

/* Whether the name in this key is a stem. As in model/identity.c. */
static bool is_stemmed(const char *key)
{
	char kind_name[IDENTITY_KEY_BYTES];
	const struct kind *kind;

	if (strchr(key, ':'))
		return false;
	snprintf(kind_name, sizeof(kind_name), "%.*s", (int)strcspn(key, "/"), key);
	kind = kind_find(NULL, kind_name);
	return !kind || !kind->is_recurring;
}

/* Whether `n` bytes mean this kind as kubectl understands them: "Job", "job", "jobs", "jobs.batch". All kinds of
 * kinds.h form the plural with an "s". */
static bool kind_matches(const char *kind, size_t n_kind, const char *wanted, size_t n)
{
	n = MIN(n, strcspn(wanted, "."));
	if (n == n_kind + 1 && tolower((unsigned char)wanted[n_kind]) == 's')
		n = n_kind;
	return n == n_kind && strncasecmp(kind, wanted, n) == 0;
}

/* "Job/resnet-train" matches itself, "resnet-train" any kind. */
static bool key_matches(const char *key, const char *wanted)
{
	const char *slash = strchr(key, '/'), *wanted_slash = strchr(wanted, '/');

	if (!slash || !wanted_slash)
		return streq(slash ? slash + 1 : key, wanted);
	return kind_matches(key, (size_t)(slash - key), wanted, (size_t)(wanted_slash - wanted)) &&
	       streq(slash, wanted_slash);
}

enum match { MATCH_NONE, MATCH_STEM, MATCH_EXACT };

static enum match key_match(const struct question *self, const char *key)
{
	if (key_matches(key, self->operand))
		return MATCH_EXACT;
	return key_matches(key, self->stem) && is_stemmed(key) ? MATCH_STEM : MATCH_NONE;
}

static enum match match_of(const struct question *self, const char *workload, const char *const *aliases,
			   size_t n_aliases)
{
	enum match best = key_match(self, workload);

	for (size_t i = 0; i < n_aliases; i++)
		best = MAX(best, key_match(self, aliases[i]));
	return best;
}

static enum match match_profile(const struct question *self, const struct profile *profile)
{
	const char *named = profile->spec->ref.key;
	enum match by_name = named ? match_of(self, named, NULL, 0) : MATCH_NONE;
	enum match learned = match_of(self, profile->workload, profile->aliases, profile->n_aliases);

	return MAX(by_name, learned);
}

static enum match match_known(const struct question *self, const struct known *known)
{
	const struct history *history = known->history;

	if (known->profile)
		return match_profile(self, known->profile);
	return match_of(self, history->workload, (const char *const *)history->aliases, history->n_aliases);
}

/* Selects all candidates, until it is known which workload is meant. */
static bool may_be_meant(const void *context, const struct profile *profile)
{
	return match_profile(context, profile) != MATCH_NONE;
}

/* Removes all entries but those that match best. @return whether there are any. */
static bool keep_meant(const struct question *self, struct knowledge *knowledge)
{
	enum match best = MATCH_STEM;
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
	struct question question = {.operand = args->n_operands ? args->operands[0] : NULL};
	const struct knowledge_filter filter = {may_be_meant, &question};
	struct err err;
	int code;

	if (!question.operand)
		return knowledge_load(args, NULL, ret);
	stem_operand(question.operand, question.stem, sizeof(question.stem));
	code = knowledge_load(args, &filter, ret);
	if (code || keep_meant(&question, ret))
		return code;
	err_set(&err, -ENOENT, "nothing is known of %s%s; `report` lists what is", question.operand,
		knowledge_where(ret, (char[KNOWN_WHERE_BYTES]){0}));
	return cli_fail(args, &err, EXIT_USAGE);
}
