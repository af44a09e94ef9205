/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/control.h"

#include "base/hash.h"
#include "base/io.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/timefmt.h"
#include "serve/control_cluster.h"

#include <errno.h>
#include <malloc.h>

static const struct config *config_of(const struct control *self)
{
	return config_share_get(self->config);
}

static void count_reload(struct control *self, enum metric_id id, bool is_good)
{
	metrics_count(self->serve->metrics, id, is_good ? RELOAD_OK : RELOAD_FAILED, 0, 0);
}

static int put_config_shapes(const struct config *config, struct snapshot_builder *builder)
{
	int r = 0;

	for (size_t i = 0; i < config->n_node_shapes && !r; i++)
		r = snapshot_builder_put_shape(builder, &config->node_shapes[i]);
	return r;
}

/* Everything of the store, or, where that cannot be read, what the current snapshot has. Shapes of the configuration
 * come last: what a person declared wins. */
static int fill(struct control *self, bool from_store, struct snapshot_builder *builder, struct err *err)
{
	int r = from_store ? store_read_profiles(self->store, builder, err) : 0;

	if (!r && put_config_shapes(config_of(self), builder))
		r = err_set(err, -ENOMEM, "out of memory");
	return r;
}

static int build(struct control *self, bool from_store, struct snapshot **ret, struct err *err)
{
	struct snapshot_builder *builder = snapshot_builder_new(from_store ? NULL : self->snapshot);
	int r;

	if (!builder)
		return err_set(err, -ENOMEM, "out of memory");
	snapshot_builder_share(builder, self->snapshot);
	r = fill(self, from_store, builder, err);
	if (r) {
		snapshot_builder_free(builder);
		return r;
	}
	*ret = snapshot_builder_finish(builder, time_now_ms());
	return *ret ? 0 : err_set(err, -ENOMEM, "out of memory");
}

int control_publish(struct control *self, struct snapshot *take_snapshot, struct err *err)
{
	struct serve *serve = self->serve;

	if (holder_swap(serve->holder, snapshot_ref(take_snapshot), self->config)) {
		snapshot_unref(take_snapshot);
		return err_set(err, -ENOMEM, "out of memory");
	}
	snapshot_unref(self->snapshot);
	self->snapshot = take_snapshot;
	metrics_set(serve->metrics, METRIC_PROFILES, (double)snapshot_profile_count(take_snapshot));
	metrics_set(serve->metrics, METRIC_SNAPSHOT_BUILT, (double)snapshot_built_ms(take_snapshot) / 1000);
	atomic_store(&serve->has_snapshot, true);
	http_server_wake_held(serve->server);
	return 0;
}

static int rebuild(struct control *self, bool from_store, struct err *err)
{
	struct snapshot *fresh = NULL;
	int r = build(self, from_store, &fresh, err);

	return r ? r : control_publish(self, fresh, err);
}

static void confirm(struct control *self)
{
	atomic_store(&self->serve->confirmed_ms, time_monotonic_ms());
}

void control_check_store(struct control *self, bool is_forced)
{
	struct err err = ERR_INIT;
	int64_t start_ms = time_monotonic_ms();

	if (!store_watch_changed(self->store) && !is_forced) {
		if (!self->is_store_unread)
			confirm(self);
		return;
	}
	self->is_store_unread = rebuild(self, true, &err) != 0;
	if (self->is_store_unread) {
		count_reload(self, METRIC_STORE_RELOADS, false);
		log_err(LOG_ERROR, self->snapshot ? "store not read; the last good profiles go on" : "store not read",
			&err);
		return;
	}
	confirm(self);
	count_reload(self, METRIC_STORE_RELOADS, true);
	/* what building left behind: larger tables, the item at hand */
	malloc_trim(0);
	log_event(LOG_INFO, "profiles loaded", "path", config_of(self)->store.path, "profiles",
		  log_i64(snapshot_profile_count(self->snapshot)), "ms", log_i64(time_monotonic_ms() - start_ms), NULL);
}

int control_open_store(struct control *self, struct err *err)
{
	const struct store_config *config = &config_of(self)->store;
	struct control_cluster *cluster = NULL;
	struct store *store = NULL;
	struct err why = ERR_INIT;
	int r;

	if (config->kind == STORE_FILE)
		r = store_open_file(config->path, false, &store, err);
	else
		r = control_cluster_start(self, &cluster, err);
	if (r)
		return r;
	/* the two-second look replaces events where there are none */
	if (store && store_watch_fd(store, &why) < 0)
		log_err(LOG_WARN, "the store's folder is not watched", &why);
	store_close(self->store);
	control_cluster_free(self->cluster);
	self->store = store;
	self->cluster = cluster;
	if (!cluster) {
		/* nobody is left who would give one */
		certificates_share(self->certificates, false);
		serve_set_certificate_waiting(self->serve, "");
	}
	return 0;
}

uint64_t control_config_hash(const char *path)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(LIMIT_CONFIG_BYTES);
	int r = io_read_file(path, &text, NULL);

	return hash_stable(hash_stable(HASH_STABLE_INIT, &r, sizeof(r)), strbuf_text(&text), text.len);
}

