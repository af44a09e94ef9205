/* SPDX-License-Identifier: Apache-2.0 */
/* Events (the Secret, a configuration, the Lease, a timer, the end of a request) lead to one look, which decides anew
 * from all that is known. Nothing is remembered of a rotation but what stands in the objects. */
#include "certs/certs_internal.h"

#include "base/hash.h"
#include "base/timefmt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST_LOOK_MS TIME_HOUR_MS
#define LEAVE_LOOK_MS	200
#define RETRY_MS	TIME_SECOND_MS
#define GIVE_UP_MS	TIME_SECOND_MS
#define PERMILLE	1000
#define LEASE_MS	(15 * TIME_SECOND_MS)
#define LEASE_MIN_MS	(3 * TIME_SECOND_MS)
#define LEASE_PART	12 /* of a life */
/* A clock that is further off makes nothing: others would not believe in what it signs. */
#define CLOCK_OFF_MIN_MS  (10 * TIME_SECOND_MS)
#define CLOCK_OFF_WAIT_MS TIME_MINUTE_MS

static const struct kube_resource secrets = {"", "v1", "secrets"};

void certs_fail(struct certs *self, const struct err *why)
{
	self->state.failures++;
	self->state.last_error = *why;
	if (streq(self->told, why->msg))
		return;
	memcpy(self->told, why->msg, sizeof(self->told));
	if (self->config.failed)
		self->config.failed(self->config.context, why);
}

void certs_is_well(struct certs *self)
{
	self->state.last_error = (struct err)ERR_INIT;
	self->told[0] = '\0';
}

static bool certs_must_read(const struct certs *self)
{
	bool must = self->must_read_secret;

	for (size_t i = 0; i < CONFIGURATION_COUNT_; i++)
		must |= self->must_read[i];
	return must;
}

void certs_look_soon(struct certs *self)
{
	kube_timer_set(self->client, &self->look, 0);
}

void certs_view(const struct certs *self, struct rotation_view *ret)
{
	*ret = (struct rotation_view){
		.now_ms = kube_client_now_ms(self->client),
		.monotonic_ms = time_monotonic_ms(),
		.times = self->times,
	};
	material_facts(&self->secret, self->ca_name, self->config.server_names, &ret->secret);
	ret->known = self->known;
	material_leaf_facts(&self->in_use, self->in_use_issuer, NULL, &ret->in_use);
	for (size_t i = 0; i < CONFIGURATION_COUNT_; i++) {
		ret->configurations[i] = (struct rotation_configuration){
			.presence = self->bundles[i].presence,
			.entries = self->bundles[i].facts,
			.n_entries = self->bundles[i].n,
		};
		ret->coverage[i] = self->coverage[i];
	}
}

/* ---- what is seen ---- */

/* What of a configuration counts depends on the Secret too. */
static void observe(struct certs *self, enum configuration_kind kind)
{
	struct bundles *bundles = &self->bundles[kind];
	struct rotation_configuration facts;

	bundles_choose(bundles, self->ca_name, &self->secret.cas);
	facts = (struct rotation_configuration){bundles->presence, bundles->facts, bundles->n};
	rotation_observe(&self->coverage[kind], &facts, time_monotonic_ms());
}

void certs_take_secret(struct certs *self, struct json_object *object)
{
	struct material fresh = MATERIAL_INIT;
	struct rotation_secret facts;
	struct err err = ERR_INIT;
	int r = material_decode(object, &fresh, &err);

	self->must_read_secret = r != 0;
	if (!r && fresh.rest && self->secret.rest && streq(fresh.uid, self->secret.uid) &&
	    configurations_is_older(fresh.resource_version, self->secret.resource_version)) {
		material_release(&fresh);
		return;
	}
	if (r) {
		certs_fail(self, &err);
		kube_timer_set(self->client, &self->look, RETRY_MS);
		return;
	}
	material_remember(&fresh, &self->secret);
	material_release(&self->secret);
	self->secret = fresh;
	material_facts(&self->secret, self->ca_name, NULL, &facts);
	rotation_observe_secret(&self->known, &facts, time_monotonic_ms());
	for (size_t i = 0; i < CONFIGURATION_COUNT_; i++)
		observe(self, (enum configuration_kind)i);
	if (fresh.complaint.code)
		certs_fail(self, &fresh.complaint);
	certs_look_soon(self);
}

