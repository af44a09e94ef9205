/* SPDX-License-Identifier: Apache-2.0 */
/* One try is: update what we saw last if we hold it; else read (or create), look who holds it since when by our clock,
 * and update if it is ours or expired. Each write carries the resourceVersion that was read, so of two that try at once
 * one is told of a conflict. */
#include "kube/lease.h"

#include "base/arena.h"
#include "base/limits.h"
#include "base/timefmt.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEASE_MS	  (15 * TIME_SECOND_MS)
#define RENEW_DEADLINE_MS (10 * TIME_SECOND_MS)
#define RETRY_MS	  (2 * TIME_SECOND_MS)
#define RECORD_BYTES	  1024

static const struct kube_resource leases = {"coordination.k8s.io", "v1", "leases"};

enum step { STEP_FAST_UPDATE, STEP_READ, STEP_CREATE, STEP_UPDATE };

struct lease {
	struct kube_client *client;
	struct lease_config config;
	struct arena arena;
	struct kube_timer next_try, deadline;
	struct kube_call *call;
	enum step step;
	struct json_object *object;	 /* as last read or written; NULL: never */
	struct json_object *annotations; /* set by us while we lead; merged into every write */
	char record[RECORD_BYTES];	 /* the election's part of it, to see a change */
	char holder[256], told_holder[256], acquire_time[TIME_TEXT_BYTES + 8];
	int64_t duration_ms, transitions;
	int64_t observed_ms;	     /* when the record changed, by our clock */
	int64_t sent_ms, renewed_ms; /* when the write was sent, and the last that succeeded */
	bool is_leading, is_giving_up, is_given_up, has_told_holder;
	int give_up_code;
	struct err give_up_err;
};

static void try_now(void *context);
static void submit(struct lease *self, enum step step);

/* As Go's MicroTime: six digits, or the API server refuses it. */
static const char *micro_time(int64_t time_ms, char *buf, size_t size)
{
	char whole[TIME_TEXT_BYTES];

	time_render(time_ms - time_ms % TIME_SECOND_MS, whole);
	snprintf(buf, size, "%.*s.%06lldZ", (int)strcspn(whole, "Z"), whole,
		 (long long)(time_ms % TIME_SECOND_MS * 1000));
	return buf;
}

static bool is_ours(const struct lease *self)
{
	return streq(self->holder, self->config.identity);
}

static bool is_valid(const struct lease *self)
{
	return self->object && time_monotonic_ms() < self->observed_ms + self->duration_ms;
}

bool lease_is_leader(const struct lease *self)
{
	return self->is_leading && is_ours(self) &&
	       time_monotonic_ms() < self->renewed_ms + self->config.renew_deadline_ms;
}

const char *lease_holder(const struct lease *self)
{
	return self->holder;
}

static void tell_failure(struct lease *self, const struct err *why)
{
	if (self->config.failed)
		self->config.failed(self->config.context, why);
}

static void tell_holder(struct lease *self)
{
	if (self->has_told_holder && streq(self->holder, self->told_holder))
		return;
	self->has_told_holder = true;
	snprintf(self->told_holder, sizeof(self->told_holder), "%s", self->holder);
	if (self->config.new_leader)
		self->config.new_leader(self->config.context, self->holder);
}

static void stop_leading(struct lease *self)
{
	bool was_leading = self->is_leading;

	self->is_leading = false;
	kube_timer_stop(self->client, &self->deadline);
	if (!self->is_giving_up)
		json_putp(&self->annotations);
	if (was_leading)
		self->config.stopped(self->config.context);
}

