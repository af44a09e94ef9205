/* SPDX-License-Identifier: Apache-2.0 */
/* Every event (a change of the Secret, of a configuration or of the Lease, a timer, the end of a request) leads to
 * decide(), which decides from the complete known state. The objects contain the whole state of a rotation. */
#include "certs/certs_internal.h"

#include "base/hash.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST_WAIT_MS TIME_HOUR_MS
#define LEAVE_CHECK_MS	200
#define GIVE_UP_MS	TIME_SECOND_MS
#define PERMILLE	1000
#define LEASE_MS	(15 * TIME_SECOND_MS)
#define LEASE_MIN_MS	(3 * TIME_SECOND_MS)
#define LEASE_PART	12 /* divisor of a lifetime */
/* A replica whose clock is off by more makes no certificates, because others would not accept them. */
#define CLOCK_OFF_MIN_MS  (10 * TIME_SECOND_MS)
#define CLOCK_OFF_WAIT_MS TIME_MINUTE_MS

static const struct kube_resource secrets = {"", "v1", "secrets"};

/* ---- the Secret ---- */

static void secret_seen(void *context, const struct kube_object *object)
{
	struct certs *self = context;

	certs_take_secret(self, reflector_is_listing(self->secret_watch) ? CERTS_LIST : CERTS_EVENT, object->json);
}

static void secret_gone(void *context, const struct kube_object *object)
{
	struct certs *self = context;

	if (!self->is_answered || !configurations_is_older(object->resource_version, self->secret.resource_version))
		certs_take_secret(self, CERTS_EVENT, NULL);
}

static void secret_synced(void *context)
{
	struct certs *self = context;

	if (self->secret.facts.presence == ROTATION_UNREAD)
		certs_take_secret(self, CERTS_LIST, NULL);
}

static void secret_failed(void *context, const struct err *why, int64_t retry_ms)
{
	struct err err = *why;

	(void)retry_ms;
	err_wrap(&err, "the Secret cannot be watched");
	certs_fail(context, &err);
}

static int watch_secret(struct certs *self, struct err *err)
{
	char by_name[LIMIT_NAME_BYTES + sizeof("metadata.name=")];
	const struct reflector_config config = {
		/* a role with resourceNames allows a list only with this field selector */
		.selection = {.resource = secrets, .namespace = self->names.namespace, .field_selector = by_name},
		.added = secret_seen,
		.modified = secret_seen,
		.deleted = secret_gone,
		.synced = secret_synced,
		.failed = secret_failed,
		.context = self,
	};

	snprintf(by_name, sizeof(by_name), "metadata.name=%s", self->names.secret);
	return reflector_start(self->client, &config, &self->secret_watch, err);
}

/* Decodes what could not be decoded before, for lack of memory. The private keys of a Secret are not kept, so it is
 * listed again. @return false: something is still not decoded. */
static bool decode_again(struct certs *self)
{
	struct err err = ERR_INIT;

	for (size_t i = 0; i < CONFIGURATION_COUNT_; i++)
		if (self->is_undecoded[i])
			certs_take_configuration(
				self, (enum configuration_kind)i,
				configurations_object(self->configurations, (enum configuration_kind)i));
	if (self->is_secret_undecoded) {
		reflector_free(TAKE_PTR(self->secret_watch));
		tls_secret_release(&self->secret);
		self->is_secret_undecoded = watch_secret(self, &err) != 0;
		if (self->is_secret_undecoded)
			certs_fail(self, &err);
	}
	for (size_t i = 0; i < CONFIGURATION_COUNT_; i++)
		if (self->is_undecoded[i])
			return false;
	return !self->is_secret_undecoded;
}

/* ---- the Lease ---- */

static void lease_started(void *context)
{
	struct certs *self = context;

	self->is_leading = true;
	certs_decide_soon(self);
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
		return; /* another replica was faster */
	err_wrap(&err, "the Lease of the rotation");
	certs_fail(self, &err);
}

