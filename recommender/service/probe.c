/* SPDX-License-Identifier: Apache-2.0 */
#include "service/probe.h"

#include "base/limits.h"
#include "base/timefmt.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

#define OBJECT_NAME  "memtamer-probe"
#define LABEL	     "memtamer.io/probe"
#define ANNOTATION   "memtamer.io/probed-by"
#define WEBHOOK_NAME "probe.memtamer.io"
#define TIMEOUT_MS   (10 * TIME_SECOND_MS)

const char *const probe_result_names[PROBE_RESULT_COUNT_] = {
	[PROBE_REACHED] = "reached", [PROBE_NOT_CONFIGURED] = "not-configured", [PROBE_FAILED_OPEN] = "failed-open",
	[PROBE_REFUSED] = "refused", [PROBE_TIMED_OUT] = "timed-out",		[PROBE_NO_SERVER] = "no-server",
};

static int64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

#define SAY(self, result_, ...)                                                                                        \
	do {                                                                                                           \
		(self)->outcome.result = (result_);                                                                    \
		snprintf((self)->outcome.text, sizeof((self)->outcome.text), __VA_ARGS__);                             \
	} while (0)

static void tell(struct probe *self)
{
	self->done(self->context, &self->outcome);
}

static const char *text_of(struct json_object *object, const char *key)
{
	struct json_object *value = json_member(object, key);

	return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : NULL;
}

/* ---- it was not the webhook that answered: why? ---- */

/* Our entry in the configuration; NULL: none. */
static struct json_object *find_entry(struct json_object *configuration)
{
	struct json_object *webhooks = json_member(configuration, "webhooks");
	size_t n = json_object_is_type(webhooks, json_type_array) ? json_object_array_length(webhooks) : 0;

	for (size_t i = 0; i < n; i++) {
		struct json_object *entry = json_object_array_get_idx(webhooks, i);

		if (streq(text_of(entry, "name"), WEBHOOK_NAME))
			return entry;
	}
	return NULL;
}

static void judge_configuration(struct probe *self, const struct kube_result *result)
{
	struct json_object *entry = find_entry(result->object);
	const char *bundle = text_of(json_member(entry, "clientConfig"), "caBundle");

	if (result->code == KUBE_NOT_FOUND)
		SAY(self, PROBE_NOT_CONFIGURED,
		    "there is no MutatingWebhookConfiguration %s: pods are made without memtamer (its kill switch is "
		    "used, "
		    "or it is not installed)",
		    self->configuration);
	else if (result->code)
		SAY(self, PROBE_FAILED_OPEN,
		    "the webhook did not answer the API server, and why is not known: MutatingWebhookConfiguration %s "
		    "cannot be read: %s",
		    self->configuration, result->err.msg);
	else if (!entry)
		SAY(self, PROBE_NOT_CONFIGURED, "MutatingWebhookConfiguration %s has no webhook named " WEBHOOK_NAME,
		    self->configuration);
	else
		SAY(self, PROBE_FAILED_OPEN,
		    "the webhook did not answer the API server, which goes on without it (fail open): pods are made "
		    "without memtamer%s",
		    bundle && *bundle ? "" : "; its entry in the configuration has no caBundle yet");
}

static void configuration_done(void *context, const struct kube_result *result)
{
	struct probe *self = context;

	self->call = NULL;
	judge_configuration(self, result);
	tell(self);
}

static void ask_why(struct probe *self)
{
	const struct kube_request request = {
		.verb = KUBE_GET,
		.resource = {"admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations"},
		.name = self->configuration,
		.timeout_ms = self->timeout_ms ? self->timeout_ms : TIMEOUT_MS,
		.is_tried_once = true,
		.done = configuration_done,
		.context = self,
	};
	struct err err = ERR_INIT;

	if (!self->configuration) {
		SAY(self, PROBE_FAILED_OPEN, "the webhook did not answer the API server");
		tell(self);
	} else if (kube_client_submit(self->client, &request, &self->call, &err)) {
		SAY(self, PROBE_FAILED_OPEN, "the webhook did not answer the API server: %s", err.msg);
		tell(self);
	}
}

