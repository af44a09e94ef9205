/* SPDX-License-Identifier: Apache-2.0 */
/* The steps as requests. Each step is decided by what was read and carries its resourceVersion. If the object has
 * changed since, the API server refuses the write, and the next step is decided when the watch delivers the change. */
#include "certs/certs_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BACKOFF_MIN_MS TIME_SECOND_MS
#define BACKOFF_MAX_MS TIME_MINUTE_MS
#define REQUEST_MS     (10 * TIME_SECOND_MS)
/* After so many conflicts without a success in between the object is listed anew, as its watch may be silent
 * (reflector_list_again); further ones are reported as failures, too. */
#define RACES_IN_A_ROW 3
/* So many consecutive writes of a caBundle are done without a delay although the Secret has not changed, which means
 * that others have overwritten it. */
#define FILLS_AT_ONCE  5
#define FILLS_RESET_MS (5 * TIME_MINUTE_MS)

static const struct kube_resource secrets = {"", "v1", "secrets"};

bool certs_is_busy(const struct certs *self)
{
	bool is_busy = self->secret_call != NULL;

	for (size_t i = 0; i < CONFIGURATION_COUNT_; i++)
		is_busy |= self->configuration_calls[i] != NULL;
	return is_busy;
}

void certs_cancel(struct certs *self)
{
	kube_client_cancel(self->client, TAKE_PTR(self->secret_call));
	for (size_t i = 0; i < CONFIGURATION_COUNT_; i++)
		kube_client_cancel(self->client, TAKE_PTR(self->configuration_calls[i]));
}

static void pause_writes(struct certs *self)
{
	int64_t high_ms = MIN(BACKOFF_MAX_MS, BACKOFF_MIN_MS << MIN(self->failed_in_a_row, 10u));

	self->failed_in_a_row++;
	self->not_before_ms = time_monotonic_ms() + kube_client_random(self->client, high_ms / 2, high_ms + 1);
}

/* A step failed. A conflict with another writer is ordinary. @return whether what was written must be listed anew. */
static bool step_failed(struct certs *self, enum rotation_action action, const struct kube_result *result)
{
	struct err err = result->err;
	bool is_race = result->code == KUBE_CONFLICT || result->code == KUBE_ALREADY_EXISTS ||
		       result->code == KUBE_NOT_FOUND;

	self->is_overtaken = is_race && self->failed_in_a_row < RACES_IN_A_ROW;
	pause_writes(self);
	if (!self->is_overtaken) {
		err_wrap(&err, "rotation of the certificates, step %s", rotation_action_names[action]);
		certs_fail(self, &err);
	}
	return is_race && self->failed_in_a_row >= RACES_IN_A_ROW;
}

static void step_succeeded(struct certs *self, enum rotation_action action, const char *why)
{
	self->failed_in_a_row = 0;
	self->not_before_ms = 0;
	self->state.steps[action]++;
	certs_is_well(self);
	if (self->config.stepped)
		self->config.stepped(self->config.context, action, why);
}

/* ---- the Secret ---- */

static void secret_written(void *context, const struct kube_result *result)
{
	struct certs *self = context;

	self->secret_call = NULL;
	certs_decide_soon(self);
	if (result->code) {
		/* without an answer, too, the watch says whether the write has succeeded */
		if (step_failed(self, self->doing, result))
			reflector_list_again(self->secret_watch);
		return;
	}
	step_succeeded(self, self->doing, self->doing_why);
	certs_take_secret(self, CERTS_ANSWER, result->object);
}

static int write_secret(struct certs *self, const struct rotation_view *view, const struct rotation_plan *plan,
			struct err *err)
{
	struct kube_request request = {
		.verb = plan->action == ROTATION_CREATE ? KUBE_CREATE : KUBE_UPDATE,
		.resource = secrets,
		.namespace = self->names.namespace,
		.name = plan->action == ROTATION_CREATE ? NULL : self->names.secret,
		.timeout_ms = REQUEST_MS,
		.is_tried_once = true,
		.done = secret_written,
		.context = self,
	};
	int r = tls_secret_encode(&self->secret, &self->names, view, plan, &self->in_use, &request.body, err);

