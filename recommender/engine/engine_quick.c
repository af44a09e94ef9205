/* SPDX-License-Identifier: Apache-2.0 */
/* engine_quick: learns from watched pods without waiting for Prometheus, so that an OOM kill is in the profile when the
 * retry is created. Only runs that changed are folded, and only their objects are read and written. */
#include "engine/engine.h"

#include "base/timefmt.h"
#include "engine/engine_internal.h"
#include "engine/learn.h"

#include <errno.h>

static int no_memory(struct err *err)
{
	return err_set(err, -ENOMEM, "no memory left for pods");
}

static int learn_news(struct engine *self, const struct collect *found, bool is_settling, struct engine_result *ret,
		      struct err *err)
{
	struct learn learn = engine_begin_learn(self, found->now_ms);
	int r;

	learn.settle_before_ms = is_settling ? found->now_ms : 0;
	r = is_settling ? learn_all(&learn, found->found.runs.items, found->found.runs.n, err)
			: learn_quick(&learn, found->found.runs.items, found->found.runs.n, err);
	if (!r)
		r = engine_commit(self, &learn, NULL, ret, err);
	ret->n_runs = found->found.runs.n;
	ret->n_workloads = learn.n_workloads;
	learn_release(&learn);
	return r;
}

int engine_fold_news(struct collect *found, struct evidence_batch *batch, struct err *err)
{
	struct pod_table table = POD_TABLE_INIT;
	int r;

	batch->is_partial = false;
	r = pod_table_merge(&table, batch, err);
	r = r ? r : collect_fold(found, &table, found->now_ms, err);
	pod_table_release(&table);
	return r;
}

static int quick(struct engine *self, struct collect *found, bool may_settle, struct engine_result *ret,
		 struct err *err)
{
	const struct evidence_window window = {.end_ms = found->now_ms, .is_open = true};
	struct evidence_batch batch;
	bool is_any, is_settling;
	int r;

	evidence_batch_init(&batch, &window);
	r = self->pods ? self->pods(self->pods_context, !may_settle, &batch) : 1;
	if (r < 0)
		r = no_memory(err);
	is_settling = may_settle && !batch.is_partial;
	is_any = batch.pods.n > 0 || is_settling;
	r = r ? r : engine_fold_news(found, &batch, err);
	evidence_batch_release(&batch);
	if (r)
		return r;
	if (is_any)
		r = learn_news(self, found, is_settling, ret, err);
	if (r)
		return r;
	self->has_settled |= is_settling;
	if (is_settling)
		self->sized_all_ms = found->now_ms;
	self->pods_done(self->pods_context, found->now_ms);
	return !is_any;
}

int engine_quick(struct engine *self, int64_t now_ms, struct engine_result *ret, struct err *err)
{
	struct collect found = {.now_ms = now_ms, .state = COLLECTOR_STATE_INIT};
	int64_t begun_ms = time_monotonic_ms();
	int r;

	*ret = (struct engine_result){.n_runs = 0};
	r = quick(self, &found, false, ret, err);
	ret->duration_ms = time_monotonic_ms() - begun_ms;
	collect_release(&found);
	return r;
}

void engine_settle(struct engine *self, int64_t now_ms)
{
	struct collect found = {.now_ms = now_ms, .state = COLLECTOR_STATE_INIT};
	struct engine_result ignored = {.n_runs = 0};
	struct err why = ERR_INIT;

	if (self->pods && !self->has_settled)
		(void)!quick(self, &found, true, &ignored, &why);
	collect_release(&found);
}
