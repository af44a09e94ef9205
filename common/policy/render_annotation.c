/* SPDX-License-Identifier: Apache-2.0 */
/* render_annotation: the decision annotation, written and read back.
 *	{"v":1,"of":"<uid of its controller>","mode":"raise","rev":7,"runs":14,
 *	 "set":[{"c":"trainer","r":"memory","f":"limit","to":"96Gi","rule":"peak+buffer"}],
 *	 "find":["memory-limit-missing"]}
 * `from` is there when a value was replaced, `cap` (short words) when something kept it from more or less. A pod whose
 * values are those of `set` was decided about before, unless the annotation is another owner's: then the manifest was
 * copied from a pod, annotation and all, and the values are its own. A bare pod's owner is nobody before and after: for
 * its manifest decide_mode.c looks at the revision. */
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
	add_pair(",\"rule\":\"", size->rule, buf);
	if (!size->cap)
		return;
	strbuf_adds(buf, ",\"cap\":");
	strbuf_add_json_string(buf, size->cap);
}

/* Of which controller the pod is. "" of nobody's. */
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
	for (size_t i = 0; i < decision->n_sizes; i++) {
		strbuf_adds(buf, i ? ",{" : "{");
		render_annotation_size(&decision->sizes[i], buf);
		strbuf_addc(buf, '}');
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

struct json_object *annotation_parse(const char *text)
{
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

bool annotation_entry_read(const struct k8s_pod *pod, struct json_object *entry, struct annotation_entry *ret)
{
	const char *name, *resource, *field, *to;
	int i = 0;

	if (!json_object_is_type(entry, json_type_object) || json_get_string(entry, "", "c", &name, NULL) != 0 ||
	    json_get_string(entry, "", "r", &resource, NULL) != 0 ||
	    json_get_string(entry, "", "f", &field, NULL) != 0 || json_get_string(entry, "", "to", &to, NULL) != 0 ||
	    quantity_parse(to, strlen(to), &ret->to, NULL) != 0)
		return false;
	while (i < K8S_RESOURCE_COUNT_ && !streq(resource, k8s_resource_names[i]))
		i++;
	ret->container = container_named(pod, name);
	if (!ret->container || i == K8S_RESOURCE_COUNT_)
		return false;
	ret->resource = (enum k8s_resource)i;
	ret->field = streq(field, "limit") ? SIZE_LIMIT : SIZE_REQUEST;
	ret->amount = ret->field == SIZE_LIMIT ? &ret->container->resources.limits[i]
					       : &ret->container->resources.requests[i];
	return true;
}

/* Does the pod carry the value that this entry says was set? */
static bool entry_holds(const struct k8s_pod *pod, struct json_object *entry)
{
	struct annotation_entry read;

	return annotation_entry_read(pod, entry, &read) && read.amount->text && !read.amount->is_invalid &&
	       quantity_cmp(&read.amount->quantity, &read.to) == 0;
}

bool annotation_is_of(struct json_object *object, const struct k8s_pod *pod)
{
	const char *owner;

	/* none is said by older versions, which may decide beside us while they are replaced */
	return json_get_string(object, "", "of", &owner, NULL) != 0 || streq(owner, owner_of(pod));
}

bool decision_is_settled(const struct k8s_pod *pod)
{
	CLEANUP(json_putp)
	struct json_object *object = annotation_parse(k8s_label_get(&pod->annotations, ANNOTATION_DECISION));
	struct json_object *set;

	if (!object || !annotation_is_of(object, pod) || json_get_array(object, "", "set", &set, NULL) != 0 ||
	    !json_object_array_length(set))
		return false;
	for (size_t i = 0; i < json_object_array_length(set); i++)
		if (!entry_holds(pod, json_object_array_get_idx(set, i)))
			return false;
	return true;
}

static bool is_request_of(struct json_object *entry, const char *container, enum k8s_resource resource)
{
	const char *c, *r, *f;

	return json_object_is_type(entry, json_type_object) && json_get_string(entry, "", "c", &c, NULL) == 0 &&
	       json_get_string(entry, "", "r", &r, NULL) == 0 && json_get_string(entry, "", "f", &f, NULL) == 0 &&
	       streq(c, container) && streq(r, k8s_resource_names[resource]) && streq(f, "request");
}

bool decision_set_request(const struct k8s_pod *pod, const char *container, enum k8s_resource resource)
{
	CLEANUP(json_putp)
	struct json_object *object = annotation_parse(k8s_label_get(&pod->annotations, ANNOTATION_DECISION));
	struct json_object *set;

	if (!object || json_get_array(object, "", "set", &set, NULL) != 0)
		return false;
	for (size_t i = 0; i < json_object_array_length(set); i++) {
		struct json_object *entry = json_object_array_get_idx(set, i);

		if (is_request_of(entry, container, resource) && entry_holds(pod, entry))
			return true;
	}
	return false;
}

bool annotation_says_nothing_set(const struct k8s_pod *pod, enum mode mode)
{
	CLEANUP(json_putp)
	struct json_object *object = annotation_parse(k8s_label_get(&pod->annotations, ANNOTATION_DECISION));
	struct json_object *set;
	const char *text;

	return object && annotation_is_of(object, pod) && json_get_array(object, "", "set", &set, NULL) == 0 &&
	       !json_object_array_length(set) && json_get_string(object, "", "mode", &text, NULL) == 0 &&
	       streq(text, mode_names[mode]);
}