	if (r)
		return r;
	self->doing = plan->action;
	self->doing_why = plan->why;
	r = kube_client_submit(self->client, &request, &self->secret_call, err);
	tls_secret_put_object(request.body);
	return r;
}

/* ---- the configurations ---- */

static void configuration_written(void *context, const struct kube_result *result)
{
	const struct certs_request *request = context;
	struct certs *self = request->certs;
	enum configuration_kind kind = request->kind;

	self->configuration_calls[kind] = NULL;
	certs_decide_soon(self);
	if (result->code) {
		if (step_failed(self, ROTATION_FILL, result))
			configurations_list_again(self->configurations, kind);
		return;
	}
	step_succeeded(self, ROTATION_FILL, configurations_name(self->configurations, kind));
	configurations_note(self->configurations, kind, result->object);
}

/* The delay before the next write of a caBundle that others keep changing; <=0: none. */
static int64_t fill_delay_ms(struct certs *self, enum configuration_kind kind)
{
	int64_t now_ms = time_monotonic_ms(), delay_ms;

	if (now_ms > self->fills[kind].last_ms + FILLS_RESET_MS)
		self->fills[kind].streak = 0;
	if (self->fills[kind].streak < FILLS_AT_ONCE)
		return 0;
	delay_ms = MIN(BACKOFF_MAX_MS, BACKOFF_MIN_MS << MIN(self->fills[kind].streak - FILLS_AT_ONCE, 10u));
	return self->fills[kind].last_ms + delay_ms - now_ms;
}

static void note_fill(struct certs *self, enum configuration_kind kind)
{
	struct err err = ERR_INIT;

	self->fills[kind].streak++;
	self->fills[kind].last_ms = time_monotonic_ms();
	if (self->fills[kind].streak != FILLS_AT_ONCE + 1)
		return;
	err_set(&err, -EAGAIN,
		"something else keeps changing caBundle of %s %s; it is set right less often from now on",
		configuration_kinds[kind], configurations_name(self->configurations, kind));
	certs_fail(self, &err);
}

/* @return 0; 1 nothing to write, or not before a delay; <0. */
static int fill(struct certs *self, const struct rotation_view *view, enum configuration_kind kind, struct err *err)
{
	CLEANUP(json_putp) struct json_object *patch = NULL;
	struct kube_request request = {
		.verb = KUBE_JSON_PATCH,
		.resource = configuration_resources[kind],
		.name = configurations_name(self->configurations, kind),
		.timeout_ms = REQUEST_MS,
		.is_tried_once = true,
		.done = configuration_written,
		.context = &self->configuration_requests[kind],
	};
	int64_t delay_ms = fill_delay_ms(self, kind);
	int r;

	if (delay_ms > 0) {
		kube_timer_set(self->client, &self->decide, delay_ms);
		return 1;
	}
	r = bundles_patch(&self->bundles[kind], view, &self->secret, &patch, err);
	if (r)
		return r;
	request.body = patch;
	self->configuration_requests[kind] = (struct certs_request){self, kind};
	note_fill(self, kind);
	return kube_client_submit(self->client, &request, &self->configuration_calls[kind], err);
}

/* ---- both ---- */

void certs_do(struct certs *self, const struct rotation_view *view, const struct rotation_plan *plan)
{
	struct err err = ERR_INIT;
	int r = 0;

	if (plan->action != ROTATION_FILL)
		r = write_secret(self, view, plan, &err);
	for (size_t i = 0; i < CONFIGURATION_COUNT_ && r >= 0; i++)
		if (plan->fill_mask & (1u << i))
			r = fill(self, view, (enum configuration_kind)i, &err);
	if (r >= 0)
		return;
	err_wrap(&err, "rotation of the certificates, step %s", rotation_action_names[plan->action]);
	certs_fail(self, &err);
	pause_writes(self);
}
