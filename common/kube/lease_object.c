/* SPDX-License-Identifier: Apache-2.0 */
/* lease_object: the Lease as it is read and written. */
#include "kube/lease_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* As Go's MicroTime: six digits, or the API server refuses it. */
static const char *micro_time(int64_t time_ms, char *buf, size_t size)
{
	char whole[TIME_TEXT_BYTES];

	time_render(time_ms - time_ms % TIME_SECOND_MS, whole);
	snprintf(buf, size, "%.*s.%06lldZ", (int)strcspn(whole, "Z"), whole,
		 (long long)(time_ms % TIME_SECOND_MS * 1000));
	return buf;
}

/* The object as the server has it now. @return 0; -EINVAL. */
int lease_observe(struct lease *self, struct json_object *object, struct err *err)
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

/* What we want to be in the Lease: ours, or given up. */
static struct json_object *make_spec(const struct lease *self)
{
	char now[TIME_TEXT_BYTES + 8];
	bool keeps = lease_is_ours(self);
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

/* The body of a write: all of the Lease as it was, with our spec. */
struct json_object *lease_make_body(struct lease *self)
{
	struct json_object *body = NULL, *spec = make_spec(self);

	if (!spec)
		return NULL;
	if (self->step == STEP_CREATE)
		body = new_object(self);
	else if (json_object_deep_copy(self->object, &body, NULL))
		body = NULL;
	if (body && !json_add(body, "spec", TAKE_PTR(spec)))
		return body;
	json_object_put(spec);
	json_object_put(body);
	return NULL;
}
