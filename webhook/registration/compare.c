/* SPDX-License-Identifier: Apache-2.0 */
#include "registration/compare.h"

#include "base/limits.h"
#include "base/strbuf.h"
#include "k8s/kinds.h"
#include "kube/base64.h"
#include "pki/pki.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define LONGEST_TIMEOUT_S 5
#define DEFAULT_TIMEOUT_S 10

const char *const drift_field_names[DRIFT_FIELD_COUNT_] = {
	[DRIFT_WEBHOOKS] = "webhooks",
	[DRIFT_FAILURE_POLICY] = "failurePolicy",
	[DRIFT_TIMEOUT] = "timeoutSeconds",
	[DRIFT_SIDE_EFFECTS] = "sideEffects",
	[DRIFT_MATCH_POLICY] = "matchPolicy",
	[DRIFT_REINVOCATION] = "reinvocationPolicy",
	[DRIFT_REVIEW_VERSIONS] = "admissionReviewVersions",
	[DRIFT_PATH] = "clientConfig.service.path",
	[DRIFT_SERVICE] = "clientConfig.service",
	[DRIFT_CA_BUNDLE] = "clientConfig.caBundle",
	[DRIFT_RULES] = "rules",
	[DRIFT_NAMESPACE_SELECTOR] = "namespaceSelector",
	[DRIFT_OBJECT_SELECTOR] = "objectSelector",
};

/* What is being compared. */
struct comparison {
	const struct expected_webhook *webhook;
	struct json_object *object; /* one of `webhooks` */
	const struct compare_expected *expected;
	struct drifts *drifts;
};

typedef void check_fn(struct comparison *self);
static check_fn check_pod_rules, check_probe_rules, check_workload_rules;
static check_fn check_excluding_namespaces, check_own_namespace, check_pod_objects, check_probe_objects;

/* The webhooks that this version has. */
static const struct expected_webhook {
	enum configuration_kind kind;
	const char *name, *path, *reinvocation; /* NULL: any */
	check_fn *rules, *namespaces, *objects; /* NULL: anything goes */
	bool is_optional;			/* the chart has it only with templates: patch */
} webhooks[] = {
	{CONFIGURATION_MUTATING, "pods.memtamer.io", "/mutate", "IfNeeded", check_pod_rules, check_excluding_namespaces,
	 check_pod_objects, false},
	{CONFIGURATION_MUTATING, "templates.memtamer.io", "/templates", "IfNeeded", check_workload_rules,
	 check_excluding_namespaces, NULL, true},
	{CONFIGURATION_MUTATING, "probe.memtamer.io", "/probe", NULL, check_probe_rules, check_own_namespace,
	 check_probe_objects, false},
	{CONFIGURATION_VALIDATING, "workloads.memtamer.io", "/validate", NULL, check_workload_rules,
	 check_excluding_namespaces, NULL, false},
};

static void drift(struct comparison *self, enum drift_field field, const char *fmt, ...) ATTR_PRINTF(3, 4);
static void drift(struct comparison *self, enum drift_field field, const char *fmt, ...)
{
	char *words = self->drifts->words[field];
	va_list args;
	int n;

	if (*words)
		return;
	n = self->webhook ? snprintf(words, DRIFT_WORDS, "%s: ", self->webhook->name) : 0;
	if (n < 0 || n >= DRIFT_WORDS)
		return;
	va_start(args, fmt);
	vsnprintf(words + n, DRIFT_WORDS - (size_t)n, fmt, args);
	va_end(args);
}

static const char *text_of(struct json_object *object, const char *key, const char *otherwise)
{
	const char *text = otherwise;

	return json_get_string(object, "", key, &text, NULL) ? otherwise : text;
}

static size_t length_of(struct json_object *array)
{
	return json_object_is_type(array, json_type_array) ? json_object_array_length(array) : 0;
}

static bool array_has(struct json_object *array, const char *text)
{
	for (size_t i = 0; i < length_of(array); i++)
		if (streq(json_object_get_string(json_object_array_get_idx(array, i)), text))
			return true;
	return false;
}

/* The value, or "*". */
static bool array_covers(struct json_object *array, const char *text)
{
	return array_has(array, text) || array_has(array, "*");
}

