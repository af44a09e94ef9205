/* SPDX-License-Identifier: Apache-2.0 */
/* One try: if this process holds the Lease, update it as last seen. Otherwise read the Lease (or create it), check who
 * has held it since when by our clock, and update it if it is ours or expired. Each write carries the resourceVersion
 * that was read, so of two concurrent writes one gets a conflict.
 *
 * The Lease may be deleted at any moment. Its holder creates it again with the next renewal and continues to lead.
 * Candidates wait as long as if the Lease still existed, so that nobody leads at the same time as the holder; only a
 * candidate that has never seen the Lease creates it at once. */
#include "kube/lease_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEASE_MS	  (15 * TIME_SECOND_MS)
#define RENEW_DEADLINE_MS (10 * TIME_SECOND_MS)
#define RETRY_MS	  (2 * TIME_SECOND_MS)

static const struct kube_resource leases = {"coordination.k8s.io", "v1", "leases"};

static void try_now(void *context);
static void submit(struct lease *self, enum step step);

static bool is_valid(const struct lease *self)
{
	return self->object && time_monotonic_ms() < self->observed_ms + self->duration_ms;
}

int64_t lease_leads_until_ms(const struct lease *self)
{
	return self->is_leading && lease_is_ours(self) ? self->renewed_ms + self->config.renew_deadline_ms : 0;
}

bool lease_is_leader(const struct lease *self)
{
	return time_monotonic_ms() < lease_leads_until_ms(self);
}

static void report_failure(struct lease *self, const struct err *why)
{
	if (self->config.failed)
		self->config.failed(self->config.context, why);
}

static void stop_leading(struct lease *self)
{
	bool was_leading = self->is_leading;

	self->is_leading = false;
	kube_timer_stop(self->client, &self->deadline);
	if (was_leading)
		self->config.stopped(self->config.context);
}

static void give_up_is_done(struct lease *self, int code, const struct err *why)
{
	self->is_given_up = true;
	self->give_up_code = code;
	if (why)
		self->give_up_err = *why;
}

/* A try has failed, or another process holds the Lease. */
static void try_failed(struct lease *self, const struct err *why)
{
	int64_t retry_ms = self->config.retry_ms;

	if (why)
		report_failure(self, why);
	if (self->is_giving_up) {
		give_up_is_done(self, why ? -EIO : 0, why);
		return;
	}
	/* candidates try at random times; a leader must keep its deadline */
	if (!self->is_leading)
		retry_ms += kube_client_random(self->client, 0, retry_ms * 12 / 10 + 1);
	kube_timer_set(self->client, &self->next_try, retry_ms);
}

/* Whether this managedFields entry belongs to a renewal, under any field manager. */
static bool is_of_renewal(struct json_object *entry)
{
	return json_member(json_member(json_member(entry, "fieldsV1"), "f:spec"), "f:renewTime") != NULL;
}

/* The API server adds its own time to managedFields whenever a write changes the fields, and every renewal changes
 * renewTime. Entries of other writers (labels by helm, for example) keep the time of their write, perhaps by a clock
 * that was ahead. */
static void compare_clocks(struct lease *self)
{
	struct json_object *fields = json_member(json_member(self->object, "metadata"), "managedFields");
	size_t n = json_object_is_type(fields, json_type_array) ? json_object_array_length(fields) : 0;
	int64_t newest_ms = 0;

	for (size_t i = 0; i < n; i++) {
		struct json_object *entry = json_object_array_get_idx(fields, i);
		const char *text = "";
		int64_t time_ms = 0;

		if (is_of_renewal(entry) && json_get_string(entry, "", "time", &text, NULL) == 0 &&
		    time_parse(text, strlen(text), &time_ms) == 0)
			newest_ms = MAX(newest_ms, time_ms);
	}
	self->has_ahead = newest_ms > 0;
	self->ahead_ms = kube_client_now_ms(self->client) - newest_ms;
}

bool lease_clock_ahead(const struct lease *self, int64_t *ret_ms)
{
	if (self->has_ahead)
		*ret_ms = self->ahead_ms;
	return self->has_ahead;
}

static void try_succeeded(struct lease *self)
{
	bool was_leading = self->is_leading;

	if (self->is_giving_up) {
		give_up_is_done(self, 0, NULL);
		return;
	}
	compare_clocks(self);
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
	report_failure(self, &err);
	stop_leading(self);
	kube_timer_set(self->client, &self->next_try, 0);
}

/* Whether another holder may still lead, as last seen. */
static bool is_anothers(const struct lease *self)
{
	return *self->holder && is_valid(self) && !lease_is_ours(self);
}

static void lease_is_absent(struct lease *self)
{
	if (self->is_giving_up)
		give_up_is_done(self, 0, NULL);
	else if (is_anothers(self))
		try_failed(self, NULL);
	else
		submit(self, STEP_CREATE);
}

/* The Lease was read: decides whether to write. */
static void judge(struct lease *self)
{
	struct err err = ERR_INIT;

	if (self->is_giving_up && !lease_is_ours(self)) {
		give_up_is_done(self, 0, NULL);
	} else if (is_anothers(self)) {
		/* a Lease that we renewed in time cannot be taken, so there is no reason to wait for the deadline */
		if (self->is_leading) {
			err_set(&err, 1, "held by %s", self->holder);
			report_failure(self, &err);
			stop_leading(self);
		}
		try_failed(self, NULL);
	} else {
		submit(self, STEP_UPDATE);
	}
}

static void step_done(void *context, const struct kube_result *result)
{
	struct lease *self = context;
	struct err err = result->err;
	bool has_new_holder = false;
	int r = result->code;

	self->call = NULL;
	if (!r && !result->object)
		r = err_set(&err, -EINVAL, "an empty answer");
	if (!r)
		r = lease_observe(self, result->object, &has_new_holder, &err);
	if (!r) {
		if (has_new_holder && self->config.new_leader)
			self->config.new_leader(self->config.context, self->holder);
		if (self->step == STEP_READ)
			judge(self);
		else
			try_succeeded(self);
	} else if (self->step == STEP_FAST_UPDATE || r == KUBE_ALREADY_EXISTS ||
		   (self->is_giving_up && r == KUBE_CONFLICT)) {
		submit(self, STEP_READ);
	} else if (r == KUBE_NOT_FOUND && (self->step == STEP_READ || self->is_giving_up)) {
		lease_is_absent(self);
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
		request.body = body = lease_make_body(self);
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
	submit(self, lease_is_ours(self) && is_valid(self) ? STEP_FAST_UPDATE : STEP_READ);
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
	arena_release(&self->arena);
	free(self);
}

void lease_leave(struct lease *self)
{
	kube_timer_stop(self->client, &self->next_try);
	kube_client_cancel(self->client, TAKE_PTR(self->call));
	self->is_giving_up = true;
	stop_leading(self);
	if (lease_is_ours(self))
		submit(self, STEP_READ); /* read first, because a write of ours may be under way */
	else
		give_up_is_done(self, 0, NULL);
}

bool lease_has_left(const struct lease *self)
{
	return self->is_given_up;
}

int lease_give_up(struct lease *self, int64_t timeout_ms, struct err *err)
{
	int64_t until_ms = time_monotonic_ms() + timeout_ms;
	int r = 0;

	lease_leave(self);
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
