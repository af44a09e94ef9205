/* SPDX-License-Identifier: Apache-2.0 */
/* lease_object: reads and writes the Lease as JSON. */
#include "kube/lease_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Writes a time as Go's MicroTime; the API server requires six digits. */
static const char *micro_time(int64_t time_ms, char *buf, size_t size)
{
	char whole[TIME_TEXT_BYTES];

	time_render(time_ms - time_ms % TIME_SECOND_MS, whole);
	snprintf(buf, size, "%.*s.%06lldZ", (int)strcspn(whole, "Z"), whole,
		 (long long)(time_ms % TIME_SECOND_MS * 1000));
	return buf;
}

int lease_observe(struct lease *self, struct json_object *object, bool *ret_has_new_holder, struct err *err)
{
	struct json_object *spec = NULL;
	const char *holder = "", *acquired = "", *renewed = "";
	int64_t duration_s = 0, transitions = 0;
	char record[LEASE_RECORD_BYTES];
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
	*ret_has_new_holder = !self->object || !streq(holder, self->holder);
	snprintf(self->record, sizeof(self->record), "%s", record);
	snprintf(self->holder, sizeof(self->holder), "%s", holder);
	snprintf(self->acquire_time, sizeof(self->acquire_time), "%s", acquired);
	self->duration_ms = MIN(MAX(duration_s, 0), INT32_MAX) * TIME_SECOND_MS;
	self->transitions = transitions;
	json_object_get(object);
	json_object_put(self->object);
	self->object = object;
	return 0;
}

struct json_object *lease_make_body(struct lease *self)
{
	bool is_first = self->step == STEP_CREATE, is_ours = lease_is_ours(self), is_release = self->is_giving_up;
	int64_t duration_s = is_release ? 1 : MAX(1, self->config.lease_ms / TIME_SECOND_MS);
	int64_t transitions = is_first ? 0 : self->transitions + !(is_ours || is_release);
	struct json_object *body = NULL;
	char now[TIME_TEXT_BYTES + 8];

	micro_time(kube_client_now_ms(self->client), now, sizeof(now));
	if (is_first)
		body = json_object_new_object();
	else if (json_object_deep_copy(self->object, &body, NULL))
		return NULL;
	json_set_text(&body, "apiVersion", "coordination.k8s.io/v1");
	json_set_text(&body, "kind", "Lease");
	json_set_text(&body, "metadata.name", is_first ? self->config.name : NULL);
	json_set_text(&body, "metadata.namespace", is_first ? self->config.namespace : NULL);
	json_set(&body, "spec", json_object_new_object());
	json_set_text(&body, "spec.holderIdentity", is_release ? "" : self->config.identity);
	json_set(&body, "spec.leaseDurationSeconds", json_object_new_int64(duration_s));
	json_set_text(&body, "spec.acquireTime",
		      is_ours && !is_release && *self->acquire_time ? self->acquire_time : now);
	json_set_text(&body, "spec.renewTime", now);
	json_set(&body, "spec.leaseTransitions", json_object_new_int64(transitions));
	return body;
}
