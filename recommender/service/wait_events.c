/* SPDX-License-Identifier: Apache-2.0 */
#include "service/wait_events.h"

#include "base/str.h"
#include "base/timefmt.h"
#include "kube/kube_list.h"
#include "pods/pods.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct wait_events {
	struct kube_client *client;
	struct wait_events_config config;
	struct kube_list *list; /* in progress; NULL: none */
	struct pods_waiting pod;
	unsigned int lacks;
	int64_t since_ms;
};

static int64_t time_in(struct json_object *object, const char *name)
{
	const char *text = "";
	int64_t time_ms = 0;

	return json_get_string(object, "", name, &text, NULL) == 0 && !time_parse(text, strlen(text), &time_ms)
		       ? time_ms
		       : INT64_MAX;
}

/* When the Event was first recorded; covers Events of the old and of the new API. */
static int64_t first_time(struct json_object *event)
{
	return MIN(MIN(time_in(event, "firstTimestamp"), time_in(event, "eventTime")),
		   time_in(json_member(event, "metadata"), "creationTimestamp"));
}

/* Whether the Event is from Cluster Autoscaler or Karpenter. The scheduler uses the same reason for nodes that
 * exist. */
static bool is_of_autoscaler(const char *reason, const char *message)
{
	return streq(reason, "NotTriggerScaleUp") ||
	       (streq(reason, "FailedScheduling") && strstarts(message, "Failed to schedule pod"));
}

static int take_event(void *context, const struct kube_object *object, struct err *err)
{
	struct wait_events *self = context;
	const char *reason = "", *message = "";
	unsigned int lacks;

	(void)err;
	if (json_get_string(object->json, "", "reason", &reason, NULL) ||
	    json_get_string(object->json, "", "message", &message, NULL) || !is_of_autoscaler(reason, message))
		return 0;
	lacks = sighting_lacks(message);
	if (lacks)
		self->since_ms = MIN(self->since_ms, first_time(object->json));
	self->lacks |= lacks;
	return 0;
}

static void list_done(void *context, const struct kube_result *result, const char *resource_version)
{
	struct wait_events *self = context;

	(void)resource_version;
	kube_list_free(TAKE_PTR(self->list));
	if (result->code)
		self->config.failed(self->config.context, &result->err);
	else if (self->lacks)
		pods_note_lack(self->config.pods, &self->pod, self->lacks,
			       MIN(self->since_ms, kube_client_now_ms(self->client)));
}

void wait_events_turn(struct wait_events *self)
{
	char selector[sizeof(self->pod.uid) + 32];
	const struct kube_list_request request = {
		.selection = {.resource = {"", "v1", "events"},
			      .namespace = self->pod.namespace_name,
			      .field_selector = selector},
		.item = take_event,
		.done = list_done,
		.context = self,
	};
	struct err err = ERR_INIT;

	if (self->list ||
	    !pods_next_waiting(self->config.pods, kube_client_now_ms(self->client), self->config.after_ms, &self->pod))
		return;
	self->lacks = 0;
	self->since_ms = INT64_MAX;
	snprintf(selector, sizeof(selector), "involvedObject.uid=%s", self->pod.uid);
	if (kube_list_start(self->client, &request, &self->list, &err))
		self->config.failed(self->config.context, &err);
}

int wait_events_new(struct kube_client *client, const struct wait_events_config *config, struct wait_events **ret,
		    struct err *err)
{
	struct wait_events *self = calloc(1, sizeof(*self));

	if (!self)
		return err_set(err, -ENOMEM, "out of memory");
	self->client = client;
	self->config = *config;
	*ret = self;
	return 0;
}

void wait_events_free(struct wait_events *self)
{
	if (!self)
		return;
	kube_list_free(self->list);
	free(self);
}
