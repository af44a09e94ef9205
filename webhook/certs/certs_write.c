/* SPDX-License-Identifier: Apache-2.0 */
/* The steps as requests. Each is decided by what was read, and carries its resourceVersion: if the object has changed
 * since, the API server refuses it, and we read again. */
#include "certs/certs_internal.h"

#include "base/timefmt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BACKOFF_MIN_MS TIME_SECOND_MS
#define BACKOFF_MAX_MS TIME_MINUTE_MS
#define REQUEST_MS     (10 * TIME_SECOND_MS)
/* So often in a row a caBundle may be set right without delay though the Secret has not changed: others have reset it.
 */
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

/* A step failed. Another's write in between is ordinary. */
static void step_failed(struct certs *self, enum rotation_action action, const struct kube_result *result)
{
	struct err err = result->err;
	bool is_race = result->code == KUBE_CONFLICT || result->code == KUBE_ALREADY_EXISTS ||
		       result->code == KUBE_NOT_FOUND;

	if (is_race && self->failed_in_a_row < 3) {
		self->failed_in_a_row++; /* at once, but not for ever */
		return;
	}
	err_wrap(&err, "rotation of the certificates, step %s", rotation_action_names[action]);
	certs_fail(self, &err);
	pause_writes(self);
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
	certs_look_soon(self);
	if (result->code) {
		/* also where no answer came: it may have been written all the same */
		self->must_read_secret = true;
		step_failed(self, self->doing, result);
		return;
	}
	step_succeeded(self, self->doing, self->doing_why);
	certs_take_secret(self, result->object);
}

static void secret_read(void *context, const struct kube_result *result)
{
	struct certs *self = context;

	self->secret_call = NULL;
	certs_look_soon(self);
	if (result->code && result->code != KUBE_NOT_FOUND) {
		certs_fail(self, &result->err);
		pause_writes(self);
		return;
	}
	certs_take_secret(self, result->code ? NULL : result->object);
}

/* All that is in the Secret, to change it; by the same way as through the API server. */
static int copy_secret(const struct certs *self, struct material *ret, struct err *err)
{
	struct json_object *object = NULL;
	int r;

	if (self->secret.presence == ROTATION_ABSENT) {
		ret->presence = ROTATION_ABSENT;
		return 0;
	}
	r = material_encode(&self->secret, self->config.namespace, self->config.secret, &object, err);
	if (!r)
		r = material_decode(object, ret, err);
	material_put_object(object);
	return r;
}

static int adopt(const struct certs *self, const struct rotation_bundle *cas, struct material *fresh, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < cas->n && !r; i++) {
		const struct pki_cert *cert = NULL;

		for (size_t j = 0; j < CONFIGURATION_COUNT_ && !cert; j++)
			cert = bundles_find(&self->bundles[j], cas->certs[i].id);
		if (cert)
			r = material_adopt(fresh, cert, cas->certs[i].last_leaf_ms, err);
	}
	return r;
}

static int make_leaf(const struct certs *self, bool keeps_names, struct material *fresh, struct err *err)
{
	return material_make_leaf(fresh, self->config.server_names, keeps_names, kube_client_now_ms(self->client),
				  self->times.cert_lifetime_ms, err);
}

static int add_ca(const struct certs *self, const struct rotation_plan *plan, struct material *fresh, struct err *err)
{
	int r = material_add_ca(fresh, self->ca_name, kube_client_now_ms(self->client), self->times.ca_lifetime_ms,
				self->times.cert_lifetime_ms, err);

	if (!r)
		r = adopt(self, &plan->adopt, fresh, err);
	if (!r && plan->leaf == ROTATION_LEAF_MAKE)
		r = make_leaf(self, false, fresh, err);
	if (!r && plan->leaf == ROTATION_LEAF_IN_USE)
		r = material_set_leaf(fresh, &self->in_use, self->in_use_issuer, err);
	return r;
}

static int change(const struct certs *self, const struct rotation_plan *plan, struct material *fresh, struct err *err)
{
	switch (plan->action) {
	case ROTATION_CREATE:
	case ROTATION_ADD_CA:
		return add_ca(self, plan, fresh, err);
	case ROTATION_ADOPT:
		return adopt(self, &plan->adopt, fresh, err);
	case ROTATION_SWITCH_LEAF:
		return make_leaf(self, plan->keeps_names, fresh, err);
	case ROTATION_PRUNE:
		return material_prune(fresh, plan->prune_mask, err);
	default:
		return 0;
	}
}

static int write_secret(struct certs *self, const struct rotation_plan *plan, struct err *err)
{
	CLEANUP(material_release) struct material fresh = MATERIAL_INIT;
	struct kube_request request = {
		.verb = plan->action == ROTATION_CREATE ? KUBE_CREATE : KUBE_UPDATE,
		.resource = secrets,
		.namespace = self->config.namespace,
		.name = plan->action == ROTATION_CREATE ? NULL : self->config.secret,
		.timeout_ms = REQUEST_MS,
		.is_tried_once = true,
		.done = secret_written,
		.context = self,
	};
	int r = copy_secret(self, &fresh, err);

	if (!r)
		r = change(self, plan, &fresh, err);
	if (!r)
		r = material_encode(&fresh, self->config.namespace, self->config.secret, &request.body, err);
	if (r)
		return r;
	self->doing = plan->action;
	self->doing_why = plan->why;
	r = kube_client_submit(self->client, &request, &self->secret_call, err);
	material_put_object(request.body);
	return r;
}

