/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* render_internal: what render.c, render_annotation.c and workload.c share. */
#include "policy/render.h"

/** The annotation's text; the status of `buf` is sticky. */
void render_annotation(const struct decision *decision, struct strbuf *buf);
/** Does the pod carry an annotation of this mode that set nothing? Then it need not be written again. */
bool annotation_says_nothing_set(const struct k8s_pod *pod, enum mode mode);

#define RENDER_NAME "memtamer: "
enum { RENDER_NAME_CHARS = 24, RENDER_ROLE_CHARS = 12 };

/** `memtamer: container "pytorch" of worker: `; `roles` is clean text or "". NULL when the arena is out. */
const char *render_prefix(const char *roles, const struct finding *finding, struct arena *arena);
/** A finding as a line of at most LIMIT_WARNING_CHARS. NULL when the arena is out. */
char *render_line(const char *roles, const struct finding *finding, struct arena *arena);
