/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* render_internal: what render.c, render_annotation.c and workload.c share. */
#include "k8s/kinds.h"
#include "policy/render.h"

/** Where a pod template stands in the object that is patched. */
struct render_place {
	const struct kind_template *template_;
	struct arena *arena;
};
/** Operations for the sizes of a decision, after what `buf` holds: `[` before the first, no end. `place` NULL: a pod.
 *  Sticky status of `buf`. */
void render_sizes(const struct render_place *place, const struct decision *decision, struct strbuf *buf);
/** A key of a metadata map, with the map when that is absent (`labels` says what is there). */
void render_metadata(const struct k8s_labels *labels, const char *map, const char *key, const char *value,
		     struct strbuf *buf);
/** One entry of the annotation's `set`, without the brackets around it. */
void render_annotation_size(const struct size_change *size, struct strbuf *buf);
/** An entry of the annotation's `set`, and what the pod has there now. */
struct annotation_entry {
	const struct k8s_container *container;
	enum k8s_resource resource;
	enum size_field field;
	const struct k8s_amount *amount;
	struct quantity to;
};
/** @return false for what is no entry, or of a container or resource that the pod does not have. */
bool annotation_entry_read(const struct k8s_pod *pod, struct json_object *entry, struct annotation_entry *ret);
/** An annotation as json-c; NULL when it is none of ours. Ends with json_object_put. */
struct json_object *annotation_parse(const char *text);

/** The annotation's text; the status of `buf` is sticky. */
void render_annotation(const struct decision *decision, const struct k8s_pod *pod, struct strbuf *buf);
/** Was it written for a pod of this one's controller, not copied with the manifest of another? */
bool annotation_is_of(struct json_object *object, const struct k8s_pod *pod);
/** Does the pod carry an annotation of this mode that set nothing? Then it need not be written again. */
bool annotation_says_nothing_set(const struct k8s_pod *pod, enum mode mode);

#define RENDER_NAME "memtamer: "
enum { RENDER_NAME_CHARS = 24, RENDER_ROLE_CHARS = 12 };

/** `memtamer: container "pytorch" of worker: `; `roles` is clean text or "". NULL when the arena is out. */
const char *render_prefix(const char *roles, const struct finding *finding, struct arena *arena);
/** A finding as a line of at most LIMIT_WARNING_CHARS. NULL when the arena is out. */
char *render_line(const char *roles, const struct finding *finding, struct arena *arena);
