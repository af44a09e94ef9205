/* SPDX-License-Identifier: Apache-2.0 */
/* The API server writes the members of an object in a fixed order, so each member of a webhook is compared as text: it
 * must contain the text in the table. Selectors may contain more text, which excludes more objects. */
#include "registration/drift.h"

#include "base/base64.h"
#include "base/limits.h"
#include "base/strbuf.h"
#include "k8s/keys.h"
#include "pki/pki.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define LONGEST_TIMEOUT_S     5
#define API_SERVERS_TIMEOUT_S 10 /* the default */
#define MEMBER_BYTES	      (64 * KIB)

const char *const drift_field_names[DRIFT_FIELD_COUNT_] = {
	[DRIFT_FAILURE_POLICY] = "failurePolicy",
	[DRIFT_CA_BUNDLE] = "clientConfig.caBundle",
	[DRIFT_RULES] = "rules",
};

static const struct {
	enum configuration_kind kind;
	const char *name;
} webhooks[] = {
	{CONFIGURATION_MUTATING, "pods.memtamer.io"},
	{CONFIGURATION_MUTATING, "probe.memtamer.io"},
	{CONFIGURATION_MUTATING, "templates.memtamer.io"}, /* the chart has it only with templates: patch */
	{CONFIGURATION_VALIDATING, "workloads.memtamer.io"},
};
enum { PODS = 1, PROBE = 2, TEMPLATES = 4, WORKLOADS = 8, NOT_PROBE = PODS | TEMPLATES | WORKLOADS, ALL = 15 };

#define NOT_IN(key, ...) "{'key':'" key "','operator':'NotIn','values':[" __VA_ARGS__
#define CREATIONS_OF(resource)                                                                                         \
	"[{'operations':['CREATE'],'apiGroups':[''],'apiVersions':['v1'],'resources':['" resource                      \
	"'],'scope':'Namespaced'}]"
#define KINDS(group, resources)                                                                                        \
	{                                                                                                              \
		TEMPLATES | WORKLOADS, "rules",                                                                        \
			"{'operations':['CREATE','UPDATE'],'apiGroups':['" group                                       \
			"'],'apiVersions':['*'],'resources':[" resources "],'scope':'*'}"                              \
	}

/* JSON, but with single quotes. */
static const struct part {
	unsigned of; /* bits of `webhooks` */
	const char *member, *text;
} parts[] = {
	{ALL, "admissionReviewVersions", "'v1'"},
	{ALL, "failurePolicy", "'Ignore'"},
	{ALL, "matchPolicy", "'Equivalent'"},
	{ALL, "sideEffects", "'None'"},
	{PODS | TEMPLATES, "reinvocationPolicy", "'IfNeeded'"},
	{PODS, "clientConfig", "/mutate'"}, /* the end of a Service's path or of a URL */
	{PROBE, "clientConfig", "/probe'"},
	{TEMPLATES, "clientConfig", "/templates'"},
	{WORKLOADS, "clientConfig", "/validate'"},
	{NOT_PROBE, "namespaceSelector", NOT_IN("kubernetes.io/metadata.name", "'kube-system'")},
	{NOT_PROBE, "namespaceSelector", NOT_IN(KEY_IGNORE, "'true']}")},
	{NOT_PROBE, "namespaceSelector", NOT_IN(KEY_MODE, "'off']}")},
	{PROBE, "namespaceSelector", "'matchLabels':{'kubernetes.io/metadata.name':"},
	{PODS, "objectSelector", NOT_IN(KEY_IGNORE, "'true']}")},
	{PODS, "objectSelector", NOT_IN(KEY_TRAINING, "'false']}")},
	{PROBE, "objectSelector", "'matchLabels':{'" KEY_PROBE "':'true'}"},
	{PODS, "rules", CREATIONS_OF("pods")},
	{PROBE, "rules", CREATIONS_OF("configmaps")},
	KINDS("", "'replicationcontrollers'"),
	KINDS("apps", "'daemonsets','deployments','replicasets','statefulsets'"),
	KINDS("argoproj.io", "'clusterworkflowtemplates','cronworkflows','workflows','workflowtemplates'"),
	KINDS("batch", "'cronjobs','jobs'"),
	KINDS("batch.volcano.sh", "'cronjobs','jobs'"),
	KINDS("jobset.x-k8s.io", "'jobsets'"),
	KINDS("kubeflow.org", "'experiments','jaxjobs','mpijobs','notebooks','paddlejobs','pytorchjobs','tfjobs','"
			      "trials','xgboostjobs'"),
	KINDS("leaderworkerset.x-k8s.io", "'leaderworkersets'"),
	KINDS("ray.io", "'rayclusters','raycronjobs','rayjobs','rayservices'"),
	KINDS("run.ai", "'runaijobs'"),
	KINDS("sagemaker.amazonaws.com", "'hyperpodpytorchjobs'"),
	KINDS("serving.knative.dev", "'services'"),
	KINDS("trainer.kubeflow.org", "'clustertrainingruntimes','trainingruntimes','trainjobs'"),
	KINDS("workload.codeflare.dev", "'appwrappers'"),
};