static void secret_seen(void *context, const struct kube_object *object)
{
	certs_take_secret(context, object->json);
}

static void secret_gone(void *context, const struct kube_object *object)
{
	struct certs *self = context;

	if (self->secret.rest && configurations_is_older(object->resource_version, self->secret.resource_version))
		return;
	certs_take_secret(self, NULL);
}

static void secret_synced(void *context)
{
	struct certs *self = context;

	if (self->secret.presence == ROTATION_UNREAD)
		certs_take_secret(self, NULL);
}

static void secret_failed(void *context, const struct err *why, int64_t retry_ms)
{
	struct err err = *why;

	(void)retry_ms;
	err_wrap(&err, "the Secret cannot be watched");
	certs_fail(context, &err);
}

static void configuration_seen(void *context, enum configuration_kind kind, struct json_object *object)
{
	struct certs *self = context;
	struct bundles fresh = BUNDLES_INIT;
	struct err err = ERR_INIT;
	int r = bundles_decode(object, self->ca_name, &fresh, &err);

	self->must_read[kind] = r != 0;
	if (r) {
		err_wrap(&err, "%s %s", configuration_kinds[kind], configurations_name(self->configurations, kind));
		certs_fail(self, &err);
		kube_timer_set(self->client, &self->look, RETRY_MS);
		return;
	}
	bundles_release(&self->bundles[kind]);
	self->bundles[kind] = fresh;
	observe(self, kind);
	certs_look_soon(self);
}

/* ---- the Lease ---- */

static void lease_started(void *context)
{
	struct certs *self = context;

	self->is_leading = true;
	certs_look_soon(self);
}

static void lease_stopped(void *context)
{
	((struct certs *)context)->is_leading = false;
}

static void lease_failed(void *context, const struct err *why)
{
	struct certs *self = context;
	struct err err = *why;

	if (why->code == KUBE_CONFLICT || why->code == KUBE_ALREADY_EXISTS || self->is_leaving)
		return; /* another was quicker */
	err_wrap(&err, "the Lease of the rotation");
	certs_fail(self, &err);
}

static void take_lease(struct certs *self)
{
	int64_t shorter_ms = MIN(self->times.cert_lifetime_ms, self->times.ca_lifetime_ms);
	/* whoever dies in the middle must be replaced before what is served ends */
	int64_t lease_ms = MIN(LEASE_MS, MAX(LEASE_MIN_MS, shorter_ms / LEASE_PART));
	const struct lease_config config = {
		.namespace = self->config.namespace,
		.name = self->config.secret,
		.identity = self->config.identity,
		.started = lease_started,
		.stopped = lease_stopped,
		.lease_ms = lease_ms,
		.renew_deadline_ms = lease_ms / 3 * 2,
		.retry_ms = lease_ms * 2 / 15,
		.failed = lease_failed,
		.context = self,
	};
	struct err err = ERR_INIT;

	if (!self->lease && lease_start(self->client, &config, &self->lease, &err))
		certs_fail(self, &err);
}

/* True: our clock is wrong. Somebody else has to do it. */
static bool has_wrong_clock(struct certs *self)
{
	int64_t ahead_ms = 0, most_ms = MAX(CLOCK_OFF_MIN_MS, self->times.skew_ms / 4);
	struct err err = ERR_INIT;
	char text[TIME_TEXT_BYTES];

	if (!lease_clock_ahead(self->lease, &ahead_ms) || (ahead_ms <= most_ms && ahead_ms >= -most_ms))
		return false;
	/* in steps, so that it is told once and not every time */
	ahead_ms -= ahead_ms % most_ms;
	err_set(&err, -ETIME, "our clock is %s %s the API server's: no certificates are made here",
		duration_render(ahead_ms < 0 ? -ahead_ms : ahead_ms, text), ahead_ms < 0 ? "behind" : "ahead of");
	certs_fail(self, &err);
	self->not_before_ms = time_monotonic_ms() + CLOCK_OFF_WAIT_MS;
	return true;
}

static void leave_lease(struct certs *self)
{
	if (!self->lease || self->is_leaving)
		return;
	self->is_leaving = true;
	lease_leave(self->lease);
	kube_timer_set(self->client, &self->lease_end, LEAVE_LOOK_MS);
}

