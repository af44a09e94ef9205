/* SPDX-License-Identifier: Apache-2.0 */
/* A change as requests: for each workload its history, then its profile; many workloads at a time.
 *
 * A profile has the subresource `status`: a request to make one drops the status, one to its status drops the rest. So
 * a new one is two requests, and an old one is one that cannot touch what people wrote. */
#include "store/store_kube.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum step { STEP_SHAPE, STEP_HISTORY, STEP_PROFILE, STEP_STATUS };

/* What belongs to one workload, or a shape. */
struct unit {
	const struct node_shape *shape;
	struct history *history;
	const struct profile *profile;
};

struct writing {
	const struct store_change *change;
	struct unit *units;
	size_t n_units;
	size_t n_conflicts;
	struct err conflict;	 /* the first */
	struct store_names gone; /* namespaces */
};

static const struct {
	enum store_item_kind kind;
	const char *subresource;
} steps[] = {
	[STEP_SHAPE] = {ITEM_SHAPE, NULL},
	[STEP_HISTORY] = {ITEM_HISTORY, NULL},
	[STEP_PROFILE] = {ITEM_PROFILE, NULL},
	[STEP_STATUS] = {ITEM_PROFILE, "status"},
};

/* ---- texts ---- */

static const struct unit *unit_of(const struct kube_job *job)
{
	const struct writing *self = job->flow->context;

	return &self->units[job->index];
}

static struct store_name name_of(const struct kube_job *job)
{
	const struct unit *unit = unit_of(job);

	if (job->step == STEP_SHAPE)
		return (struct store_name){"", unit->shape->name};
	return job->step == STEP_HISTORY ? (struct store_name){unit->history->namespace_name, unit->history->name}
					 : (struct store_name){unit->profile->namespace_name, unit->profile->name};
}

static void name_error(const struct kube_job *job, struct err *err)
{
	struct store_name name = name_of(job);

	store_kube_name(steps[job->step].kind, name.namespace_name, name.name, err);
}

static int encode(const struct kube_job *job, struct strbuf *buf)
{
	const struct unit *unit = unit_of(job);

	if (job->step == STEP_SHAPE)
		return node_shape_encode(unit->shape, buf);
	return job->step == STEP_HISTORY ? history_encode(unit->history, buf) : profile_encode(unit->profile, buf);
}

/* The object as we write it, with what its metadata has to say besides. NULL: err says why. */
static char *text_of(const struct kube_job *job, const struct seen_object *seen, int *ret_r, struct err *err)
{
	static const char head[] = "\"metadata\":{";
	CLEANUP(strbuf_release) struct strbuf object = STRBUF_INIT(LIMIT_STORE_ITEM_BYTES);
	CLEANUP(strbuf_release) struct strbuf whole = STRBUF_INIT(LIMIT_KUBE_OBJECT_BYTES);
	const char *at;
	char *text = NULL;
	size_t n;

	*ret_r = encode(job, &object);
	if (*ret_r) {
		err_set(err, *ret_r, "cannot be written as an object");
		return NULL;
	}
	at = strstr(strbuf_text(&object), head); /* codec_head's */
	n = (size_t)(at - strbuf_text(&object)) + sizeof(head) - 1;
	strbuf_add(&whole, strbuf_text(&object), n);
	if (seen)
		strbuf_addf(&whole, "\"resourceVersion\":\"%s\",%s", seen->version,
			    seen->metadata ? seen->metadata : "");
	strbuf_add(&whole, strbuf_text(&object) + n, object.len - n);
	text = strbuf_detach(&whole);
	if (!text)
		*ret_r = err_set(err, -ENOMEM, "out of memory");
	return text;
}

/* ---- the chain ---- */

static struct hashtable *seen_of(const struct kube_job *job)
{
	return &job->flow->store->seen[steps[job->step].kind];
}

