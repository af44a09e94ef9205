/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* control: the one thread that changes what the server's threads decide by. It waits for signals, for changes of the
 * folders that hold configuration, certificates and store (and looks itself every two seconds, because some changes
 * come without an event), reads what has changed, and swaps it in whole. In a cluster it waits for the API server as
 * well (control_cluster.h), which then stands for the store. What cannot be read is logged and counted, and the old one
 * goes on. It is the program's main thread. */
#include "serve/certificates.h"
#include "serve/routes.h"
#include "store/store.h"

struct control_cluster;

struct control {
	struct serve *serve;
	const char *config_path;
	struct config_share *config;
	struct snapshot *snapshot;	 /* own reference to the current one; NULL: none yet */
	struct store *store;		 /* NULL in a cluster */
	struct control_cluster *cluster; /* NULL without one */
	bool is_store_unread;		 /* its last reading failed */
	struct certificates *certificates;
	uint64_t config_seen; /* hash of the file's text, good or not */
	int signal_fd, watch_fd;
	int64_t settle_ms; /* monotonic: when to look after an event; 0: none came */
	int64_t look_ms;   /* when to look anyway */
	int64_t trim_ms;   /* when the heap was trimmed */
	bool needs_trim;
};

/** Signals must be blocked already (control_block_signals). `take_config` is the one that was loaded from `path`.
 *  @return 0; -errno. control_release in any case. */
int control_init(struct control *self, struct serve *serve, const char *path, struct config *take_config,
		 struct err *err) ATTR_NODISCARD;
void control_release(struct control *self);
/** In every thread that starts from here on, SIGTERM, SIGINT and SIGHUP wait for the control thread. */
int control_block_signals(struct err *err) ATTR_NODISCARD;
/** Until SIGTERM or SIGINT. */
void control_run(struct control *self);
/** Readiness fails, answers close their connections; after the configured time, or another signal, no more is accepted
 *  and what is under way ends. */
void control_drain(struct control *self);

/* What is looked at, one by one (control_reload.c). */
void control_check_config(struct control *self);
/** @return false when the server has no certificate at all. */
bool control_check_certificates(struct control *self);
/** The certificate that all replicas share. @return 0; <0: the old one goes on. */
int control_give_certificate(struct control *self, const char *cert_pem, const char *key_pem,
			     struct err *err) ATTR_NODISCARD;
/** `is_forced`: read the store even if its file has not changed. */
void control_check_store(struct control *self, bool is_forced);
/** The store, or the cluster, by the configuration in use; what was open before is closed when that succeeds. */
int control_open_store(struct control *self, struct err *err) ATTR_NODISCARD;
/** Make it what requests decide by. @return 0; -ENOMEM, and the old one goes on. */
int control_publish(struct control *self, struct snapshot *take_snapshot, struct err *err) ATTR_NODISCARD;
/** Forget what has been seen, so that everything is read again. */
void control_forget(struct control *self);
uint64_t control_config_hash(const char *path);