static void lease_may_have_ended(void *context)
{
	struct certs *self = context;

	if (!lease_has_left(self->lease)) {
		kube_timer_set(self->client, &self->lease_end, LEAVE_LOOK_MS);
		return;
	}
	lease_free(TAKE_PTR(self->lease));
	self->is_leaving = false;
	certs_look_soon(self);
}

/* ---- looking ---- */

static int copy_pair(const struct pki_pair *pair, struct pki_pair *ret, struct err *err)
{
	struct pki_pair copy = {strdup(pair->cert_pem), strdup(pair->key_pem)};

	if (!copy.cert_pem || !copy.key_pem) {
		pki_pair_release(&copy);
		return err_set(err, -ENOMEM, "out of memory");
	}
	*ret = copy;
	return 0;
}

static int use_leaf(struct certs *self)
{
	struct pki_pair copy = PKI_PAIR_INIT;
	struct err err = ERR_INIT;
	int r = copy_pair(&self->secret.leaf, &copy, &err);

	if (!r)
		r = self->config.use(self->config.context, copy.cert_pem, copy.key_pem, &err);
	if (r) {
		pki_pair_release(&copy);
		certs_fail(self, &err);
		return r;
	}
	pki_pair_release(&self->in_use);
	self->in_use = copy;
	memcpy(self->in_use_issuer, self->secret.leaf_issuer, sizeof(self->in_use_issuer));
	self->state.is_serving = true;
	if (pki_read_validity(copy.cert_pem, &(int64_t){0}, &self->state.leaf_until_ms, NULL))
		self->state.leaf_until_ms = 0;
	return 0;
}

/* @param ret_wake_ms  when to look again. @return 0, also for nothing to do; else what was told. */
static int consider_leaf(struct certs *self, const struct rotation_view *view, int64_t *ret_wake_ms)
{
	int r;

	*ret_wake_ms = INT64_MAX;
	if (!self->secret.leaf.cert_pem || streq(self->secret.leaf.cert_pem, self->in_use.cert_pem) ||
	    !rotation_may_use(view, ret_wake_ms))
		return 0;
	r = use_leaf(self);
	*ret_wake_ms = r ? RETRY_MS : INT64_MAX;
	return r;
}

/* When there is work that the Lease is needed for: after the pause if it is ours; else its news lead here again. */
static int64_t work_wake_ms(const struct certs *self, int64_t pause_ms)
{
	if (!self->lease)
		return MAX(pause_ms, 0);
	if (!self->is_leading || self->is_leaving)
		return INT64_MAX;
	/* not renewed of late: a renewal that comes yet is no news */
	return lease_is_leader(self->lease) ? MAX(pause_ms, 0) : RETRY_MS;
}

static void look(void *context)
{
	struct certs *self = context;
	struct rotation_view view;
	struct rotation_plan plan;
	int64_t leaf_ms, wake_ms, pause_ms;
	int use_code;

	if (certs_is_busy(self))
		return; /* its end leads here again */
	certs_view(self, &view);
	use_code = consider_leaf(self, &view, &leaf_ms);
	certs_view(self, &view);
	rotation_decide(&view, &plan);
	self->state.action = plan.action;
	self->state.why = plan.why;
	self->state.ca_until_ms = view.secret.cas.n ? view.secret.cas.certs[0].until_ms : 0;
	pause_ms = self->not_before_ms - view.monotonic_ms;
	wake_ms = plan.wake_ms;
	if (plan.action == ROTATION_WAIT) {
		leave_lease(self);
	} else if (plan.action != ROTATION_SETTLE) {
		if (self->lease || pause_ms <= 0)
			take_lease(self);
		wake_ms = work_wake_ms(self, pause_ms);
	}
	if (certs_must_read(self))
		wake_ms = MIN(wake_ms, MAX(pause_ms, 0));
	else if (plan.action == ROTATION_WAIT && !self->secret.complaint.code && !use_code)
		certs_is_well(self);
	/* first: what is done may look again at once. The leaf waits for nobody's Lease. */
	wake_ms = MIN(wake_ms, leaf_ms);
	kube_timer_set(self->client, &self->look, MIN(MAX(wake_ms, 1), LONGEST_LOOK_MS));
	if (pause_ms > 0 || certs_reread(self))
		return;
	if (plan.action == ROTATION_WAIT || plan.action == ROTATION_SETTLE || !self->is_leading || self->is_leaving ||
	    !lease_is_leader(self->lease))
		return;
	if (has_wrong_clock(self))
		leave_lease(self);
	else
		certs_do(self, &view, &plan);
}

