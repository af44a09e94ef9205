/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/control_certs.h"

#include "base/hash.h"
#include "base/log.h"
#include "base/timefmt.h"
#include "certs/certs.h"
#include "registration/drift.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define IDENTITY_BYTES 192

struct control_certs {
	struct control_cluster *cluster;
	struct configurations *configurations;
	struct certs *certs; /* NULL: certificates come from files */
	uint64_t settings;   /* hash of the settings that they were started with */
	uint64_t chain;	     /* hash of the certificates that the configurations were compared with */
	struct {
		bool is_read, is_present;
		struct drifts drifts; /* the differences that were logged last */
	} reported[CONFIGURATION_COUNT_];
};

static const struct webhook_config *webhook_of(const struct control_cluster *cluster)
{
	return &control_state_config(cluster->state)->webhook;
}

bool control_certs_are_shared(const struct webhook_config *config)
{
	return config->tls_secret && !config->cert_file;
}

/* ---- callbacks ---- */

static void configuration_failed(void *context, enum configuration_kind kind, const struct err *why)
{
	struct err err = *why;

	(void)context;
	err_wrap(&err, "%s", configuration_kinds[kind]);
	log_err(LOG_WARN, "webhook configuration not watched", &err);
}

static int use(void *context, const char *cert_pem, const char *key_pem, struct err *err)
{
	struct control_certs *self = context;

	return control_state_give_certificate(self->cluster->state, cert_pem, key_pem, err);
}

static void stepped(void *context, enum rotation_action action, const char *why)
{
	struct control_certs *self = context;

	metrics_count(self->cluster->state->serve->metrics, METRIC_CERTIFICATE_STEPS, action, 0, 0);
	log_event(LOG_INFO, "certificate rotation", "step", rotation_action_names[action], "why", why, NULL);
}

static void failed(void *context, const struct err *why)
{
	(void)context;
	log_err(LOG_WARN, "certificate rotation", why);
}

static void report_presence(struct control_certs *self, enum configuration_kind kind, bool is_present)
{
	const char *name = configurations_name(self->configurations, kind);

	if (self->reported[kind].is_read && self->reported[kind].is_present == is_present)
		return;
	self->reported[kind].is_read = true;
	self->reported[kind].is_present = is_present;
	metrics_put(self->cluster->state->serve->metrics, METRIC_CONFIGURATION_PRESENT, kind, 0, 0, is_present);
	if (name)
		log_event(LOG_INFO,
			  is_present ? "webhook configuration found"
				     : "no webhook configuration: the API server does not call memtamer",
			  "kind", configuration_kinds[kind], "name", name, NULL);
}

static void report_drift(struct control_certs *self, enum configuration_kind kind)
{
	const struct policy *policy = &control_state_config(self->cluster->state)->policy;
	const struct drift_expected expected = {
		.own_namespace = self->cluster->own_namespace,
		.excluded_namespaces = policy->excluded_namespaces,
		.chain_pem = certificates_chain(self->cluster->state->certificates),
		.patches_templates = policy->templates == TEMPLATES_PATCH,
	};
	struct drifts now;

	drift_compare(kind, configurations_object(self->configurations, kind), &expected, &now);
	for (size_t i = 0; i < DRIFT_FIELD_COUNT_; i++) {
		const char *words = now.words[i];

		if (streq(words, self->reported[kind].drifts.words[i]))
			continue;
		metrics_put(self->cluster->state->serve->metrics, METRIC_CONFIGURATION_DRIFT, kind, i, 0, *words != 0);
		log_event(*words ? LOG_WARN : LOG_INFO,
			  *words ? "webhook configuration differs from what memtamer needs"
				 : "webhook configuration is right again",
			  "kind", configuration_kinds[kind], "field", drift_field_names[i], "why", words, NULL);
	}
	self->reported[kind].drifts = now;
}

static void configuration_changed(void *context, enum configuration_kind kind, struct json_object *object)
{
	struct control_certs *self = context;

	if (self->certs)
		certs_take_configuration(self->certs, kind, object);
	report_presence(self, kind, object != NULL);
	report_drift(self, kind);
}

/* ---- life ---- */

static uint64_t hash_text(uint64_t state, const char *text)
{
	return text ? hash_stable_text(state, text) : hash_stable(state, "\1", 1);
}