static void conflict(struct kube_job *job, const struct err *why)
{
	struct writing *self = job->flow->context;
	struct store_name name = name_of(job);

	seen_forget(seen_of(job), name.namespace_name, name.name);
	if (!self->n_conflicts++) {
		self->conflict = *why;
		name_error(job, &self->conflict);
	}
	if (self->change->conflict)
		self->change->conflict(self->change->context, &name);
}

static void pass_over(const struct kube_job *job, const struct err *why)
{
	struct err report = *why;

	name_error(job, &report);
	store_report_bad(&job->flow->store->base, &report);
}

static int write_step(struct kube_job *job, enum step step, struct err *err)
{
	CLEANUP(json_putp) struct json_object *body = NULL;
	const struct seen_object *seen;
	struct store_name name;
	struct kube_request request;
	char *text;
	int r;

	job->step = (int)step;
	name = name_of(job);
	seen = seen_get(seen_of(job), name.namespace_name, name.name);
	if (seen && seen->is_bad) {
		struct err why = ERR_INIT;

		err_set(&why, -EINVAL, "not written: what is there cannot be read; correct or delete it");
		pass_over(job, &why);
		return 0;
	}
	text = text_of(job, seen, &r, err);
	body = text ? store_kube_body(text) : NULL;
	if (!body)
		return text ? err_set(err, -ENOMEM, "out of memory") : r;
	request = (struct kube_request){
		.verb = seen ? KUBE_UPDATE : KUBE_CREATE,
		.resource = store_kube_resources[steps[step].kind],
		.namespace = *name.namespace_name ? name.namespace_name : NULL,
		.name = seen ? name.name : NULL,
		.subresource = steps[step].subresource,
		.body = body,
	};
	return kube_flow_submit(job, &request, err);
}

static int write_profile(struct kube_job *job, struct err *err)
{
	const struct profile *profile = unit_of(job)->profile;

	if (!profile)
		return 0;
	return write_step(job,
			  seen_get(&job->flow->store->seen[ITEM_PROFILE], profile->namespace_name, profile->name)
				  ? STEP_STATUS
				  : STEP_PROFILE,
			  err);
}

static const char *namespace_of(const struct unit *unit)
{
	return unit->history ? unit->history->namespace_name : unit->profile ? unit->profile->namespace_name : "";
}

static int start(struct kube_job *job, struct err *err)
{
	const struct writing *self = job->flow->context;
	const struct unit *unit = unit_of(job);

	if (store_names_has(&self->gone, "", namespace_of(unit)))
		return 0;
	if (unit->shape)
		return write_step(job, STEP_SHAPE, err);
	return unit->history ? write_step(job, STEP_HISTORY, err) : write_profile(job, err);
}

static int next_step(struct kube_job *job, struct err *err)
{
	if (job->step == STEP_HISTORY)
		return write_profile(job, err);
	return job->step == STEP_PROFILE ? write_step(job, STEP_STATUS, err) : 0;
}

static int written(struct kube_job *job, struct err *err)
{
	struct kube_object object;
	int r = kube_flow_object(job, &job->flow->scratch, &object, err);

	if (!r)
		r = seen_put(seen_of(job), &object, false, err);
	return r ? r : next_step(job, err);
}

/* The namespace is deleted or being deleted, so its profiles and histories cannot be stored. The API server refuses
 * objects of a namespace that is being deleted with a 403 and these words (k8s.io/apiserver,
 * plugin/namespace/lifecycle). */
static bool is_namespace_gone(const struct kube_job *job, const struct kube_result *result)
{
	if (job->step == STEP_SHAPE)
		return false;
	return (result->code == KUBE_NOT_FOUND && strstr(result->err.msg, "namespaces \"")) ||
	       (result->code == KUBE_FORBIDDEN && strstr(result->err.msg, "because it is being terminated"));
}

#define REPORTED_MAX 1024 /* beyond it, a namespace may be reported a second time */

