/* SPDX-License-Identifier: Apache-2.0 */
#include "model/identity_meant.h"

#include "base/str.h"
#include "k8s/kinds.h"

#include <ctype.h>
#include <stdio.h>
#include <strings.h>

/* Writes the operand as model/identity.h writes keys, with the stem of the name: "Job/resnet-train-20261101" ->
 * "Job/resnet-train". */
void identity_meant_init(struct identity_meant *ret, const char *operand)
{
	const char *slash = strchr(operand, '/');
	char stem[IDENTITY_KEY_BYTES];

	ret->operand = operand;
	identity_stem(slash ? slash + 1 : operand, stem, sizeof(stem));
	if (slash)
		snprintf(ret->stem, sizeof(ret->stem), "%.*s/%s", (int)(slash - operand), operand, stem);
	else
		snprintf(ret->stem, sizeof(ret->stem), "%s", stem);
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

enum identity_match identity_meant_match(const struct identity_meant *self, const char *key)
{
	if (key_matches(key, self->operand))
		return IDENTITY_MATCH_EXACT;
	return key_matches(key, self->stem) && is_stemmed(key) ? IDENTITY_MATCH_STEM : IDENTITY_MATCH_NONE;
}