/* Nothing but these. */
static bool array_is_within(struct json_object *array, const char *const *texts)
{
	for (size_t i = 0; i < length_of(array); i++) {
		const char *text = json_object_get_string(json_object_array_get_idx(array, i));
		bool is_known = false;

		for (size_t j = 0; texts[j]; j++)
			is_known |= streq(text, texts[j]);
		if (!is_known)
			return false;
	}
	return length_of(array) > 0;
}

/* ---- plain values ---- */

static void check_failure_policy(struct comparison *self)
{
	const char *policy = text_of(self->object, "failurePolicy", "Fail");

	if (!streq(policy, "Ignore"))
		drift(self, DRIFT_FAILURE_POLICY, "is %s, not Ignore: requests are refused while memtamer is away",
		      policy);
}

static void check_timeout(struct comparison *self)
{
	int64_t seconds = DEFAULT_TIMEOUT_S;

	if (json_get_int64(self->object, "", "timeoutSeconds", &seconds, NULL))
		seconds = DEFAULT_TIMEOUT_S;
	if (seconds > LONGEST_TIMEOUT_S)
		drift(self, DRIFT_TIMEOUT, "is %lld, more than %d: requests wait that long while memtamer is away",
		      (long long)seconds, LONGEST_TIMEOUT_S);
}

static void check_side_effects(struct comparison *self)
{
	const char *effects = text_of(self->object, "sideEffects", "(none)");

	if (!streq(effects, "None"))
		drift(self, DRIFT_SIDE_EFFECTS, "is %s, not None: memtamer changes nothing but its answer", effects);
}

static void check_match_policy(struct comparison *self)
{
	const char *policy = text_of(self->object, "matchPolicy", "Equivalent");

	if (!streq(policy, "Equivalent"))
		drift(self, DRIFT_MATCH_POLICY, "is %s, not Equivalent: other versions of a kind are not seen", policy);
}

static void check_reinvocation(struct comparison *self)
{
	const char *policy = text_of(self->object, "reinvocationPolicy", "Never");

	if (self->webhook->reinvocation && !streq(policy, self->webhook->reinvocation))
		drift(self, DRIFT_REINVOCATION, "is %s, not %s: what later webhooks add is not seen", policy,
		      self->webhook->reinvocation);
}

static void check_versions(struct comparison *self)
{
	if (!array_has(json_member(self->object, "admissionReviewVersions"), "v1"))
		drift(self, DRIFT_REVIEW_VERSIONS, "lacks v1, the only version that memtamer speaks");
}

/* ---- where it leads ---- */

static void check_path(struct comparison *self)
{
	struct json_object *client = json_member(self->object, "clientConfig");
	const char *url = text_of(client, "url", NULL);
	const char *path = text_of(json_member(client, "service"), "path", "/");

	if (url) {
		const char *host = strstr(url, "://");

		path = host ? strchr(host + 3, '/') : NULL;
		path = path ? path : "/";
	}
	if (!streq(path, self->webhook->path))
		drift(self, DRIFT_PATH, "is %.80s, not %s", path, self->webhook->path);
}

/* The name that the API server wants to see in the certificate. */
static void check_service(struct comparison *self)
{
	struct json_object *service = json_member(json_member(self->object, "clientConfig"), "service");
	const char *name = text_of(service, "name", NULL), *namespace = text_of(service, "namespace", NULL);
	char host[2 * LIMIT_NAME_BYTES + 8];

	if (!name || !namespace || !self->expected->chain_pem)
		return;
	snprintf(host, sizeof(host), "%.*s.%.*s.svc", LIMIT_NAME_BYTES, name, LIMIT_NAME_BYTES, namespace);
	if (pki_check_name(self->expected->chain_pem, host, NULL) == PKI_NOT_TRUSTED)
		drift(self, DRIFT_SERVICE, "memtamer's certificate is not for %.120s", host);
}