/* ---- the configurations ---- */

/* Calls know which configuration they are about by their place. */
static void configuration_answered(struct certs *self, enum configuration_kind kind, const struct kube_result *result,
				   bool is_write)
{
	self->configuration_calls[kind] = NULL;
	certs_look_soon(self);
	if (result->code && !(result->code == KUBE_NOT_FOUND && !is_write)) {
		self->must_read[kind] = true;
		step_failed(self, ROTATION_FILL, result);
		return;
	}
	self->must_read[kind] = false;
	if (is_write)
		step_succeeded(self, ROTATION_FILL, configurations_name(self->configurations, kind));
	configurations_note(self->configurations, kind, result->code ? NULL : result->object);
}

static void mutating_written(void *context, const struct kube_result *result)
{
	configuration_answered(context, CONFIGURATION_MUTATING, result, true);
}

static void validating_written(void *context, const struct kube_result *result)
{
	configuration_answered(context, CONFIGURATION_VALIDATING, result, true);
}

static void mutating_read(void *context, const struct kube_result *result)
{
	configuration_answered(context, CONFIGURATION_MUTATING, result, false);
}

static void validating_read(void *context, const struct kube_result *result)
{
	configuration_answered(context, CONFIGURATION_VALIDATING, result, false);
}

static struct kube_request configuration_request(struct certs *self, enum configuration_kind kind, bool is_write)
{
	static kube_done_fn *const done[CONFIGURATION_COUNT_][2] = {
		[CONFIGURATION_MUTATING] = {mutating_read, mutating_written},
		[CONFIGURATION_VALIDATING] = {validating_read, validating_written},
	};

	return (struct kube_request){
		.verb = is_write ? KUBE_JSON_PATCH : KUBE_GET,
		.resource = configuration_resources[kind],
		.name = configurations_name(self->configurations, kind),
		.timeout_ms = REQUEST_MS,
		.is_tried_once = true,
		.done = done[kind][is_write],
		.context = self,
	};
}

/* How long to wait before setting it right again, because others keep on changing it. */
static int64_t fill_delay_ms(struct certs *self, enum configuration_kind kind)
{
	int64_t now_ms = time_monotonic_ms(), delay_ms;
	bool is_new = !streq(self->fills[kind].secret_version, self->secret.resource_version);

	if (is_new || now_ms > self->fills[kind].last_ms + FILLS_RESET_MS)
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
	free(self->fills[kind].secret_version);
	self->fills[kind].secret_version = strdup(self->secret.resource_version ? self->secret.resource_version : "");
	if (self->fills[kind].streak != FILLS_AT_ONCE + 1)
		return;
	err_set(&err, -EAGAIN,
		"something else keeps changing caBundle of %s %s; it is set right less often from now on",
		configuration_kinds[kind], configurations_name(self->configurations, kind));
	certs_fail(self, &err);
}

/* @return 0; 1 not now, look again at not_before_ms. */
static int fill(struct certs *self, const struct rotation_view *view, enum configuration_kind kind, struct err *err)
{
	CLEANUP(json_putp) struct json_object *patch = NULL;
	struct kube_request request = configuration_request(self, kind, true);
	int64_t delay_ms = fill_delay_ms(self, kind);
	int r;

	if (delay_ms > 0) {
		kube_timer_set(self->client, &self->look, delay_ms);
		return 1;
	}
	r = bundles_patch(&self->bundles[kind], view, &self->secret, &patch, err);
	if (r)
		return r;
	request.body = patch;
	note_fill(self, kind);
	return kube_client_submit(self->client, &request, &self->configuration_calls[kind], err);
}

/* ---- both ---- */

static bool read_again(struct certs *self, const struct kube_request *request, struct kube_call **ret)
{
	struct err err = ERR_INIT;

	if (!kube_client_submit(self->client, request, ret, &err))
		return true;
	certs_fail(self, &err);
	return false;
}

bool certs_reread(struct certs *self)
{
	const struct kube_request secret = {
		.verb = KUBE_GET,
		.resource = secrets,
		.namespace = self->config.namespace,
		.name = self->config.secret,
		.timeout_ms = REQUEST_MS,
		.is_tried_once = true,
		.done = secret_read,
		.context = self,
	};
	bool is_reading = false;

	if (self->must_read_secret)
		is_reading = read_again(self, &secret, &self->secret_call);
	for (size_t i = 0; i < CONFIGURATION_COUNT_; i++) {
		struct kube_request request = configuration_request(self, (enum configuration_kind)i, false);

		if (self->must_read[i] && request.name)
			is_reading |= read_again(self, &request, &self->configuration_calls[i]);
	}
	return is_reading;
}

void certs_do(struct certs *self, const struct rotation_view *view, const struct rotation_plan *plan)
{
	struct err err = ERR_INIT;
	int r = 0;

	if (plan->action != ROTATION_FILL)
		r = write_secret(self, plan, &err);
	for (size_t i = 0; i < CONFIGURATION_COUNT_ && r >= 0; i++)
		if (plan->fill_mask & (1u << i))
			r = fill(self, view, (enum configuration_kind)i, &err);
	if (r >= 0)
		return;
	err_wrap(&err, "rotation of the certificates, step %s", rotation_action_names[plan->action]);
	certs_fail(self, &err);
	pause_writes(self);
}
