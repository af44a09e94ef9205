/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* render_internal: what render.c and render_annotation.c share. */
#include "policy/render.h"

/** The annotation's text; the status of `buf` is sticky. */
void render_annotation(const struct decision *decision, struct strbuf *buf);
/** Does the pod carry an annotation of this mode that set nothing? Then it need not be written again. */
bool annotation_says_nothing_set(const struct k8s_pod *pod, enum mode mode);
