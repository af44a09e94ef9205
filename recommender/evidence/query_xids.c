/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence/query_xids.h"

#include "base/timefmt.h"
#include "evidence/metrics_internal.h"
#include "evidence/query_internal.h"

#include <stdio.h>

#define STEPS_MAX 64
#define STEP_MS	  (60 * (int64_t)1000)
#define XIDS	  "DCGM_FI_DEV_XID_ERRORS"

static metric_take_fn take_xid;

/* Of several errors within one step the greatest number: those that programs cause have smaller ones than faults. */
static const struct metric_row row = {
	XIDS,	    FAMILY_DCGM,
	PHASE_OPEN, "max by (UUID,gpu,GPU_I_ID,pod_uid)(max_over_time(" XIDS "{$P!=\"\"$M}[$W]))",
	take_xid,   0,
	""};

static int64_t step_of(const struct evidence_xids *xids)
{
	return MAX((xids->end_ms - xids->start_ms) / STEPS_MAX, STEP_MS);
}

static bool is_known(const struct evidence_xids *self, const char *gpu, int64_t number)
{
	for (size_t i = 0; i < self->n; i++)
		if (self->items[i].number == number && streq(self->items[i].gpu, gpu))
			return true;
	return false;
}

/* The points of one series come in the order of time. */
static int take_xid(struct metric_sink *sink, struct json_object *labels, double value, struct err *err)
{
	struct evidence_xids *self = sink->xids;
	const char *uid = label(labels, "pod_uid"), *uuid = label(labels, "UUID");
	int64_t number = whole(value), step_ms = step_of(self);
	struct evidence_xid xid = {.number = number};

	(void)err;
	if (!number || (*uid && !streq(uid, self->uid)) || self->n == XIDS_MAX)
		return 0;
	snprintf(xid.gpu, sizeof(xid.gpu), "%.48s", *uuid ? uuid : label(labels, "gpu"));
	if (is_known(self, xid.gpu, number))
		return 0;
	xid.to_ms = sink->time_ms + 1;
	xid.from_ms = MAX(xid.to_ms - step_ms, self->start_ms);
	xid.is_before = xid.from_ms < self->start_ms + step_ms / 2;
	self->items[self->n++] = xid;
	return 0;
}

int query_xids(struct evidence_reader *reader, struct evidence_xids *xids, struct err *err)
{
	struct query_reader *self = (struct query_reader *)reader;
	const struct query_place place = {xids->namespace_name, xids->pod, xids->container};
	int64_t step_ms = step_of(xids), n = MAX((xids->end_ms - xids->start_ms) / step_ms, 1);
	const struct query query = {.row = &row,
				    .place = &place,
				    .start_ms = xids->end_ms - (n - 1) * step_ms,
				    .end_ms = xids->end_ms,
				    .step_ms = step_ms,
				    .range_ms = step_ms,
				    .sink = {.xids = xids}};
	int r = 0;

	if (!self->labels[FAMILY_DCGM].namespace_label)
		r = query_find_spelling(self, FAMILY_DCGM, xids->start_ms, xids->end_ms, err);
	return r ? r : query_ask_at_once(reader, &query, 1, NULL, 0, err);
}
