/* SPDX-License-Identifier: Apache-2.0 */
/* Objects by name: a GET each, many at a time. */
#include "store/store_kube.h"

#include <errno.h>

struct asking {
	const struct store_visitor *visitor;
	const struct store_name *names;
	int stop_code; /* what a callback of the visitor returned */
	struct err stop_err;
	bool has_stopped;
};

enum { KINDS_OF_A_NAME = 2 };

static enum store_item_kind kind_of(const struct kube_job *job)
{
	return job->index % KINDS_OF_A_NAME ? ITEM_HISTORY : ITEM_PROFILE;
}

static const struct store_name *name_of(const struct kube_job *job)
{
	const struct asking *self = job->flow->context;

	return &self->names[job->index / KINDS_OF_A_NAME];
}

static int ask(struct kube_job *job, struct err *err)
{
	const struct asking *self = job->flow->context;
	const struct store_name *name = name_of(job);
	enum store_item_kind kind = kind_of(job);
	struct kube_request request = {.verb = KUBE_GET,
				       .resource = store_kube_resources[kind],
				       .namespace = name->namespace_name,
				       .name = name->name};

	if (self->has_stopped || !store_wants(self->visitor, kind))
		return 0;
	seen_forget(&job->flow->store->seen[kind], name->namespace_name, name->name);
	return kube_flow_submit(job, &request, err);
}

static int take(struct kube_job *job, struct err *err)
{
	struct asking *self = job->flow->context;
	CLEANUP(arena_release) struct arena names = ARENA_INIT(LIMIT_OBJECT_DOC_BYTES);
	struct kube_object object;
	int r;

	if (self->has_stopped)
		return 0;
	r = kube_flow_object(job, &names, &object, err);
	if (r)
		return r;
	r = store_kube_give(job->flow->store, kind_of(job), &object, self->visitor, &job->flow->scratch,
			    &self->stop_err);
	if (r) {
		self->stop_code = r;
		self->has_stopped = true;
	}
	return 0;
}

static int answered(struct kube_job *job, const struct kube_result *result, struct err *err)
{
	if (result->code == KUBE_NOT_FOUND)
		return 0;
	return result->code ? err->code : take(job, err);
}

static void name(const struct kube_job *job, struct err *err)
{
	store_kube_name(kind_of(job), name_of(job)->namespace_name, name_of(job)->name, err);
}

int store_kube_visit_named(struct store *base, const struct store_visitor *visitor, const struct store_name *names,
			   size_t n, struct err *err)
{
	struct asking asking = {.visitor = visitor, .names = names};
	struct kube_flow flow = {.store = store_kube_of(base),
				 .context = &asking,
				 .n = n * KINDS_OF_A_NAME,
				 .start = ask,
				 .answered = answered,
				 .name = name};
	int r = kube_flow_run(&flow, err);

	if (!asking.has_stopped)
		return r;
	if (err)
		*err = asking.stop_err;
	return asking.stop_code;
}