/* These are bound to the running server. */
static bool needs_restart(const struct config *a, const struct config *b)
{
	const struct webhook_config *x = &a->webhook, *y = &b->webhook;

	return !streq(x->listen, y->listen) || x->threads != y->threads || x->connections != y->connections ||
	       x->idle_timeout_ms != y->idle_timeout_ms || x->request_timeout_ms != y->request_timeout_ms ||
	       !streq(a->log.level, b->log.level) || !streq(a->log.format, b->log.format);
}

static bool has_moved(const struct config *a, const struct config *b)
{
	if (a->store.kind != b->store.kind)
		return true;
	if (a->store.kind == STORE_FILE)
		return !streq(a->store.path, b->store.path);
	return !streq(a->kubernetes.kubeconfig, b->kubernetes.kubeconfig) ||
	       !streq(a->kubernetes.context, b->kubernetes.context) ||
	       !streq(a->policy.own_namespace, b->policy.own_namespace);
}

/* What requests decide by, with the new configuration. */
static int renew(struct control *self, struct err *err)
{
	struct err why = ERR_INIT;

	if (self->store) {
		self->is_store_unread = rebuild(self, true, &why) != 0;
		if (!self->is_store_unread)
			return 0;
		/* a torn store must not hold up a changed policy */
		log_err(LOG_ERROR, "store not read", &why);
	} else {
		control_cluster_reconfigure(self->cluster);
	}
	return self->snapshot ? rebuild(self, false, err) : 0;
}

static int use_config(struct control *self, struct config_share *take_fresh, struct err *err)
{
	struct config_share *old = self->config;
	int r;

	self->config = take_fresh;
	r = has_moved(config_share_get(old), config_of(self)) ? control_open_store(self, err) : 0;
	if (!r)
		r = renew(self, err);
	if (r) {
		self->config = old;
		config_share_unref(take_fresh);
		return r;
	}
	if (needs_restart(config_share_get(old), config_of(self)))
		log_event(LOG_WARN, "some changed settings (address, threads, timeouts, log) need a restart", NULL);
	config_share_unref(old);
	return 0;
}

void control_check_config(struct control *self)
{
	uint64_t hash = control_config_hash(self->config_path);
	struct config *config = NULL;
	struct config_share *fresh;
	struct err err = ERR_INIT;
	int r;

	if (hash == self->config_seen)
		return;
	self->config_seen = hash;
	r = config_load(self->config_path, &config, &err);
	if (!r) {
		fresh = config_share_new(config);
		r = fresh ? use_config(self, fresh, &err) : err_set(&err, -ENOMEM, "out of memory");
	}
	count_reload(self, METRIC_CONFIG_RELOADS, !r);
	if (r)
		log_err(LOG_ERROR, "configuration not used; the old one goes on", &err);
	else
		log_event(LOG_INFO, "configuration loaded", "path", self->config_path, "mode",
			  mode_names[config_of(self)->policy.mode], NULL);
}

/* Metrics and log of what certificates_check or certificates_give returned. */
static void tell_certificates(struct control *self, int r, const struct err *err)
{
	bool has_one = http_server_has_credentials(self->serve->server);
	bool is_ready = certificates_is_ready(self->certificates);
	int64_t now_ms = time_now_ms(), expiry_ms = certificates_expiry_ms(self->certificates);
	char when[TIME_TEXT_BYTES];

	if (r < 0) {
		count_reload(self, METRIC_CERTIFICATE_RELOADS, false);
		log_err(LOG_ERROR, has_one ? "certificate not loaded; the old one goes on" : "certificate not loaded",
			err);
	}
	if (r == CERTIFICATES_LOADED && is_ready) {
		count_reload(self, METRIC_CERTIFICATE_RELOADS, true);
		metrics_set(self->serve->metrics, METRIC_CERTIFICATE_EXPIRY, (double)expiry_ms / 1000);
		log_event(expiry_ms < now_ms ? LOG_WARN : LOG_INFO,
			  expiry_ms < now_ms ? "certificate loaded, but its time is over" : "certificate loaded",
			  "until", time_render(expiry_ms, when), NULL);
	}
	atomic_store(&self->serve->has_certificate, has_one && is_ready);
}

bool control_check_certificates(struct control *self)
{
	struct err err = ERR_INIT;
	int r = certificates_check(self->certificates, &config_of(self)->webhook, time_now_ms(), &err);

	tell_certificates(self, r, &err);
	return http_server_has_credentials(self->serve->server);
}

int control_give_certificate(struct control *self, const char *cert_pem, const char *key_pem, struct err *err)
{
	int r = certificates_give(self->certificates, &config_of(self)->webhook, cert_pem, key_pem, time_now_ms(), err);

	tell_certificates(self, r, err);
	return MIN(r, 0);
}

void control_forget(struct control *self)
{
	self->config_seen = 0;
	certificates_forget(self->certificates);
}
