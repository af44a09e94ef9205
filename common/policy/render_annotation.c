/* SPDX-License-Identifier: Apache-2.0 */
/* render_annotation: the decision annotation, written and read back.
 *	{"v":1,"mode":"raise","rev":7,"runs":14,"set":[{"c":"trainer","r":"memory","f":"limit","to":"96Gi",
 *	 "rule":"peak+buffer"}],"find":["memory-limit-missing"]}
 * `from` is there when a value was replaced. A pod whose values are those of `set` was decided about before. */
#include "policy/render_internal.h"

#include "base/json.h"
#include "base/limits.h"

#include <string.h>

enum { ANNOTATION_VERSION = 1, ANNOTATION_DEPTH = 4 };

/* A value that needs no escaping. */
static void add_pair(const char *key, const char *value, struct strbuf *buf)
{
	strbuf_adds(buf, key);
	strbuf_adds(buf, value);
	strbuf_addc(buf, '"');
}

static void add_size(const struct size_change *size, struct strbuf *buf)
{
	char text[QUANTITY_TEXT_BYTES];

	strbuf_adds(buf, "{\"c\":");
	strbuf_add_json_string(buf, size->container->name);
	add_pair(",\"r\":\"", k8s_resource_names[size->resource], buf);
	add_pair(",\"f\":\"", size->field == SIZE_LIMIT ? "limit" : "request", buf);
	if (size->has_from)
		add_pair(",\"from\":\"", quantity_render_bytes(size->from_bytes, text), buf);
	add_pair(",\"to\":\"", quantity_render_bytes(size->to_bytes, text), buf);
	add_pair(",\"rule\":\"", size->rule, buf);
	strbuf_addc(buf, '}');
}

void render_annotation(const struct decision *decision, struct strbuf *buf)
{
	const struct profile *profile = decision->profile;
	const char *comma = "";

	strbuf_addf(buf, "{\"v\":%d,\"mode\":\"%s\"", ANNOTATION_VERSION, mode_names[decision->mode]);
	if (profile)
		strbuf_addf(buf, ",\"rev\":%lld,\"runs\":%d", (long long)profile->revision, profile->parent.whole_runs);
	strbuf_adds(buf, ",\"set\":[");
	for (size_t i = 0; i < decision->n_sizes; i++) {
		strbuf_adds(buf, i ? "," : "");
		add_size(&decision->sizes[i], buf);
	}
	strbuf_adds(buf, "]");
	for (size_t i = 0; i < decision->n_findings; i++) {
		if (i && decision->findings[i].check == decision->findings[i - 1].check)
			continue;
		strbuf_adds(buf, comma[0] ? comma : ",\"find\":[");
		add_pair("\"", check_table[decision->findings[i].check].name, buf);
		comma = ",";
	}
	strbuf_adds(buf, comma[0] ? "]}" : "}");
}

static struct json_object *annotation_parse(const struct k8s_pod *pod)
{
	const char *text = k8s_label_get(&pod->annotations, ANNOTATION_DECISION);
	struct json_object *object;
	int64_t version;

	if (!text || json_parse(text, strlen(text), ANNOTATION_DEPTH, &object, NULL) != 0)
		return NULL;
	if (!json_object_is_type(object, json_type_object) || json_get_int64(object, "", "v", &version, NULL) != 0 ||
	    version != ANNOTATION_VERSION) {
		json_object_put(object);
		return NULL;
	}
	return object;
}

static const struct k8s_container *container_named(const struct k8s_pod *pod, const char *name)
{
	for (size_t i = 0; i < pod->n_containers; i++)
		if (streq(pod->containers[i].name, name))
			return &pod->containers[i];
	return NULL;
}

/* Does the pod carry the value that this entry says was set? */
static bool entry_holds(const struct k8s_pod *pod, struct json_object *entry)
{
	const char *name, *resource, *field, *to;
	const struct k8s_container *container;
	struct quantity quantity;

	if (!json_object_is_type(entry, json_type_object) || json_get_string(entry, "", "c", &name, NULL) != 0 ||
	    json_get_string(entry, "", "r", &resource, NULL) != 0 ||
	    json_get_string(entry, "", "f", &field, NULL) != 0 || json_get_string(entry, "", "to", &to, NULL) != 0 ||
	    quantity_parse(to, strlen(to), &quantity, NULL) != 0)
		return false;
	container = container_named(pod, name);
	for (int i = 0; container && i < K8S_RESOURCE_COUNT_; i++) {
		const struct k8s_resources *resources = &container->resources;
		const struct k8s_amount *amount = streq(field, "limit") ? &resources->limits[i]
									: &resources->requests[i];

		if (streq(resource, k8s_resource_names[i]))
			return amount->text && !amount->is_invalid && quantity_cmp(&amount->quantity, &quantity) == 0;
	}
	return false;
}

bool decision_is_settled(const struct k8s_pod *pod)
{
	CLEANUP(json_putp) struct json_object *object = annotation_parse(pod);
	struct json_object *set;

	if (!object || json_get_array(object, "", "set", &set, NULL) != 0 || !json_object_array_length(set))
		return false;
	for (size_t i = 0; i < json_object_array_length(set); i++)
		if (!entry_holds(pod, json_object_array_get_idx(set, i)))
			return false;
	return true;
}

bool annotation_says_nothing_set(const struct k8s_pod *pod, enum mode mode)
{
	CLEANUP(json_putp) struct json_object *object = annotation_parse(pod);
	struct json_object *set;
	const char *text;

	return object && json_get_array(object, "", "set", &set, NULL) == 0 && !json_object_array_length(set) &&
	       json_get_string(object, "", "mode", &text, NULL) == 0 && streq(text, mode_names[mode]);
}
