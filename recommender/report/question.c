/* SPDX-License-Identifier: Apache-2.0 */
#include "report/question.h"

#include "k8s/kinds.h"

#include <stdio.h>

/* The operand as the keys of the model have it: the name stemmed, "Job/resnet-train-20261101" -> "Job/resnet-train". */
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

/* Is the name in this key one that was stemmed? As in model/identity.c. */
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

/* "Job/resnet-train" matches itself, "resnet-train" any kind, "job/..." in any case. */
static bool key_matches(const char *key, const char *wanted)
{
	const char *slash = strchr(key, '/'), *wanted_slash = strchr(wanted, '/');

	if (!slash || !wanted_slash)
		return streq(slash ? slash + 1 : key, wanted);
	return slash - key == wanted_slash - wanted && strncasecmp(key, wanted, (size_t)(slash - key)) == 0 &&
	       streq(slash, wanted_slash);
}

enum match { MATCH_NONE, MATCH_STEM, MATCH_EXACT };

static enum match key_match(const struct question *self, const char *key)
{
	if (key_matches(key, self->operand))
		return MATCH_EXACT;
	return key_matches(key, self->stem) && is_stemmed(key) ? MATCH_STEM : MATCH_NONE;
}

static enum match match_of(const struct question *self, const char *namespace_name, const char *workload,
			   const char *const *aliases, size_t n_aliases)
{
	enum match best = key_match(self, workload);

	if (self->namespace_name && !streq(self->namespace_name, namespace_name))
		return MATCH_NONE;
	for (size_t i = 0; i < n_aliases; i++)
		best = MAX(best, key_match(self, aliases[i]));
	return best;
}

static enum match match_profile(const struct question *self, const struct profile *profile)
{
	return match_of(self, profile->namespace_name, profile->workload, profile->aliases, profile->n_aliases);
}

static enum match match_known(const struct question *self, const struct known *known)
{
	const struct history *history = known->history;

	if (known->profile)
		return match_profile(self, known->profile);
	return match_of(self, history->namespace_name, history->workload, (const char *const *)history->aliases,
			history->n_aliases);
}

/* While profiles are still being told apart, all that may be meant. */
static bool may_be_meant(const void *context, const struct profile *profile)
{
	return match_profile(context, profile) != MATCH_NONE;
}

int question_load(struct question *self, const char *command, const struct cli_args *args, const char *operand,
		  struct knowledge *ret)
{
	const struct knowledge_filter filter = {may_be_meant, self};
	int code;

	*self = (struct question){.namespace_name = cli_get(args, "namespace"), .operand = operand};
	if (operand)
		stem_operand(operand, self->stem, sizeof(self->stem));
	code = knowledge_load(command, args, operand ? &filter : NULL, ret);
	for (size_t i = 0; i < ret->items.n && operand && !code && !self->is_exact; i++)
		self->is_exact = match_known(self, &ret->items.items[i]) == MATCH_EXACT;
	return code;
}

bool question_is_of(const struct question *self, const struct known *known)
{
	enum match match = match_known(self, known);

	return self->is_exact ? match == MATCH_EXACT : match != MATCH_NONE;
}

int question_unknown(const struct question *self, const char *command)
{
	fprintf(stderr, "%s: nothing is known of %s%s%s; `report` lists what is\n", command, self->operand,
		self->namespace_name ? " in namespace " : "", self->namespace_name ? self->namespace_name : "");
	return EXIT_USAGE;
}
