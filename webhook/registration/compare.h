/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* compare: what a webhook configuration says against what this version needs. Pure. Only what would make memtamer harm
 * pods, stay silent, or see what it must not see counts as drift: whoever narrows a selector has a reason. */
#include "base/json.h"
#include "registration/configurations.h"

/** What may drift, by the names that kubectl shows. */
enum drift_field {
	DRIFT_WEBHOOKS, /* one of ours is missing, or one that we do not know is there */
	DRIFT_FAILURE_POLICY,
	DRIFT_TIMEOUT,
	DRIFT_SIDE_EFFECTS,
	DRIFT_MATCH_POLICY,
	DRIFT_REINVOCATION,
	DRIFT_REVIEW_VERSIONS,
	DRIFT_PATH,
	DRIFT_SERVICE, /* the name by which we are called is not in our certificate */
	DRIFT_CA_BUNDLE,
	DRIFT_RULES,
	DRIFT_NAMESPACE_SELECTOR,
	DRIFT_OBJECT_SELECTOR,
	DRIFT_FIELD_COUNT_,
};
/** "failurePolicy", "clientConfig.caBundle" ... */
extern const char *const drift_field_names[DRIFT_FIELD_COUNT_];

/** What it is compared with. */
struct compare_expected {
	const char *own_namespace;		/* NULL: not known */
	const char *const *excluded_namespaces; /* NULL-terminated; may be NULL */
	const char *chain_pem;			/* what the server shows; NULL: not known */
	bool patches_templates;			/* the configuration says templates: patch */
};

#define DRIFT_WORDS 200
struct drifts {
	char words[DRIFT_FIELD_COUNT_][DRIFT_WORDS]; /* the first drift of each field; "": none */
};

/** @return how many fields drift. The webhook for templates may be missing unless `patches_templates`: without it no
 * template would be patched. What is no webhook configuration counts as DRIFT_WEBHOOKS. */
size_t compare_configuration(enum configuration_kind kind, struct json_object *object,
			     const struct compare_expected *expected, struct drifts *ret);
/** Does a LabelSelector (NULL or empty: everything) match these labels? `labels`: key, value, key, value, NULL. */
bool compare_selects(struct json_object *selector, const char *const *labels);