/* Reports a namespace once: Prometheus has series of its pods for a while, so every cycle finds them. */
static int report_gone(struct kube_store *store, const struct store_name *name, const struct kube_result *result)
{
	struct err report = result->err;

	if (store_names_has(&store->reported_gone, "", name->name))
		return 0;
	snprintf(report.where, sizeof(report.where), "namespace %s", name->name);
	err_wrap(&report, "it is deleted, and its profiles and histories with it");
	store_report_bad(&store->base, &report);
	if (store->reported_gone.map.n >= REPORTED_MAX)
		store_names_release(&store->reported_gone);
	return store_names_put_all(&store->reported_gone, name, 1);
}

static int pass_over_namespace(struct kube_job *job, const struct kube_result *result, struct err *err)
{
	struct writing *self = job->flow->context;
	const struct store_name name = {"", namespace_of(unit_of(job))};

	if (store_names_has(&self->gone, "", name.name))
		return 0;
	return report_gone(job->flow->store, &name, result) || store_names_put_all(&self->gone, &name, 1)
		       ? err_set(err, -ENOMEM, "out of memory")
		       : 0;
}

static bool is_conflict(const struct kube_result *result)
{
	return result->code == KUBE_CONFLICT || result->code == KUBE_ALREADY_EXISTS ||
	       /* it was there when it was read */
	       (result->code == KUBE_NOT_FOUND && strstr(result->err.msg, " \""));
}

static int answered(struct kube_job *job, const struct kube_result *result, struct err *err)
{
	if (!result->code)
		return written(job, err);
	if (is_namespace_gone(job, result))
		return pass_over_namespace(job, result, err);
	if (is_conflict(result)) {
		conflict(job, err);
		return 0;
	}
	if (result->code == KUBE_NOT_FOUND)
		err_wrap(err, "the installed custom resource definitions are not those of this release");
	return err->code;
}

/* ---- units ---- */

static int add_histories(struct writing *self, struct strmap *index, struct arena *keys)
{
	const struct store_change *change = self->change;

	for (size_t i = 0; i < change->n_histories; i++) {
		struct history *history = change->histories[i];
		struct unit *unit = &self->units[self->n_units++];
		const char *key = arena_printf(keys, "%s/%s", history->namespace_name, history->name);

		*unit = (struct unit){.history = history};
		if (!key || strmap_put(index, key, unit))
			return -ENOMEM;
	}
	return 0;
}

static int make_units(struct writing *self)
{
	const struct store_change *change = self->change;
	CLEANUP(arena_release) struct arena keys = ARENA_INIT(LIMIT_STORE_BYTES);
	CLEANUP(strmap_release) struct strmap index = STRMAP_INIT;

	self->units = calloc(change->n_shapes + change->n_histories + change->n_profiles + 1, sizeof(*self->units));
	if (!self->units)
		return -ENOMEM;
	for (size_t i = 0; i < change->n_shapes; i++)
		self->units[self->n_units++] = (struct unit){.shape = &change->shapes[i]};
	if (add_histories(self, &index, &keys))
		return -ENOMEM;
	for (size_t i = 0; i < change->n_profiles; i++) {
		const struct profile *profile = change->profiles[i];
		char key[STORE_KEY_BYTES];
		struct unit *unit = strmap_get(&index, store_key(key, profile->namespace_name, profile->name));

		if (unit)
			unit->profile = profile;
		else
			self->units[self->n_units++] = (struct unit){.profile = profile};
	}
	return 0;
}

int store_kube_commit(struct store *base, const struct store_change *change, struct err *err)
{
	struct writing writing = {.change = change, .gone = STORE_NAMES_INIT};
	struct kube_flow flow = {.store = store_kube_of(base),
				 .context = &writing,
				 .start = start,
				 .answered = answered,
				 .name = name_error};
	int r = make_units(&writing);

	if (r)
		err_set(err, r, "out of memory");
	flow.n = writing.n_units;
	if (!r)
		r = kube_flow_run(&flow, err);
	if (!r && writing.n_conflicts) {
		r = writing.conflict.code = -EAGAIN;
		if (err)
			*err = writing.conflict;
	}
	free(writing.units);
	store_names_release(&writing.gone);
	return r;
}