static void take_lease(struct certs *self)
{
	int64_t shorter_ms = MIN(self->times.cert_lifetime_ms, self->times.ca_lifetime_ms);
	/* a leader that dies must be replaced before the certificate in use ends */
	int64_t lease_ms = MIN(LEASE_MS, MAX(LEASE_MIN_MS, shorter_ms / LEASE_PART));
	const struct lease_config config = {
		.namespace = self->names.namespace,
		.name = self->names.secret,
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

/* Whether our clock is wrong; then another replica has to do the work. */
static bool has_wrong_clock(struct certs *self)
{
	int64_t ahead_ms = 0, most_ms = MAX(CLOCK_OFF_MIN_MS, self->times.skew_ms / 4);
	struct err err = ERR_INIT;
	char text[TIME_TEXT_BYTES];

	if (!lease_clock_ahead(self->lease, &ahead_ms) || (ahead_ms <= most_ms && ahead_ms >= -most_ms))
		return false;
	/* rounded, so that small changes are not reported again */
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
	kube_timer_set(self->client, &self->lease_end, LEAVE_CHECK_MS);
}

static void lease_may_have_ended(void *context)
{
	struct certs *self = context;

	if (!lease_has_left(self->lease)) {
		kube_timer_set(self->client, &self->lease_end, LEAVE_CHECK_MS);
		return;
	}
	lease_free(TAKE_PTR(self->lease));
	self->is_leaving = false;
	certs_decide_soon(self);
}

/* ---- the next step ---- */

static int use_leaf(struct certs *self)
{
	struct pki_pair copy = PKI_PAIR_INIT;
	struct err err = ERR_INIT;
	int r = pki_pair_copy(self->secret.leaf.cert_pem, self->secret.leaf.key_pem, &copy, &err);

	if (!r)
		r = self->config.use(self->config.context, copy.cert_pem, copy.key_pem, &err);
	if (r) {
		pki_pair_release(&copy);
		certs_fail(self, &err);
		return r;
	}
	pki_pair_release(&self->in_use);
	self->in_use = copy;
	self->in_use_facts = self->secret.facts.leaf;
	self->state.is_serving = true;
	self->state.leaf_until_ms = self->in_use_facts.until_ms;
	return 0;
}

/* Uses the Secret's leaf if that is allowed. @param ret_wake_ms when to look again. @return 0, also if there is nothing
 * to do; else the error that was reported. */
static int consider_leaf(struct certs *self, const struct rotation_view *view, int64_t *ret_wake_ms)
{
	int r;

	*ret_wake_ms = INT64_MAX;
	if (!self->secret.leaf.cert_pem || streq(self->secret.leaf.cert_pem, self->in_use.cert_pem) ||
	    !rotation_may_use(view, ret_wake_ms))
		return 0;
	r = use_leaf(self);
	*ret_wake_ms = r ? CERTS_RETRY_MS : INT64_MAX;
	return r;
}

/* When to look again if work needs the Lease: after the pause if this replica leads; otherwise the Lease's callbacks
 * lead to the next look. */
static int64_t work_wake_ms(const struct certs *self, int64_t pause_ms)
{
	if (!self->lease)
		return MAX(pause_ms, 0);
	if (!self->is_leading || self->is_leaving)
		return INT64_MAX;
	/* the last renewal is too old; the next renewal causes no callback, so look again */
	return lease_is_leader(self->lease) ? MAX(pause_ms, 0) : CERTS_RETRY_MS;
}

static void decide(void *context)
{
	struct certs *self = context;
	struct rotation_view view;
	struct rotation_plan plan;
	int64_t leaf_ms, wake_ms, pause_ms;
	bool is_undecoded;
	int use_code;

	if (certs_is_busy(self))
		return; /* the end of the request leads here again */
	is_undecoded = !decode_again(self);
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
	if (is_undecoded)
		wake_ms = MIN(wake_ms, CERTS_RETRY_MS);
	else if (plan.action == ROTATION_WAIT && !self->secret.complaint.code && !use_code)
		certs_is_well(self);
	/* before the actions below, because these may set the timer again; a leaf does not need the Lease */
	wake_ms = MIN(wake_ms, leaf_ms);
	kube_timer_set(self->client, &self->decide, MIN(MAX(wake_ms, 1), LONGEST_WAIT_MS));
	if (pause_ms > 0 || plan.action == ROTATION_WAIT || plan.action == ROTATION_SETTLE || !self->is_leading ||
	    self->is_leaving || !lease_is_leader(self->lease))
		return;
	if (has_wrong_clock(self))
		leave_lease(self);
	else
		certs_do(self, &view, &plan);
}

/* ---- life ---- */

static int copy_names(struct certs *self, const struct certs_config *config)
{
	struct tls_secret_names *names = &self->names;
	const char **server;
	size_t n = 0;

	while (config->server_names && config->server_names[n])
		n++;
	server = arena_array(&self->arena, n + 1, sizeof(*server));
	if (!server)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (!(server[i] = arena_strdup(&self->arena, config->server_names[i])))
			return -ENOMEM;
	names->server = server;
	names->namespace = arena_strdup(&self->arena, config->namespace);
	names->secret = arena_strdup(&self->arena, config->secret);
	self->config.identity = arena_strdup(&self->arena, config->identity);
	if (!names->namespace || !names->secret || !self->config.identity)
		return -ENOMEM;
	tls_secret_name_ca(names);
	return 0;
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
	self->config = *config;
	self->configurations = configurations;
	self->arena = (struct arena)ARENA_INIT(64 * KIB);
	self->decide = (struct kube_timer){.fire = decide, .context = self};
	self->lease_end = (struct kube_timer){.fire = lease_may_have_ended, .context = self};
	self->times = rotation_times_for(config->cert_lifetime_ms, config->ca_lifetime_ms,
					 (int64_t)(hash % (PERMILLE + 1)));
	self->state.why = "";
	r = copy_names(self, config) ? err_set(err, -ENOMEM, "out of memory") : 0;
	if (!r)
		r = watch_secret(self, err);
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
	certs_cancel(self);
	kube_timer_stop(self->client, &self->decide);
	kube_timer_stop(self->client, &self->lease_end);
	reflector_free(self->secret_watch);
	/* release the Lease so that another replica continues at once; if that fails, the Lease expires */
	if (self->is_leading && !self->is_leaving && lease_give_up(self->lease, GIVE_UP_MS, NULL))
		self->is_leading = false;
	lease_free(self->lease);
	tls_secret_release(&self->secret);
	pki_pair_release(&self->in_use);
	for (size_t i = 0; i < CONFIGURATION_COUNT_; i++)
		bundles_release(&self->bundles[i]);
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