/* ---- the dry run ---- */

static void judge_failure(struct probe *self, const struct kube_result *result)
{
	if (result->code == KUBE_ALREADY_EXISTS)
		SAY(self, PROBE_REFUSED, "a ConfigMap named " OBJECT_NAME " is in the way in namespace %s: delete it",
		    self->namespace);
	else if (result->code == -ETIMEDOUT || result->code == KUBE_TIMEOUT)
		SAY(self, PROBE_TIMED_OUT, "the API server did not answer the dry run in time: %s", result->err.msg);
	else if (result->code < 0)
		SAY(self, PROBE_NO_SERVER, "the API server was not reached: %s", result->err.msg);
	else
		SAY(self, PROBE_REFUSED, "the API server refused the dry run: %s", result->err.msg);
}

static void dry_run_done(void *context, const struct kube_result *result)
{
	struct probe *self = context;
	struct json_object *metadata = json_member(result->object, "metadata");
	const char *pod = text_of(json_member(metadata, "annotations"), ANNOTATION);

	self->call = NULL;
	self->outcome.duration_ns = monotonic_ns() - self->begun_ns;
	if (result->code) {
		judge_failure(self, result);
		tell(self);
	} else if (!pod) {
		ask_why(self);
	} else {
		SAY(self, PROBE_REACHED, "the API server reaches the webhook: %.253s answered in %lld ms",
		    *pod ? pod : "a pod without a name", (long long)(self->outcome.duration_ns / 1000000));
		tell(self);
	}
}

static struct json_object *make_object(const struct probe *self)
{
	CLEANUP(json_putp)
	struct json_object *object = json_object_new_object(), *metadata = json_object_new_object(),
			   *labels = json_object_new_object();
	int r = object && metadata && labels ? 0 : -ENOMEM;

	if (!r)
		r = json_add(object, "apiVersion", json_object_new_string("v1"));
	if (!r)
		r = json_add(object, "kind", json_object_new_string("ConfigMap"));
	if (!r)
		r = json_add(metadata, "name", json_object_new_string(OBJECT_NAME));
	if (!r)
		r = json_add(metadata, "namespace", json_object_new_string(self->namespace));
	if (!r)
		r = json_add(labels, LABEL, json_object_new_string("true"));
	if (!r)
		r = json_add(metadata, "labels", TAKE_PTR(labels));
	if (!r)
		r = json_add(object, "metadata", TAKE_PTR(metadata));
	return r ? NULL : TAKE_PTR(object);
}

void probe_begin(struct probe *self)
{
	CLEANUP(json_putp) struct json_object *object = make_object(self);
	struct kube_request request = {
		.verb = KUBE_CREATE,
		.resource = {"", "v1", "configmaps"},
		.namespace = self->namespace,
		.query = "dryRun=All&fieldManager=memtamer",
		.body = object,
		.timeout_ms = self->timeout_ms ? self->timeout_ms : TIMEOUT_MS,
		.is_tried_once = true,
		.done = dry_run_done,
		.context = self,
	};
	struct err err = ERR_INIT;
	int r = object ? 0 : err_set(&err, -ENOMEM, "out of memory");

	self->outcome = (struct probe_outcome){.result = PROBE_NO_SERVER};
	self->begun_ns = monotonic_ns();
	if (!r)
		r = kube_client_submit(self->client, &request, &self->call, &err);
	if (!r)
		return;
	SAY(self, PROBE_NO_SERVER, "the dry run could not be asked for: %s", err.msg);
	tell(self);
}

void probe_cancel(struct probe *self)
{
	kube_client_cancel(self->client, TAKE_PTR(self->call));
}
