/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* history_internal: what the files of a history share: runs as JSON (run_codec.c), what fell out (history.c). */
#include "k8s/doc.h"
#include "model/history.h"

/** The names of modes by rung: the ladder of policy.h, which lies above this layer. */
enum { HISTORY_RUNGS = 5 };
extern const char *const history_rung_names[HISTORY_RUNGS];

/** Read one run. @return 0; -EINVAL with `path` in err. */
int run_decode(const struct doc *item, const char *path, struct run *run, struct err *err) ATTR_NODISCARD;
/** Append one run; its curve only with `has_curve`, which needs run_has_curve(). */
void run_encode(const struct run *run, bool has_curve, struct strbuf *buf);
/** Is there a curve that can be written? */
bool run_has_curve(const struct run *run);
/** Remember that this run fell out of the list. */
void history_mark_dropped(struct history *self, const struct run *run);
