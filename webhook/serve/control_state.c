/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/control_state.h"

#include "base/log.h"
#include "base/timefmt.h"

#include <errno.h>

int control_state_init(struct control_state *self, struct serve *serve, struct config *take_config, struct err *err)
{
	*self = (struct control_state){.serve = serve, .config = config_share_new(take_config)};
	self->certificates = certificates_new(serve->server);
	return self->config && self->certificates ? 0 : err_set(err, -ENOMEM, "out of memory");
}

void control_state_release(struct control_state *self)
{
	current_state_collect(self->serve->current);
	self->snapshot = snapshot_unref(self->snapshot);
	config_share_unref(TAKE_PTR(self->config));
	certificates_free(TAKE_PTR(self->certificates));
}

const struct config *control_state_config(const struct control_state *self)
{
	return config_share_get(self->config);
}

int control_state_publish(struct control_state *self, struct snapshot *take_snapshot, struct err *err)
{
	struct serve *serve = self->serve;

	if (current_state_replace(serve->current, snapshot_ref(take_snapshot), self->config)) {
		snapshot_unref(take_snapshot);
		return err_set(err, -ENOMEM, "out of memory");
	}
	snapshot_unref(self->snapshot);
	self->snapshot = take_snapshot;
	metrics_set(serve->metrics, METRIC_PROFILES, (double)snapshot_profile_count(take_snapshot));
	metrics_set(serve->metrics, METRIC_SNAPSHOT_BUILT, (double)snapshot_built_ms(take_snapshot) / 1000);
	atomic_store(&serve->has_snapshot, true);
	return 0;
}

void control_state_count_reload(struct control_state *self, enum metric_id id, bool is_good)
{
	metrics_count(self->serve->metrics, id, is_good ? RELOAD_OK : RELOAD_FAILED, 0, 0);
}

/* Counts and logs a result of certificates_check or certificates_give. */
static void report_certificates(struct control_state *self, int r, const struct err *err)
{
	bool has_one = http_server_has_credentials(self->serve->server);
	bool is_ready = certificates_is_ready(self->certificates);
	int64_t now_ms = time_now_ms(), expiry_ms = certificates_expiry_ms(self->certificates);
	char when[TIME_TEXT_BYTES];

	if (r < 0) {
		control_state_count_reload(self, METRIC_CERTIFICATE_RELOADS, false);
		log_err(LOG_ERROR,
			has_one ? "certificate not loaded; the old one stays in use" : "certificate not loaded", err);
	}
	if (r == CERTIFICATES_LOADED && is_ready) {
		control_state_count_reload(self, METRIC_CERTIFICATE_RELOADS, true);
		metrics_set(self->serve->metrics, METRIC_CERTIFICATE_EXPIRY, (double)expiry_ms / 1000);
		log_event(expiry_ms < now_ms ? LOG_WARN : LOG_INFO,
			  expiry_ms < now_ms ? "certificate loaded, but its time is over" : "certificate loaded",
			  "until", time_render(expiry_ms, when), NULL);
	}
	atomic_store(&self->serve->has_certificate, has_one && is_ready);
}

bool control_state_check_certificates(struct control_state *self)
{
	struct err err = ERR_INIT;
	int r = certificates_check(self->certificates, &control_state_config(self)->webhook, time_now_ms(), &err);

	report_certificates(self, r, &err);
	return http_server_has_credentials(self->serve->server);
}

int control_state_give_certificate(struct control_state *self, const char *cert_pem, const char *key_pem,
				   struct err *err)
{
	int r = certificates_give(self->certificates, &control_state_config(self)->webhook, cert_pem, key_pem,
				  time_now_ms(), err);

	report_certificates(self, r, err);
	return MIN(r, 0);
}
