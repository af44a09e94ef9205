/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/control_certs.h"

#include "base/hash.h"
#include "base/log.h"
#include "base/timefmt.h"
#include "certs/certs.h"
#include "registration/registration.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define IDENTITY_BYTES 192

struct control_certs {
	struct control_cluster *cluster;
	struct configurations *configurations;
	struct registration *registration;
	struct certs *certs; /* NULL: certificates come from files */
	uint64_t settings;   /* hash of what they were started with */
};

static const struct webhook_config *webhook_of(const struct control_cluster *cluster)
{
	return &config_share_get(cluster->control->config)->webhook;
}

static bool is_shared(const struct webhook_config *config)
{
	return config->tls_secret && !config->cert_file;
}

/* ---- what they tell ---- */

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

	return control_give_certificate(self->cluster->control, cert_pem, key_pem, err);
}

static void stepped(void *context, enum rotation_action action, const char *why)
{
	struct control_certs *self = context;

	metrics_count(self->cluster->control->serve->metrics, METRIC_CERTIFICATE_STEPS, action, 0, 0);
	log_event(LOG_INFO, "certificate rotation", "step", rotation_action_names[action], "why", why, NULL);
}

static void failed(void *context, const struct err *why)
{
	(void)context;
	log_err(LOG_WARN, "certificate rotation", why);
}

static void present(void *context, enum configuration_kind kind, bool is_present)
{
	struct control_certs *self = context;
	const char *name = configurations_name(self->configurations, kind);

	metrics_put(self->cluster->control->serve->metrics, METRIC_CONFIGURATION_PRESENT, kind, 0, 0, is_present);
	if (name)
		log_event(LOG_INFO,
			  is_present ? "webhook configuration found"
				     : "no webhook configuration: the API server does not ask memtamer",
			  "kind", configuration_kinds[kind], "name", name, NULL);
}

static void drifted(void *context, enum configuration_kind kind, enum drift_field field, const char *words)
{
	struct control_certs *self = context;

	metrics_put(self->cluster->control->serve->metrics, METRIC_CONFIGURATION_DRIFT, kind, field, 0, words != NULL);
	log_event(words ? LOG_WARN : LOG_INFO,
		  words ? "webhook configuration differs from what memtamer needs"
			: "webhook configuration is right again",
		  "kind", configuration_kinds[kind], "field", drift_field_names[field], "why", words ? words : "",
		  NULL);
}

/* ---- life ---- */

static uint64_t hash_text(uint64_t state, const char *text)
{
	return text ? hash_stable_text(state, text) : hash_stable(state, "\1", 1);
}

static uint64_t hash_settings(const struct control_cluster *cluster)
{
	const struct policy *policy = &config_share_get(cluster->control->config)->policy;
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

/* The pod's name, and another one each time. */
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

static int start_registration(struct control_certs *self, struct err *err)
{
	const struct policy *policy = &config_share_get(self->cluster->control->config)->policy;
	const struct registration_config config = {
		.expected = {.own_namespace = self->cluster->own_namespace,
			     .excluded_namespaces = policy->excluded_namespaces,
			     .patches_templates = policy->templates == TEMPLATES_PATCH},
		.present = present,
		.drifted = drifted,
		.context = self,
	};

	return registration_start(self->configurations, &config, &self->registration, err);
}

static void release(struct control_certs *self)
{
	registration_free(TAKE_PTR(self->registration));
	certs_free(TAKE_PTR(self->certs));
	configurations_free(TAKE_PTR(self->configurations));
}

static int start(struct control_certs *self, struct err *err)
{
	const struct webhook_config *webhook = webhook_of(self->cluster);
	const struct configurations_config config = {
		.names = {[CONFIGURATION_MUTATING] = webhook->mutating_configuration,
			  [CONFIGURATION_VALIDATING] = webhook->validating_configuration},
		.failed = configuration_failed,
		.context = self,
	};
	int r = configurations_start(self->cluster->access.client, &config, &self->configurations, err);

	self->settings = hash_settings(self->cluster);
	certificates_share(self->cluster->control->certificates, is_shared(webhook));
	if (!r)
		r = start_registration(self, err);
	if (!r && is_shared(webhook))
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

void control_certs_tell(struct control_cluster *cluster)
{
	struct control_certs *self = cluster->certs;
	struct serve *serve = cluster->control->serve;
	char words[SERVE_WORDS];
	struct certs_state state;

	if (self->registration)
		registration_set_chain(self->registration, certificates_chain(cluster->control->certificates));
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