/* The object as the server has it now. @return 0; -EINVAL. */
static int observe(struct lease *self, struct json_object *object, struct err *err)
{
	struct json_object *spec = NULL;
	const char *holder = "", *acquired = "", *renewed = "";
	int64_t duration_s = 0, transitions = 0;
	char record[RECORD_BYTES];
	int r = json_get_object(object, "", "spec", &spec, err);

	if (r >= 0)
		r = json_get_string(spec, "spec", "holderIdentity", &holder, err);
	if (r >= 0)
		r = json_get_string(spec, "spec", "acquireTime", &acquired, err);
	if (r >= 0)
		r = json_get_string(spec, "spec", "renewTime", &renewed, err);
	if (r >= 0)
		r = json_get_int64(spec, "spec", "leaseDurationSeconds", &duration_s, err);
	if (r >= 0)
		r = json_get_int64(spec, "spec", "leaseTransitions", &transitions, err);
	if (r < 0)
		return r;
	if (strlen(holder) >= sizeof(self->holder) || strlen(acquired) >= sizeof(self->acquire_time))
		return err_set(err, -EINVAL, "spec: text too long");
	snprintf(record, sizeof(record), "%s\n%s\n%s\n%lld\n%lld", holder, acquired, renewed, (long long)duration_s,
		 (long long)transitions);
	if (!self->object || !streq(record, self->record))
		self->observed_ms = time_monotonic_ms();
	snprintf(self->record, sizeof(self->record), "%s", record);
	snprintf(self->holder, sizeof(self->holder), "%s", holder);
	snprintf(self->acquire_time, sizeof(self->acquire_time), "%s", acquired);
	self->duration_ms = MIN(MAX(duration_s, 0), INT32_MAX) * TIME_SECOND_MS;
	self->transitions = transitions;
	if (!is_ours(self))
		json_putp(&self->annotations); /* another's count now */
	json_object_get(object);
	json_object_put(self->object);
	self->object = object;
	return 0;
}

/* What we want to be in the Lease: ours, or given up. */
static struct json_object *make_spec(const struct lease *self)
{
	char now[TIME_TEXT_BYTES + 8];
	bool keeps = is_ours(self);
	bool is_first = self->step == STEP_CREATE;
	int64_t duration_s = self->is_giving_up ? 1 : MAX(1, self->config.lease_ms / TIME_SECOND_MS);
	struct json_object *spec = json_object_new_object();
	int r;

	micro_time(kube_client_now_ms(self->client), now, sizeof(now));
	if (!spec)
		return NULL;
	r = json_add(spec, "holderIdentity", json_object_new_string(self->is_giving_up ? "" : self->config.identity));
	if (!r)
		r = json_add(spec, "leaseDurationSeconds", json_object_new_int64(duration_s));
	if (!r)
		r = json_add(spec, "acquireTime",
			     json_object_new_string(
				     keeps && !self->is_giving_up && *self->acquire_time ? self->acquire_time : now));
	if (!r)
		r = json_add(spec, "renewTime", json_object_new_string(now));
	if (!r)
		r = json_add(spec, "leaseTransitions",
			     json_object_new_int64(is_first ? 0 : self->transitions + !(keeps || self->is_giving_up)));
	if (!r)
		return spec;
	json_object_put(spec);
	return NULL;
}

static struct json_object *new_object(const struct lease *self)
{
	struct json_object *object = json_object_new_object(), *metadata = json_object_new_object();
	int r = object && metadata ? 0 : -ENOMEM;

	if (!r)
		r = json_add(object, "apiVersion", json_object_new_string("coordination.k8s.io/v1"));
	if (!r)
		r = json_add(object, "kind", json_object_new_string("Lease"));
	if (!r)
		r = json_add(metadata, "name", json_object_new_string(self->config.name));
	if (!r)
		r = json_add(metadata, "namespace", json_object_new_string(self->config.namespace));
	if (!r)
		r = json_add(object, "metadata", TAKE_PTR(metadata));
	json_object_put(metadata);
	if (!r)
		return object;
	json_object_put(object);
	return NULL;
}

static struct json_object *annotations_of(struct json_object *object)
{
	return json_member(json_member(object, "metadata"), "annotations");
}

/* Room for annotations in an object, and ours in it. */
static int merge_annotations(const struct lease *self, struct json_object *body)
{
	struct json_object *metadata = json_member(body, "metadata");
	int r = 0;

	if (!self->annotations)
		return 0;
	if (!json_object_is_type(metadata, json_type_object))
		return -EINVAL;
	if (!json_object_is_type(annotations_of(body), json_type_object))
		r = json_add(metadata, "annotations", json_object_new_object());
	json_object_object_foreach(self->annotations, key, value)
	{
		if (!r)
			r = json_add(annotations_of(body), key, json_object_get(value));
	}
	return r;
}

/* The body of a write: all of the Lease as it was, with our spec. */
static struct json_object *make_body(struct lease *self)
{
	struct json_object *body = NULL, *spec = make_spec(self);