static void check_ca_bundle(struct comparison *self)
{
	CLEANUP(strbuf_release) struct strbuf pem = STRBUF_INIT(LIMIT_KUBE_OBJECT_BYTES);
	struct json_object *client = json_member(self->object, "clientConfig");
	struct pki_bundle bundle = PKI_BUNDLE_INIT;
	const char *text = text_of(client, "caBundle", "");
	struct err err = ERR_INIT;

	if (!self->expected->chain_pem)
		return;
	if (!*text) {
		/* then the system's CAs count, which may know a URL's */
		if (!json_member(client, "url"))
			drift(self, DRIFT_CA_BUNDLE, "is empty: the API server does not trust memtamer");
		return;
	}
	if (base64_decode(text, strlen(text), &pem) || pki_read_long_bundle(strbuf_text(&pem), pem.len, &bundle, &err))
		drift(self, DRIFT_CA_BUNDLE, "cannot be read");
	else if (pki_verify(self->expected->chain_pem, &bundle, &err) == PKI_NOT_TRUSTED)
		drift(self, DRIFT_CA_BUNDLE, "does not hold the CA of memtamer's certificate: %.80s", err.msg);
	pki_bundle_release(&bundle);
}

/* ---- rules ---- */

/* What is in our reach lies in namespaces; of the core group there is one version, of others matchPolicy finds them. */
static bool rule_covers(struct json_object *rule, const char *group, const char *resource, const char *operation)
{
	return array_covers(json_member(rule, "apiGroups"), group) && !streq(text_of(rule, "scope", "*"), "Cluster") &&
	       (*group || array_covers(json_member(rule, "apiVersions"), "v1")) &&
	       (!resource || array_covers(json_member(rule, "resources"), resource)) &&
	       array_covers(json_member(rule, "operations"), operation);
}

static bool rules_cover(struct comparison *self, const char *group, const char *resource, const char *operation)
{
	struct json_object *rules = json_member(self->object, "rules");

	for (size_t i = 0; i < length_of(rules); i++)
		if (rule_covers(json_object_array_get_idx(rules, i), group, resource, operation))
			return true;
	return false;
}

/* Nothing but the creation of one core resource. */
static void check_creations_of(struct comparison *self, const char *resource, const char *why_not_more)
{
	const char *const groups[] = {"", NULL}, *const operations[] = {"CREATE", NULL};
	const char *const resources[] = {resource, NULL};
	struct json_object *rules = json_member(self->object, "rules");

	if (!rules_cover(self, "", resource, "CREATE"))
		drift(self, DRIFT_RULES, "lack CREATE of %s", resource);
	for (size_t i = 0; i < length_of(rules); i++) {
		struct json_object *rule = json_object_array_get_idx(rules, i);

		if (!array_is_within(json_member(rule, "apiGroups"), groups) ||
		    !array_is_within(json_member(rule, "resources"), resources) ||
		    !array_is_within(json_member(rule, "operations"), operations))
			drift(self, DRIFT_RULES, "name more than CREATE of %s: %s", resource, why_not_more);
	}
}

static void check_pod_rules(struct comparison *self)
{
	check_creations_of(self, "pods", "a patch of anything else would be refused");
}

static void check_probe_rules(struct comparison *self)
{
	check_creations_of(self, "configmaps", "only the probe is meant");
}

static void check_workload_rules(struct comparison *self)
{
	static const char *const operations[] = {"CREATE", "UPDATE", NULL};
	struct json_object *rules = json_member(self->object, "rules");
	size_t n;
	const struct kind *kinds = kind_table(&n);

	for (size_t i = 0; i < n; i++)
		if (*kinds[i].group && kinds[i].template_paths &&
		    (!rules_cover(self, kinds[i].group, NULL, "CREATE") ||
		     !rules_cover(self, kinds[i].group, NULL, "UPDATE")))
			drift(self, DRIFT_RULES, "lack CREATE and UPDATE of kinds of %s", kinds[i].group);
	for (size_t i = 0; i < length_of(rules); i++)
		if (!array_is_within(json_member(json_object_array_get_idx(rules, i), "operations"), operations))
			drift(self, DRIFT_RULES, "name more than CREATE and UPDATE");
}

/* ---- selectors ---- */

static bool selects_namespace(struct comparison *self, const char *name, const char *key, const char *value)
{
	const char *const labels[] = {"kubernetes.io/metadata.name", name, key, value, NULL};

	return compare_selects(json_member(self->object, "namespaceSelector"), labels);
}

static void check_not_selected(struct comparison *self, const char *name)
{
	if (name && selects_namespace(self, name, NULL, NULL))
		drift(self, DRIFT_NAMESPACE_SELECTOR, "lets namespace %s through", name);
}

