/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* render_internal: shared by the files of this folder. Cost: linear in the sizes, findings and roles of a decision and
 * in what is written; render_metadata() also in the members of the map. */
#include "k8s/kinds.h"
#include "policy/render.h"

/** Where a pod template is in the object that is patched. */
struct render_place {
	const struct kind_template *template_;
	struct arena *arena;
};
/** Appends operations for the sizes of a decision, with `[` before the first one of `buf` and without the closing `]`.
 * `place` NULL: a pod. The status of `buf` is sticky. */
void render_sizes(const struct render_place *place, const struct decision *decision, struct strbuf *buf);
/** Appends an operation for a key of a metadata map, with the map if it is absent (`labels` is the existing map). */
void render_metadata(const struct k8s_labels *labels, const char *map, const char *key, const char *value,
		     struct strbuf *buf);
/** Whether the API server accepts the object with one annotation more, or with another value of it. */
bool render_has_room(const struct k8s_labels *annotations, const char *key, const struct strbuf *value);
/** Appends one entry of the annotation's `set`, without the brackets around it. */
void render_annotation_size(const struct size_change *size, struct strbuf *buf);
/** Appends the annotation's text. The status of `buf` is sticky. */
void render_annotation(const struct decision *decision, const struct k8s_pod *pod, struct strbuf *buf);
#define RENDER_NAME "memtamer: "
enum { RENDER_NAME_CHARS = 63, RENDER_BRIEF_CHARS = 12, RENDER_ROLES = 3 };

/** The roles that a sentence applies to: their names, and a short form for long sentences. */
struct render_roles {
	const char *names; /* "master, worker", "a, b, c +2"; "" */
	const char *brief; /* "2 roles", or the beginning of the only role */
};
/** Formats n roles, of which the first RENDER_ROLES are read. @return 0 or -ENOMEM. */
int render_roles(const char *const *roles, size_t n, struct arena *arena, struct render_roles *ret) ATTR_NODISCARD;

/** `memtamer: container "pytorch" of worker: `; `roles` is clean text or "". NULL: the arena is full. */
const char *render_prefix(const char *roles, const struct finding *finding, struct arena *arena);
/** A finding as a line of at most LIMIT_WARNING_CHARS. If it is too long, names, roles and what is wrong are truncated
 * before its end, which has the reason. NULL: the arena is full. */
char *render_line(const struct render_roles *roles, const struct finding *finding, struct arena *arena);