	if (!spec)
		return NULL;
	if (self->step == STEP_CREATE)
		body = new_object(self);
	else if (json_object_deep_copy(self->object, &body, NULL))
		body = NULL;
	if (body && !json_add(body, "spec", TAKE_PTR(spec)) && !merge_annotations(self, body))
		return body;
	json_object_put(spec);
	json_object_put(body);
	return NULL;
}

static void give_up_is_done(struct lease *self, int code, const struct err *why)
{
	self->is_given_up = true;
	self->give_up_code = code;
	if (why)
		self->give_up_err = *why;
}

/* This try did not make us leader. */
static void try_failed(struct lease *self, const struct err *why)
{
	int64_t retry_ms = self->config.retry_ms;

	if (why)
		tell_failure(self, why);
	if (self->is_giving_up) {
		give_up_is_done(self, why ? -EIO : 0, why);
		return;
	}
	/* candidates spread out; a leader has its deadline */
	if (!self->is_leading)
		retry_ms += kube_client_random(self->client, 0, retry_ms * 12 / 10 + 1);
	kube_timer_set(self->client, &self->next_try, retry_ms);
}

static void try_succeeded(struct lease *self)
{
	bool was_leading = self->is_leading;

	if (self->is_giving_up) {
		give_up_is_done(self, 0, NULL);
		return;
	}
	self->renewed_ms = self->sent_ms;
	self->is_leading = true;
	kube_timer_stop(self->client, &self->deadline);
	kube_timer_set(self->client, &self->next_try, self->config.retry_ms);
	if (!was_leading)
		self->config.started(self->config.context);
}

static void deadline_passed(void *context)
{
	struct lease *self = context;
	struct err err = ERR_INIT;

	kube_client_cancel(self->client, TAKE_PTR(self->call));
	err_set(&err, -ETIMEDOUT, "the lease %s/%s could not be renewed in time", self->config.namespace,
		self->config.name);
	tell_failure(self, &err);
	stop_leading(self);
	kube_timer_set(self->client, &self->next_try, 0);
}

/* It was read: may we write? */
static void judge(struct lease *self)
{
	struct err err = ERR_INIT;

	if (self->is_giving_up && !is_ours(self)) {
		give_up_is_done(self, 0, NULL);
	} else if (*self->holder && is_valid(self) && !is_ours(self)) {
		err_set(&err, 1, "held by %s", self->holder);
		try_failed(self, self->is_leading ? &err : NULL);
	} else {
		submit(self, STEP_UPDATE);
	}
}

static void step_done(void *context, const struct kube_result *result)
{
	struct lease *self = context;
	struct err err = result->err;
	int r = result->code;

	self->call = NULL;
	if (!r && !result->object)
		r = err_set(&err, -EINVAL, "an empty answer");
	if (!r)
		r = observe(self, result->object, &err);
	if (!r) {
		tell_holder(self);
		if (self->step == STEP_READ)
			judge(self);
		else
			try_succeeded(self);
	} else if (self->step == STEP_FAST_UPDATE || (self->is_giving_up && r == KUBE_CONFLICT)) {
		submit(self, STEP_READ);
	} else if (self->step == STEP_READ && r == KUBE_NOT_FOUND && !self->is_giving_up) {
		submit(self, STEP_CREATE);
	} else {
		try_failed(self, &err);
	}
}

static void submit(struct lease *self, enum step step)
{
	static const enum kube_verb verbs[] = {KUBE_UPDATE, KUBE_GET, KUBE_CREATE, KUBE_UPDATE};
	CLEANUP(json_putp) struct json_object *body = NULL;
	struct kube_request request = {
		.verb = verbs[step],
		.resource = leases,
		.namespace = self->config.namespace,
		.name = step == STEP_CREATE ? NULL : self->config.name,
		.timeout_ms = MAX(self->config.renew_deadline_ms / 2, TIME_SECOND_MS),
		.is_tried_once = true,
		.done = step_done,
		.context = self,
	};
	struct err err = ERR_INIT;
	int r = 0;

	self->step = step;
	self->sent_ms = time_monotonic_ms();
	if (step != STEP_READ) {
		request.body = body = make_body(self);
		if (!body)
			r = err_set(&err, -ENOMEM, "out of memory");
	}
	if (!r)
		r = kube_client_submit(self->client, &request, &self->call, &err);
	if (r)
		try_failed(self, &err);
}