static void check_excluding_namespaces(struct comparison *self)
{
	const char *const *excluded = self->expected->excluded_namespaces;

	check_not_selected(self, "kube-system");
	check_not_selected(self, self->expected->own_namespace);
	for (size_t i = 0; excluded && excluded[i]; i++)
		check_not_selected(self, excluded[i]);
	if (selects_namespace(self, "any", "memtamer.io/ignore", "true"))
		drift(self, DRIFT_NAMESPACE_SELECTOR, "lets namespaces labelled memtamer.io/ignore: \"true\" through");
	if (selects_namespace(self, "any", "memtamer.io/mode", "off"))
		drift(self, DRIFT_NAMESPACE_SELECTOR, "lets namespaces labelled memtamer.io/mode: \"off\" through");
}

static void check_own_namespace(struct comparison *self)
{
	const char *own = self->expected->own_namespace;

	if (own && !selects_namespace(self, own, NULL, NULL))
		drift(self, DRIFT_NAMESPACE_SELECTOR, "does not let namespace %s through", own);
	if (selects_namespace(self, "any", NULL, NULL))
		drift(self, DRIFT_NAMESPACE_SELECTOR, "lets other namespaces than memtamer's own through");
}

static bool selects_object(struct comparison *self, const char *key, const char *value)
{
	const char *const labels[] = {key, value, NULL};

	return compare_selects(json_member(self->object, "objectSelector"), labels);
}

static void check_pod_objects(struct comparison *self)
{
	if (selects_object(self, "memtamer.io/ignore", "true"))
		drift(self, DRIFT_OBJECT_SELECTOR, "lets pods labelled memtamer.io/ignore: \"true\" through");
}

static void check_probe_objects(struct comparison *self)
{
	if (!selects_object(self, "memtamer.io/probe", "true"))
		drift(self, DRIFT_OBJECT_SELECTOR, "does not let the probe through");
	if (selects_object(self, NULL, NULL))
		drift(self, DRIFT_OBJECT_SELECTOR, "lets more than the probe through");
}

/* ---- all of it ---- */

static void check_webhook(struct comparison *self)
{
	static check_fn *const checks[] = {check_failure_policy, check_timeout,	     check_side_effects,
					   check_match_policy,	 check_reinvocation, check_versions,
					   check_path,		 check_service,	     check_ca_bundle};
	check_fn *const own[] = {self->webhook->rules, self->webhook->namespaces, self->webhook->objects};

	for (size_t i = 0; i < ARRAY_LEN(checks); i++)
		checks[i](self);
	for (size_t i = 0; i < ARRAY_LEN(own); i++)
		if (own[i])
			own[i](self);
}

static struct json_object *find_webhook(struct json_object *object, const char *name)
{
	struct json_object *list = json_member(object, "webhooks");

	for (size_t i = 0; i < length_of(list); i++)
		if (streq(text_of(json_object_array_get_idx(list, i), "name", ""), name))
			return json_object_array_get_idx(list, i);
	return NULL;
}

static bool is_known(enum configuration_kind kind, const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(webhooks); i++)
		if (webhooks[i].kind == kind && streq(webhooks[i].name, name))
			return true;
	return false;
}

static void check_unknown(enum configuration_kind kind, struct json_object *object, struct drifts *ret)
{
	struct comparison self = {.drifts = ret};
	struct json_object *list = json_member(object, "webhooks");

	for (size_t i = 0; i < length_of(list); i++) {
		const char *name = text_of(json_object_array_get_idx(list, i), "name", "");

		if (!is_known(kind, name))
			drift(&self, DRIFT_WEBHOOKS, "%.120s is none of memtamer's", name);
	}
}

size_t compare_configuration(enum configuration_kind kind, struct json_object *object,
			     const struct compare_expected *expected, struct drifts *ret)
{
	size_t n = 0;

	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; i < ARRAY_LEN(webhooks); i++) {
		struct comparison self = {&webhooks[i], find_webhook(object, webhooks[i].name), expected, ret};

		if (webhooks[i].kind != kind)
			continue;
		if (self.object)
			check_webhook(&self);
		else if (!webhooks[i].is_optional)
			drift(&self, DRIFT_WEBHOOKS, "is missing");
		else if (expected->patches_templates)
			drift(&self, DRIFT_WEBHOOKS, "is missing, the configuration says templates: patch");
	}
	check_unknown(kind, object, ret);
	for (size_t i = 0; i < DRIFT_FIELD_COUNT_; i++)
		n += *ret->words[i] != '\0';
	return n;
}