static uint64_t hash_settings(const struct control_cluster *cluster)
{
	const struct policy *policy = &control_state_config(cluster->state)->policy;
	const struct webhook_config *config = webhook_of(cluster);
	uint64_t hash = hash_text(hash_text(HASH_STABLE_INIT, config->tls_secret), config->cert_file);

	hash = hash_text(hash_text(hash, config->mutating_configuration), config->validating_configuration);
	for (size_t i = 0; config->server_names && config->server_names[i]; i++)
		hash = hash_text(hash, config->server_names[i]);
	for (size_t i = 0; policy->excluded_namespaces && policy->excluded_namespaces[i]; i++)
		hash = hash_text(hash, policy->excluded_namespaces[i]);
	hash = hash_stable(hash, &policy->templates, sizeof(policy->templates));
	hash = hash_stable(hash, &config->cert_lifetime_ms, sizeof(config->cert_lifetime_ms));
	return hash_stable(hash, &config->ca_lifetime_ms, sizeof(config->ca_lifetime_ms));
}

/* The pod's name with a random part, so that it is new for each start. */
static void make_identity(char buf[IDENTITY_BYTES])
{
	int64_t parts[] = {time_now_ms(), time_monotonic_ms(), getpid()};
	char host[128] = "memtamer-webhook";

	if (gethostname(host, sizeof(host)))
		host[0] = '\0';
	host[sizeof(host) - 1] = '\0';
	snprintf(buf, IDENTITY_BYTES, "%s_%016llx", host, (unsigned long long)hash_seeded(parts, sizeof(parts)));
}

static int start_certs(struct control_certs *self, const struct webhook_config *webhook, struct err *err)
{
	char identity[IDENTITY_BYTES];
	const struct certs_config config = {
		.namespace = self->cluster->own_namespace,
		.secret = webhook->tls_secret,
		.identity = identity,
		.server_names = webhook->server_names,
		.cert_lifetime_ms = webhook->cert_lifetime_ms,
		.ca_lifetime_ms = webhook->ca_lifetime_ms,
		.use = use,
		.stepped = stepped,
		.failed = failed,
		.context = self,
	};

	make_identity(identity);
	return certs_start(self->cluster->access.client, self->configurations, &config, &self->certs, err);
}

static void release(struct control_certs *self)
{
	certs_free(TAKE_PTR(self->certs));
	configurations_free(TAKE_PTR(self->configurations));
}

static int start(struct control_certs *self, struct err *err)
{
	const struct webhook_config *webhook = webhook_of(self->cluster);
	const struct configurations_config config = {
		.names = {[CONFIGURATION_MUTATING] = webhook->mutating_configuration,
			  [CONFIGURATION_VALIDATING] = webhook->validating_configuration},
		.changed = configuration_changed,
		.failed = configuration_failed,
		.context = self,
	};
	int r = configurations_start(self->cluster->access.client, &config, &self->configurations, err);

	self->settings = hash_settings(self->cluster);
	if (!r && control_certs_are_shared(webhook))
		r = start_certs(self, webhook, err);
	if (r)
		release(self);
	return r;
}

int control_certs_start(struct control_cluster *cluster, struct err *err)
{
	struct control_certs *self = calloc(1, sizeof(*self));
	int r;

	if (!self)
		return err_set(err, -ENOMEM, "out of memory");
	self->cluster = cluster;
	r = start(self, err);
	if (r)
		free(self);
	else
		cluster->certs = self;
	return r;
}

void control_certs_stop(struct control_cluster *cluster)
{
	if (!cluster->certs)
		return;
	release(cluster->certs);
	free(TAKE_PTR(cluster->certs));
}

void control_certs_reconfigure(struct control_cluster *cluster)
{
	struct control_certs *self = cluster->certs;
	struct err err = ERR_INIT;

	if (self->settings == hash_settings(cluster))
		return;
	release(self);
	if (start(self, &err))
		log_err(LOG_ERROR, "certificates are not renewed until the configuration is loaded again", &err);
}

void control_certs_report(struct control_cluster *cluster)
{
	struct control_certs *self = cluster->certs;
	struct serve *serve = cluster->state->serve;
	uint64_t chain = hash_text(HASH_STABLE_INIT, certificates_chain(cluster->state->certificates));
	char words[SERVE_WORDS];
	struct certs_state state;

	if (self->configurations && self->chain != chain) {
		self->chain = chain;
		for (size_t i = 0; i < CONFIGURATION_COUNT_; i++)
			report_drift(self, (enum configuration_kind)i);
	}
	if (!self->certs)
		return;
	certs_state(self->certs, &state);
	snprintf(words, sizeof(words), "no certificate yet: %s%s%s", state.why, state.last_error.code ? "; " : "",
		 state.last_error.code ? state.last_error.msg : "");
	serve_set_certificate_waiting(serve, words);
	if (state.ca_until_ms)
		metrics_set(serve->metrics, METRIC_CERTIFICATE_CA_EXPIRY, (double)state.ca_until_ms / 1000);
	metrics_set(serve->metrics, METRIC_CERTIFICATE_FAILURES, (double)state.failures);
}
