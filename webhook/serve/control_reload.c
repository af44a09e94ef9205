/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/control.h"

#include "base/hash.h"
#include "base/io.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/timefmt.h"
#include "serve/control_certs.h"
#include "serve/control_cluster.h"

#include <errno.h>
#include <malloc.h>

static const struct config *config_of(const struct control *self)
{
	return control_state_config(&self->state);
}

/* Builds a snapshot from the store or, if that cannot be read, from the current snapshot. Node shapes of the
 * configuration come last, so they override others. */
static int build(struct control *self, bool from_store, struct snapshot **ret, struct err *err)
{
	const struct config *config = config_of(self);
	struct snapshot_builder *builder = snapshot_builder_new(from_store ? NULL : self->state.snapshot);
	int r;

	if (!builder)
		return err_set(err, -ENOMEM, "out of memory");
	snapshot_builder_share(builder, self->state.snapshot);
	r = from_store ? store_read_profiles(self->source.store, builder, err) : 0;
	for (size_t i = 0; i < config->n_node_shapes && !r; i++)
		if (snapshot_builder_put_shape(builder, &config->node_shapes[i]))
			r = err_set(err, -ENOMEM, "out of memory");
	if (r) {
		snapshot_builder_free(builder);
		return r;
	}
	*ret = snapshot_builder_finish(builder, time_now_ms());
	return *ret ? 0 : err_set(err, -ENOMEM, "out of memory");
}

static int rebuild(struct control *self, bool from_store, struct err *err)
{
	struct snapshot *fresh = NULL;
	int r = build(self, from_store, &fresh, err);

	return r ? r : control_state_publish(&self->state, fresh, err);
}

static void confirm(struct control *self)
{
	atomic_store(&self->state.serve->confirmed_ms, time_monotonic_ms());
}

void control_check_store(struct control *self, bool is_forced)
{
	struct err err = ERR_INIT;
	int64_t start_ms = time_monotonic_ms();

	if (!store_watch_changed(self->source.store) && !is_forced) {
		if (!self->source.is_unread)
			confirm(self);
		return;
	}
	self->source.is_unread = rebuild(self, true, &err) != 0;
	if (self->source.is_unread) {
		control_state_count_reload(&self->state, METRIC_STORE_RELOADS, false);
		log_err(LOG_ERROR,
			self->state.snapshot ? "store not read; the profiles that were read last stay in use"
					     : "store not read",
			&err);
		return;
	}
	confirm(self);
	control_state_count_reload(&self->state, METRIC_STORE_RELOADS, true);
	/* building leaves larger tables and the last item in the heap */
	malloc_trim(0);
	log_event(LOG_INFO, "profiles loaded", "path", config_of(self)->store.path, "profiles",
		  log_i64(snapshot_profile_count(self->state.snapshot)), "ms", log_i64(time_monotonic_ms() - start_ms),
		  NULL);
}

/* ---- the source ---- */

/* A file is read completely or not at all, so this reports invalid specs only. */
static void log_bad(void *context, const struct err *why)
{
	(void)context;
	log_err(LOG_WARN, "spec of a profile is not applied; its workload is only observed", why);
}

static int open_source(struct control *self, struct control_source *ret, struct err *err)
{
	const struct store_config *config = &config_of(self)->store;
	struct err why = ERR_INIT;
	int r;

	if (config->kind == STORE_FILE)
		r = store_open_file(config->path, false, &ret->store, err);
	else
		r = control_cluster_start(&self->state, &ret->cluster, err);
	if (r)
		return r;
	if (ret->store)
		store_set_bad(ret->store, log_bad, NULL);
	/* the check every two seconds replaces missing events */
	if (ret->store && store_watch_fd(ret->store, &why) < 0)
		log_err(LOG_WARN, "the store's folder is not watched", &why);
	return 0;
}

/* Applies where the certificate comes from, by the source and the configuration in use: the shared Secret, files, or
 * self-made. */
static void share_certificates(struct control *self)
{
	bool is_shared = self->source.cluster && control_certs_are_shared(&config_of(self)->webhook);

	certificates_share(self->state.certificates, is_shared);
	if (!self->source.cluster)
		serve_set_certificate_waiting(self->state.serve, "");
}

int control_open_source(struct control *self, struct err *err)
{
	int r = open_source(self, &self->source, err);

	if (!r)
		share_certificates(self);
	return r;
}

void control_source_close(struct control_source *self)
{
	store_close(self->store);
	control_cluster_free(self->cluster);
	*self = (struct control_source){.store = NULL};
}

/* ---- the configuration ---- */

uint64_t control_config_hash(const char *path)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(LIMIT_CONFIG_BYTES);
	int r = io_read_file(path, &text, NULL);

	return hash_stable(hash_stable(HASH_STABLE_INIT, &r, sizeof(r)), strbuf_text(&text), text.len);
}

/* These settings cannot change while the server runs. */
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

/* Publishes the new configuration, with the profiles of its source as far as they can be read. */
static int renew(struct control *self, struct err *err)
{
	struct err why = ERR_INIT;
	int r;

	if (self->source.store) {
		self->source.is_unread = rebuild(self, true, &why) != 0;
		if (!self->source.is_unread)
			return 0;
		/* an incomplete store must not delay a changed policy */
		log_err(LOG_ERROR, "store not read", &why);
	}
	r = self->state.snapshot ? rebuild(self, false, err) : 0;
	if (!r && self->source.cluster)
		control_cluster_reconfigure(self->source.cluster);
	return r;
}

/* Keeps the old configuration and source until the new ones are published. */
static int use_config(struct control *self, struct config_share *take_fresh, struct err *err)
{
	struct config_share *old = self->state.config;
	struct control_source old_source = self->source;
	bool moves = has_moved(config_share_get(old), config_share_get(take_fresh));
	int r = 0;

	self->state.config = take_fresh;
	if (moves) {
		self->source = (struct control_source){.store = NULL};
		r = open_source(self, &self->source, err);
	}
	if (!r)
		r = renew(self, err);
	if (r) {
		if (moves)
			control_source_close(&self->source);
		self->source = old_source;
		self->state.config = old;
		config_share_unref(take_fresh);
		return r;
	}
	if (moves)
		control_source_close(&old_source);
	share_certificates(self);
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
	control_state_count_reload(&self->state, METRIC_CONFIG_RELOADS, !r);
	if (r)
		log_err(LOG_ERROR, "configuration not used; the old one stays in use", &err);
	else
		log_event(LOG_INFO, "configuration loaded", "path", self->config_path, "mode",
			  mode_names[config_of(self)->policy.mode], NULL);
}

void control_forget(struct control *self)
{
	self->config_seen = 0;
	certificates_forget(self->state.certificates);
}
