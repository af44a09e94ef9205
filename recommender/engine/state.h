/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* state: the collector's state beside the store: how far closed days have been read, and the pods of runs that are not
 * over, and what namespaces were capped for harm. {"apiVersion": .., "kind": "CollectorState", "watermark": RFC 3339,
 * "historyFrom": RFC 3339, "caps": [..], "table": {..}} */
#include "base/strbuf.h"
#include "engine/caps.h"
#include "runs/pod_table.h"

struct collector_state {
	int64_t watermark_ms;	 /* everything before has been read; 0: nothing yet */
	int64_t history_from_ms; /* where reading began */
	struct pod_table table;
	struct namespace_caps caps; /* as in the text; in between the engine has them */
};

#define COLLECTOR_STATE_INIT                                                                                           \
	{                                                                                                              \
		.watermark_ms = 0                                                                                      \
	}

void collector_state_release(struct collector_state *self);
/** Sticky status of buf. */
int collector_state_encode(const struct collector_state *self, struct strbuf *buf);
/** "" gives an empty state. @return 0; -EINVAL; -ENOMEM. `ret` is empty before. */
int collector_state_decode(const char *text, size_t n, struct collector_state *ret, struct err *err) ATTR_NODISCARD;
