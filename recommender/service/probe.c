/* SPDX-License-Identifier: Apache-2.0 */
#include "service/probe.h"

#include "base/json_write.h"
#include "base/limits.h"
#include "base/timefmt.h"
#include "k8s/keys.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#define OBJECT_NAME  "memtamer-probe"
#define WEBHOOK_NAME "probe.memtamer.io"
#define TIMEOUT_MS   (10 * TIME_SECOND_MS)

const char *const probe_result_names[PROBE_RESULT_COUNT_] = {
	[PROBE_REACHED] = "reached", [PROBE_NOT_CONFIGURED] = "not-configured", [PROBE_FAILED_OPEN] = "failed-open",
	[PROBE_REFUSED] = "refused", [PROBE_TIMED_OUT] = "timed-out",		[PROBE_NO_SERVER] = "no-server",
};

ATTR_PRINTF(3, 4) static void end(struct probe *self, enum probe_result result, const char *fmt, ...)
{
	va_list args;

	self->outcome.result = result;
	va_start(args, fmt);
	vsnprintf(self->outcome.text, sizeof(self->outcome.text), fmt, args);
	va_end(args);
	self->done(self->context, &self->outcome);
}

static const char *text_of(struct json_object *object, const char *key)
{
	struct json_object *value = json_member(object, key);

	return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : NULL;
}

/* ---- why the webhook did not answer ---- */

/* The probe's entry in the webhook configuration. NULL: there is none. */
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

static void configuration_done(void *context, const struct kube_result *result)
{
	struct probe *self = context;
	struct json_object *entry = find_entry(result->object);
	const char *bundle = text_of(json_member(entry, "clientConfig"), "caBundle");

	self->call = NULL;
	if (result->code == KUBE_NOT_FOUND)
		end(self, PROBE_NOT_CONFIGURED,
		    "there is no MutatingWebhookConfiguration %s: pods are created without memtamer (its kill switch "
		    "is "
		    "used, or it is not installed)",
		    self->configuration);
	else if (result->code)
		end(self, PROBE_FAILED_OPEN,
		    "the webhook did not answer the API server, and why is not known: MutatingWebhookConfiguration %s "
		    "cannot be read: %s",
		    self->configuration, result->err.msg);
	else if (!entry)
		end(self, PROBE_NOT_CONFIGURED, "MutatingWebhookConfiguration %s has no webhook named " WEBHOOK_NAME,
		    self->configuration);
	else
		end(self, PROBE_FAILED_OPEN,
		    "the webhook did not answer the API server, which fails open: pods are created without memtamer%s",
		    bundle && *bundle ? "" : "; its entry in the configuration has no caBundle yet");
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

	if (!self->configuration)
		end(self, PROBE_FAILED_OPEN, "the webhook did not answer the API server");
	else if (kube_client_submit(self->client, &request, &self->call, &err))
		end(self, PROBE_FAILED_OPEN, "the webhook did not answer the API server: %s", err.msg);
}

/* ---- the dry run ---- */

static void judge_failure(struct probe *self, const struct kube_result *result)
{
	if (result->code == KUBE_ALREADY_EXISTS)
		end(self, PROBE_REFUSED, "a ConfigMap named " OBJECT_NAME " is in the way in namespace %s: delete it",
		    self->namespace);
	else if (result->code == -ETIMEDOUT || result->code == KUBE_TIMEOUT)
		end(self, PROBE_TIMED_OUT, "the API server did not answer the dry run in time: %s", result->err.msg);
	else if (result->code < 0)
		end(self, PROBE_NO_SERVER, "the API server was not reached: %s", result->err.msg);
	else
		end(self, PROBE_REFUSED, "the API server refused the dry run: %s", result->err.msg);
}

static void dry_run_done(void *context, const struct kube_result *result)
{
	struct probe *self = context;
	struct json_object *metadata = json_member(result->object, "metadata");
	const char *pod = text_of(json_member(metadata, "annotations"), KEY_PROBED_BY);

	self->call = NULL;
	self->outcome.duration_ms = time_monotonic_ms() - self->begun_ms;
	if (result->code)
		judge_failure(self, result);
	else if (!pod)
		ask_why(self);
	else
		end(self, PROBE_REACHED, "the API server reaches the webhook: %.253s answered in %lld ms",
		    *pod ? pod : "a pod without a name", (long long)self->outcome.duration_ms);
}

/* NULL: out of memory. */
static struct json_object *make_object(const struct probe *self)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(4 * KIB);
	struct json_object *object = NULL;

	strbuf_adds(&text, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"" OBJECT_NAME "\"");
	json_write_text(&text, "namespace", self->namespace);
	strbuf_adds(&text, ",\"labels\":{\"" KEY_PROBE "\":\"true\"}}}");
	(void)!json_parse(strbuf_text(&text), text.len, 8, &object, NULL);
	return object;
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
	self->begun_ms = time_monotonic_ms();
	if (!r)
		r = kube_client_submit(self->client, &request, &self->call, &err);
	if (r)
		end(self, PROBE_NO_SERVER, "the dry run could not be sent: %s", err.msg);
}

void probe_cancel(struct probe *self)
{
	kube_client_cancel(self->client, TAKE_PTR(self->call));
}