/* ---- life ---- */

static int copy_config(struct certs *self, const struct certs_config *config)
{
	const char **texts[] = {&self->config.namespace, &self->config.secret, &self->config.identity};
	const char **names;
	size_t n = 0;

	self->config = *config;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		if (!(*texts[i] = arena_strdup(&self->arena, *texts[i])))
			return -ENOMEM;
	while (config->server_names && config->server_names[n])
		n++;
	names = arena_array(&self->arena, n + 1, sizeof(*names));
	if (!names)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (!(names[i] = arena_strdup(&self->arena, config->server_names[i])))
			return -ENOMEM;
	self->config.server_names = names;
	return 0;
}

static int watch_secret(struct certs *self, struct err *err)
{
	struct reflector_config config = {
		.selection = {.resource = secrets, .namespace = self->config.namespace},
		.added = secret_seen,
		.modified = secret_seen,
		.deleted = secret_gone,
		.synced = secret_synced,
		.failed = secret_failed,
		.context = self,
	};

	/* with a name in it, a role that names its resources lets a list through */
	config.selection.field_selector = arena_printf(&self->arena, "metadata.name=%s", self->config.secret);
	if (!config.selection.field_selector)
		return err_set(err, -ENOMEM, "out of memory");
	return reflector_start(self->client, &config, &self->secret_watch, err);
}

int certs_start(struct kube_client *client, struct configurations *configurations, const struct certs_config *config,
		struct certs **ret, struct err *err)
{
	struct certs *self;
	uint64_t hash;
	int r;

	if (!config->namespace || !config->secret || !config->identity || !*config->identity)
		return err_set(err, -EINVAL, "certificates need a namespace, a Secret and an identity");
	self = calloc(1, sizeof(*self));
	if (!self)
		return err_set(err, -ENOMEM, "out of memory");
	hash = hash_stable(HASH_STABLE_INIT, config->identity, strlen(config->identity));
	self->client = client;
	self->configurations = configurations;
	self->arena = (struct arena)ARENA_INIT(64 * KIB);
	self->look = (struct kube_timer){.fire = look, .context = self};
	self->lease_end = (struct kube_timer){.fire = lease_may_have_ended, .context = self};
	self->times = rotation_times_for(config->cert_lifetime_ms, config->ca_lifetime_ms,
					 (int64_t)(hash % (PERMILLE + 1)));
	self->state.why = "";
	material_ca_name(config->namespace, config->secret, self->ca_name);
	r = copy_config(self, config) ? err_set(err, -ENOMEM, "out of memory") : 0;
	if (!r)
		r = watch_secret(self, err);
	if (!r)
		r = configurations_listen(configurations, configuration_seen, self, err);
	if (r)
		certs_free(self);
	else
		*ret = self;
	return r;
}

void certs_free(struct certs *self)
{
	if (!self)
		return;
	configurations_unlisten(self->configurations, self);
	certs_cancel(self);
	kube_timer_stop(self->client, &self->look);
	kube_timer_stop(self->client, &self->lease_end);
	reflector_free(self->secret_watch);
	/* in the middle of work: let another go on at once; if that fails, it waits a little */
	if (self->is_leading && !self->is_leaving && lease_give_up(self->lease, GIVE_UP_MS, NULL))
		self->is_leading = false;
	lease_free(self->lease);
	material_release(&self->secret);
	pki_pair_release(&self->in_use);
	for (size_t i = 0; i < CONFIGURATION_COUNT_; i++) {
		bundles_release(&self->bundles[i]);
		free(self->fills[i].secret_version);
	}
	arena_release(&self->arena);
	free(self);
}

void certs_state(const struct certs *self, struct certs_state *ret)
{
	*ret = self->state;
	ret->is_leading = self->is_leading;
}

const char *certs_serving(const struct certs *self)
{
	return self->in_use.cert_pem;
}
