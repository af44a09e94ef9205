/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* drift: compares a webhook configuration with what this version of memtamer needs. Selectors may exclude more and the
 * timeout may be shorter, because administrators may narrow them. matchConditions and the Service's name are not
 * compared. Everything else must be as the chart writes it. Pure functions, any thread. */
#include "base/json.h"
#include "registration/configurations.h"

enum drift_field {
	DRIFT_FAILURE_POLICY,
	DRIFT_CA_BUNDLE,
	DRIFT_RULES, /* the list of webhooks, and all other fields that are compared */
	DRIFT_FIELD_COUNT_,
};
/** "failurePolicy" ... */
extern const char *const drift_field_names[DRIFT_FIELD_COUNT_];

/** What a configuration is compared with. All pointers are borrowed. */
struct drift_expected {
	/* NULL: unknown; not compared */
	const char *own_namespace;
	const char *const *excluded_namespaces; /* NULL-terminated; may be NULL */
	/* The certificates that the server presents (PEM); NULL: unknown, not compared. */
	const char *chain_pem;
	bool patches_templates; /* memtamer's configuration has templates: patch */
};

#define DRIFT_WORDS 400
struct drifts {
	char words[DRIFT_FIELD_COUNT_][DRIFT_WORDS]; /* one line, the first difference of each field; "": none */
};

/** Compares a configuration; `object` NULL (it does not exist): no differences. The webhook for templates may be
 *  missing unless `patches_templates`. Cost: linear in the object, times at most the number of rules. */
void drift_compare(enum configuration_kind kind, struct json_object *object, const struct drift_expected *expected,
		   struct drifts *ret);