/* One webhook that is being compared. */
struct comparison {
	const char *name;
	struct json_object *object;
	struct drifts *drifts;
};

static void drift(struct comparison *self, enum drift_field field, const char *fmt, ...) ATTR_PRINTF(3, 4);
static void drift(struct comparison *self, enum drift_field field, const char *fmt, ...)
{
	char *words = self->drifts->words[field];
	va_list args;

	if (*words)
		return;
	va_start(args, fmt);
	vsnprintf(words + snprintf(words, DRIFT_WORDS, "%.80s ", self->name), DRIFT_WORDS - 82, fmt, args);
	va_end(args);
}

static void check_contains(struct comparison *self, const char *member, const char *text)
{
	CLEANUP(strbuf_release) struct strbuf value = STRBUF_INIT(MEMBER_BYTES);
	int flags = JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE;

	strbuf_adds(&value, json_object_to_json_string_ext(json_member(self->object, member), flags));
	for (size_t i = 0; i < value.len; i++)
		if (value.text[i] == '"')
			value.text[i] = '\'';
	if (!strstr(strbuf_text(&value), text))
		drift(self, streq(member, "failurePolicy") ? DRIFT_FAILURE_POLICY : DRIFT_RULES,
		      "has %s %.120s, memtamer needs %.160s", member, strbuf_text(&value), text);
}

static void check_namespace(struct comparison *self, const char *name)
{
	char quoted[LIMIT_NAME_BYTES + 8];

	snprintf(quoted, sizeof(quoted), "'%.*s'", LIMIT_NAME_BYTES, name);
	check_contains(self, "namespaceSelector", quoted);
}

static void check_ca_bundle(struct comparison *self, const char *chain_pem)
{
	CLEANUP(strbuf_release) struct strbuf pem = STRBUF_INIT(LIMIT_KUBE_OBJECT_BYTES);
	struct json_object *client = json_member(self->object, "clientConfig");
	struct pki_bundle bundle = PKI_BUNDLE_INIT;
	struct err err = ERR_INIT;
	const char *text = "";

	if (json_get_string(client, "", "caBundle", &text, NULL) || !*text) {
		/* without a caBundle the API server trusts the CAs of its system, which may have issued a URL's
		 * certificate */
		if (!json_member(client, "url"))
			drift(self, DRIFT_CA_BUNDLE, "has none: the API server does not trust memtamer");
		return;
	}
	if (base64_decode(text, strlen(text), &pem) ||
	    pki_read_bundle(strbuf_text(&pem), pem.len, SIZE_MAX, &bundle, &err))
		drift(self, DRIFT_CA_BUNDLE, "has one that cannot be read");
	else if (pki_verify(chain_pem, &bundle, &err) == PKI_NOT_TRUSTED)
		drift(self, DRIFT_CA_BUNDLE, "does not have the CA of memtamer's certificate: %.80s", err.msg);
	pki_bundle_release(&bundle);
}

static void check_webhook(struct comparison *self, unsigned which, const struct drift_expected *expected)
{
	const char *const *excluded = which & NOT_PROBE ? expected->excluded_namespaces : NULL;
	int64_t timeout_s = API_SERVERS_TIMEOUT_S;

	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		if (parts[i].of & which)
			check_contains(self, parts[i].member, parts[i].text);
	if (expected->own_namespace)
		check_namespace(self, expected->own_namespace);
	for (; excluded && *excluded; excluded++)
		check_namespace(self, *excluded);
	if (json_get_int64(self->object, "", "timeoutSeconds", &timeout_s, NULL) < 0 || timeout_s > LONGEST_TIMEOUT_S)
		drift(self, DRIFT_RULES, "has timeoutSeconds %lld, memtamer needs at most %d", (long long)timeout_s,
		      LONGEST_TIMEOUT_S);
	if (expected->chain_pem)
		check_ca_bundle(self, expected->chain_pem);
}

void drift_compare(enum configuration_kind kind, struct json_object *object, const struct drift_expected *expected,
		   struct drifts *ret)
{
	struct json_object *list = json_member(object, "webhooks");
	size_t n = json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0, n_ours = 0;

	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; object && i < ARRAY_LEN(webhooks); i++) {
		struct comparison self = {webhooks[i].name, NULL, ret};
		const char *name = "";

		if (webhooks[i].kind != kind)
			continue;
		for (size_t j = 0; j < n && !self.object; j++)
			if (!json_get_string(json_object_array_get_idx(list, j), "", "name", &name, NULL) &&
			    streq(name, self.name))
				self.object = json_object_array_get_idx(list, j);
		n_ours += self.object != NULL;
		if (self.object)
			check_webhook(&self, 1u << i, expected);
		else if (1u << i != TEMPLATES || expected->patches_templates)
			drift(&self, DRIFT_RULES, "is missing");
	}
	if (n_ours < n)
		drift(&(struct comparison){"it", NULL, ret}, DRIFT_RULES, "has %zu webhooks that are not memtamer's",
		      n - n_ours);
}
