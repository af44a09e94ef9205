/* SPDX-License-Identifier: Apache-2.0 */
/* The known state of the Secret and of both configurations, and the last failure. */
#include "certs/certs_internal.h"

#include <string.h>

void certs_fail(struct certs *self, const struct err *why)
{
	self->state.failures++;
	self->state.last_error = *why;
	if (streq(self->reported, why->msg))
		return;
	memcpy(self->reported, why->msg, sizeof(self->reported));
	if (self->config.failed)
		self->config.failed(self->config.context, why);
}

void certs_is_well(struct certs *self)
{
	self->state.last_error = (struct err)ERR_INIT;
	self->reported[0] = '\0';
}

void certs_decide_soon(struct certs *self)
{
	kube_timer_set(self->client, &self->decide, 0);
}

void certs_view(const struct certs *self, struct rotation_view *ret)
{
	*ret = (struct rotation_view){
		.now_ms = kube_client_now_ms(self->client),
		.monotonic_ms = time_monotonic_ms(),
		.times = self->times,
		.secret = self->secret.facts,
		.in_use = self->in_use_facts,
		.known = self->known,
	};
	for (size_t i = 0; i < CONFIGURATION_COUNT_; i++) {
		ret->configurations[i] = (struct rotation_configuration){
			.presence = self->bundles[i].presence,
			.entries = self->bundles[i].facts,
			.n_entries = self->bundles[i].n,
		};
		ret->coverage[i] = self->coverage[i];
	}
}

/* The certificates of a configuration that matter depend on the Secret, too. */
static void observe(struct certs *self, enum configuration_kind kind)
{
	struct bundles *bundles = &self->bundles[kind];
	struct rotation_configuration facts;

	bundles_choose(bundles, self->names.ca, &self->secret.cas);
	facts = (struct rotation_configuration){bundles->presence, bundles->facts, bundles->n};
	rotation_observe(&self->coverage[kind], &facts, time_monotonic_ms());
}

/* A new version was read: a step that was overtaken can be decided again. */
static void end_pause(struct certs *self)
{
	if (self->is_overtaken)
		self->not_before_ms = 0;
	self->is_overtaken = false;
	certs_decide_soon(self);
}

/* Events come in their order, so one that is older than the last known Secret was under way when an answer came. */
static bool is_overtaken(const struct certs *self, enum certs_source source, const struct tls_secret *fresh)
{
	if (source == CERTS_LIST || (source == CERTS_EVENT && !self->is_answered))
		return false;
	return fresh->object && self->secret.object && streq(fresh->uid, self->secret.uid) &&
	       configurations_is_older(fresh->resource_version, self->secret.resource_version);
}

void certs_take_secret(struct certs *self, enum certs_source source, struct json_object *object)
{
	struct tls_secret fresh = TLS_SECRET_INIT;
	struct err err = ERR_INIT;
	int r = tls_secret_decode(object, &self->names, &fresh, &err);

	self->is_secret_undecoded = r != 0;
	if (!r && is_overtaken(self, source, &fresh)) {
		tls_secret_release(&fresh);
		return;
	}
	if (r) {
		certs_fail(self, &err);
		kube_timer_set(self->client, &self->decide, CERTS_RETRY_MS);
		return;
	}
	for (size_t i = 0; i < CONFIGURATION_COUNT_; i++)
		if (!streq(fresh.resource_version, self->secret.resource_version))
			self->fills[i].streak = 0;
	self->is_answered = source == CERTS_ANSWER &&
			    (self->is_answered || !streq(fresh.resource_version, self->secret.resource_version));
	tls_secret_keep_ends(&fresh, &self->secret);
	tls_secret_release(&self->secret);
	self->secret = fresh;
	rotation_observe_secret(&self->known, &fresh.facts, time_monotonic_ms());
	for (size_t i = 0; i < CONFIGURATION_COUNT_; i++)
		observe(self, (enum configuration_kind)i);
	if (fresh.complaint.code)
		certs_fail(self, &fresh.complaint);
	end_pause(self);
}

void certs_take_configuration(struct certs *self, enum configuration_kind kind, struct json_object *object)
{
	struct bundles fresh = BUNDLES_INIT;
	struct err err = ERR_INIT;
	int r = bundles_decode(object, self->names.ca, &fresh, &err);

	self->is_undecoded[kind] = r != 0;
	if (r) {
		err_wrap(&err, "%s %s", configuration_kinds[kind], configurations_name(self->configurations, kind));
		certs_fail(self, &err);
		kube_timer_set(self->client, &self->decide, CERTS_RETRY_MS);
		return;
	}
	bundles_release(&self->bundles[kind]);
	self->bundles[kind] = fresh;
	observe(self, kind);
	end_pause(self);
}
