/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* history_internal: shared by the files of a history: runs as JSON (run_codec.c), dropped runs (history.c). */
#include "k8s/doc.h"
#include "model/codec.h"
#include "model/history.h"

/** The members of a run. */
extern const struct codec_table run_table;
/** Names of modes by rank, as in policy.h, which is a higher layer. */
enum { HISTORY_RUNGS = 5 };
extern const char *const history_rung_names[HISTORY_RUNGS];

/** Reads one run. @return 0; -EINVAL with the field in err. */
int run_decode(const struct doc *item, struct run *run, struct err *err) ATTR_NODISCARD;
/** Appends only what `kubectl get` shows of a run. */
void run_encode_short(const struct run *run, struct strbuf *buf);
/** Whether the run has a curve that can be written. */
bool run_has_curve(const struct run *run);
/** As history_add_run for a run that was listed: no limit on active runs leaves it out, because the limit is applied
 * when a run is found, and not all orders of the same runs pass it. @return 0 or -ENOMEM (unchanged). */
int history_put_run(struct history *self, const struct run *run) ATTR_NODISCARD;
/** Records that this run dropped out of the list. */
void history_mark_dropped(struct history *self, const struct run *run);
