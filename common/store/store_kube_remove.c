/* SPDX-License-Identifier: Apache-2.0 */
/* Deleting what nobody needs: a profile is looked at once more before, and only goes as it was then. */
#include "store/store_kube.h"

#include <errno.h>

enum step { STEP_CHECK, STEP_PROFILE, STEP_HISTORY, STEP_SHAPE };

struct removing {
	const struct store_name *names;
	size_t n_removed;
};

static enum store_item_kind kind_of(enum step step)
{
	return step == STEP_SHAPE ? ITEM_SHAPE : step == STEP_HISTORY ? ITEM_HISTORY : ITEM_PROFILE;
}

static int send(struct kube_job *job, enum step step, struct json_object *body, struct err *err)
{
	const struct removing *self = job->flow->context;
	const struct store_name *name = &self->names[job->index];
	struct kube_request request = {.verb = step == STEP_CHECK ? KUBE_GET : KUBE_DELETE,
				       .resource = store_kube_resources[kind_of(step)],
				       .namespace = *name->namespace_name ? name->namespace_name : NULL,
				       .name = name->name,
				       .body = body};

	job->step = (int)step;
	return kube_flow_submit(job, &request, err);
}

/* As it was read, or not at all: whoever changes a shape meanwhile keeps it. */
static int send_shape(struct kube_job *job, const char *name, struct err *err)
{
	const struct seen_object *seen = seen_get(&job->flow->store->seen[ITEM_SHAPE], "", name);
	CLEANUP(json_putp) struct json_object *body = NULL;

	if (!seen || seen->is_bad)
		return 0;
	body = kube_delete_preconditions(NULL, seen->version);
	return body ? send(job, STEP_SHAPE, body, err) : err_set(err, -ENOMEM, "out of memory");
}

static int start(struct kube_job *job, struct err *err)
{
	const struct removing *self = job->flow->context;
	const struct store_name *name = &self->names[job->index];

	return *name->namespace_name ? send(job, STEP_CHECK, NULL, err) : send_shape(job, name->name, err);
}

/* Is it as the caller knows it, and without a word of anybody? */
static bool may_go(const struct kube_job *job, const struct kube_object *object)
{
	CLEANUP(arena_release) struct arena scratch = ARENA_INIT(LIMIT_OBJECT_DOC_BYTES);
	const struct seen_object *seen = seen_get(&job->flow->store->seen[ITEM_PROFILE], object->namespace,
						  object->name);
	struct profile_draft draft;

	return seen && streq(seen->version, object->resource_version) &&
	       !profile_read(object->text, object->n_text, &scratch, &draft, NULL) && store_may_remove(&draft.profile);
}

static int check_profile(struct kube_job *job, struct err *err)
{
	CLEANUP(json_putp) struct json_object *body = NULL;
	struct kube_object object;
	int r = kube_flow_object(job, &job->flow->scratch, &object, err);

	if (r || !may_go(job, &object))
		return r;
	body = kube_delete_preconditions(object.uid, object.resource_version);
	return body ? send(job, STEP_PROFILE, body, err) : err_set(err, -ENOMEM, "out of memory");
}

static int go_on(struct kube_job *job, const struct kube_result *result, struct err *err)
{
	struct removing *self = job->flow->context;
	const struct store_name *name = &self->names[job->index];

	if (job->step == STEP_CHECK && !result->code)
		return check_profile(job, err);
	if (job->step == STEP_HISTORY)
		return 0;
	if (job->step == STEP_SHAPE) {
		self->n_removed++;
		seen_forget(&job->flow->store->seen[ITEM_SHAPE], "", name->name);
		return 0;
	}
	self->n_removed += job->step == STEP_PROFILE;
	seen_forget(&job->flow->store->seen[ITEM_PROFILE], name->namespace_name, name->name);
	seen_forget(&job->flow->store->seen[ITEM_HISTORY], name->namespace_name, name->name);
	return send(job, STEP_HISTORY, NULL, err);
}

static int answered(struct kube_job *job, const struct kube_result *result, struct err *err)
{
	if (result->code == KUBE_CONFLICT)
		return 0; /* the object changed in this moment, so it is in use */
	return !result->code || result->code == KUBE_NOT_FOUND ? go_on(job, result, err) : err->code;
}

static void name(const struct kube_job *job, struct err *err)
{
	const struct removing *self = job->flow->context;
	const struct store_name *name = &self->names[job->index];

	store_kube_name(kind_of((enum step)job->step), name->namespace_name, name->name, err);
}

int store_kube_remove(struct store *base, const struct store_name *names, size_t n, size_t *ret_n, struct err *err)
{
	struct removing removing = {.names = names};
	struct kube_flow flow = {.store = store_kube_of(base),
				 .context = &removing,
				 .n = n,
				 .start = start,
				 .answered = answered,
				 .name = name};
	int r = kube_flow_run(&flow, err);

	*ret_n = removing.n_removed;
	return r;
}