static void try_now(void *context)
{
	struct lease *self = context;

	if (self->is_leading && !self->deadline.is_set)
		kube_timer_set(self->client, &self->deadline, self->config.renew_deadline_ms);
	submit(self, is_ours(self) && is_valid(self) ? STEP_FAST_UPDATE : STEP_READ);
}

static int copy_config(struct lease *self, const struct lease_config *config)
{
	const char **texts[] = {&self->config.namespace, &self->config.name, &self->config.identity};

	self->config = *config;
	if (!self->config.lease_ms)
		self->config.lease_ms = LEASE_MS;
	if (!self->config.renew_deadline_ms)
		self->config.renew_deadline_ms = RENEW_DEADLINE_MS;
	if (!self->config.retry_ms)
		self->config.retry_ms = RETRY_MS;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		if (!(*texts[i] = arena_strdup(&self->arena, *texts[i])))
			return -ENOMEM;
	return 0;
}

int lease_start(struct kube_client *client, const struct lease_config *config, struct lease **ret, struct err *err)
{
	struct lease *self;

	if (!config->namespace || !config->name || !config->identity || !*config->identity ||
	    strlen(config->identity) >= sizeof(self->holder))
		return err_set(err, -EINVAL, "a lease needs a namespace, a name and an identity");
	self = calloc(1, sizeof(*self));
	if (!self)
		return err_set(err, -ENOMEM, "out of memory");
	self->client = client;
	self->arena = (struct arena)ARENA_INIT(4 * KIB);
	self->next_try = (struct kube_timer){.fire = try_now, .context = self};
	self->deadline = (struct kube_timer){.fire = deadline_passed, .context = self};
	if (copy_config(self, config)) {
		lease_free(self);
		return err_set(err, -ENOMEM, "out of memory");
	}
	if (self->config.lease_ms <= self->config.renew_deadline_ms ||
	    self->config.renew_deadline_ms <= self->config.retry_ms * 12 / 10) {
		lease_free(self);
		return err_set(err, -EINVAL, "lease > renew deadline > 1.2 x retry period does not hold");
	}
	kube_timer_set(client, &self->next_try, 0);
	*ret = self;
	return 0;
}

void lease_free(struct lease *self)
{
	if (!self)
		return;
	kube_timer_stop(self->client, &self->next_try);
	kube_timer_stop(self->client, &self->deadline);
	kube_client_cancel(self->client, self->call);
	json_object_put(self->object);
	json_object_put(self->annotations);
	arena_release(&self->arena);
	free(self);
}

int lease_give_up(struct lease *self, int64_t timeout_ms, struct err *err)
{
	int64_t until_ms = time_monotonic_ms() + timeout_ms;
	int r = 0;

	kube_timer_stop(self->client, &self->next_try);
	kube_client_cancel(self->client, TAKE_PTR(self->call));
	self->is_giving_up = true;
	stop_leading(self);
	if (!is_ours(self))
		return 0;
	/* read first: a write of ours may have been under way */
	submit(self, STEP_READ);
	while (!self->is_given_up && !r) {
		int64_t left_ms = until_ms - time_monotonic_ms();

		if (left_ms <= 0) {
			err_set(err, 1, "the lease %s/%s was not given up in time", self->config.namespace,
				self->config.name);
			return 1;
		}
		r = kube_client_poll(self->client, NULL, 0, left_ms, err);
	}
	if (!r && self->give_up_code && err)
		*err = self->give_up_err;
	return r ? r : self->give_up_code;
}

const char *lease_annotation(const struct lease *self, const char *key)
{
	const char *value = NULL;

	if (json_get_string(self->annotations, "", key, &value, NULL) == 0)
		return value;
	return json_get_string(annotations_of(self->object), "", key, &value, NULL) ? NULL : value;
}

int lease_set_annotation(struct lease *self, const char *key, const char *value)
{
	if (!self->is_leading)
		return -EPERM;
	if (!self->annotations && !(self->annotations = json_object_new_object()))
		return -ENOMEM;
	return json_add(self->annotations, key, json_object_new_string(value));
}
