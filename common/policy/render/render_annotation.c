/* SPDX-License-Identifier: Apache-2.0 */
/* render_annotation: writes the decision annotation; annotation.c reads it.
 *   {"v":1,"of":"<uid of its controller>","mode":"raise","rev":7,"runs":14,
 *    "set":[{"c":"trainer","r":"memory","f":"limit","to":"96Gi","rule":"peak+buffer"}],
 *    "find":["memory-limit-missing"]}
 * `env` names the allocator variable that was set.
 * `from` is the value before the first round of the admission, and absent if there was none; `cap` (a short text) is
 * present if something limited the change. An entry whose value another webhook has replaced since has the rule
 * "replaced": a limit that we added would not exist without us, whoever changed it. A pod that has the other values of
 * `set` was decided about before, unless the annotation has another owner: then the manifest was copied from a pod with
 * its annotation, and the values are the user's own. A bare pod never has an owner; for its manifest decide_mode.c
 * compares the revision. */
#include "policy/render/render_internal.h"

#include "policy/annotation.h"

/* Writes a value that needs no escaping. */
static void add_pair(const char *key, const char *value, struct strbuf *buf)
{
	strbuf_adds(buf, key);
	strbuf_adds(buf, value);
	strbuf_addc(buf, '"');
}

void render_annotation_size(const struct size_change *size, struct strbuf *buf)
{
	char text[QUANTITY_TEXT_BYTES];

	strbuf_adds(buf, "\"c\":");
	strbuf_add_json_string(buf, size->container->name);
	add_pair(",\"r\":\"", k8s_resource_names[size->resource], buf);
	add_pair(",\"f\":\"", size->field == SIZE_LIMIT ? "limit" : "request", buf);
	if (size->has_from)
		add_pair(",\"from\":\"", quantity_render_bytes(size->from_bytes, text), buf);
	add_pair(",\"to\":\"", quantity_render_bytes(size->to_bytes, text), buf);
	strbuf_adds(buf, ",\"rule\":");
	strbuf_add_json_string(buf, size->rule);
	if (!size->cap)
		return;
	strbuf_adds(buf, ",\"cap\":");
	strbuf_add_json_string(buf, size->cap);
}

/* The uid of the pod's controller; "": none. */
static const char *owner_of(const struct k8s_pod *pod)
{
	const struct k8s_owner *controller = k8s_pod_controller(pod);

	return controller ? controller->uid : "";
}

void render_annotation(const struct decision *decision, const struct k8s_pod *pod, struct strbuf *buf)
{
	const struct profile *profile = decision->profile;
	const char *comma = "";

	strbuf_addf(buf, "{\"v\":%d,\"of\":", ANNOTATION_VERSION);
	strbuf_add_json_string(buf, owner_of(pod));
	strbuf_addf(buf, ",\"mode\":\"%s\"", mode_names[decision->mode]);
	if (profile)
		strbuf_addf(buf, ",\"rev\":%lld,\"runs\":%d", (long long)profile->revision, profile->parent.whole_runs);
	strbuf_adds(buf, ",\"set\":[");
	for (size_t i = 0; i < decision->n_set; i++) {
		strbuf_adds(buf, i ? ",{" : "{");
		render_annotation_size(&decision->set[i], buf);
		strbuf_addc(buf, '}');
	}
	strbuf_adds(buf, "]");
	if (decision->variable)
		add_pair(",\"env\":\"", decision->variable, buf);
	for (size_t i = 0; i < decision->n_findings; i++) {
		if (i && decision->findings[i].check == decision->findings[i - 1].check)
			continue;
		strbuf_adds(buf, comma[0] ? comma : ",\"find\":[");
		add_pair("\"", check_table[decision->findings[i].check].name, buf);
		comma = ",";
	}
	strbuf_adds(buf, comma[0] ? "]}" : "}");
}
