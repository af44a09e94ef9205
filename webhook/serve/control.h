/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* control: the program's main thread, which alone changes the state that requests are decided by. It waits for signals
 * and for changes in the folders with configuration, certificates and store. It also checks every two seconds, because
 * some changes cause no event. It reads what changed and replaces the state as a whole. In a cluster it waits for the
 * API server (control_cluster.h) instead of the store. Input that cannot be read is logged and counted, and the old
 * state stays in use. */
#include "serve/control_state.h"
#include "store/store.h"

struct control_cluster;

/** The source of profiles: exactly one of the two pointers is set. */
struct control_source {
	struct store *store;
	struct control_cluster *cluster;
	bool is_unread; /* the last read of the store failed */
};

struct control {
	struct control_state state;
	struct control_source source;
	const char *config_path;
	uint64_t config_seen; /* hash of the file's text, valid or not */
	int signal_fd, watch_fd;
	int64_t events_due_ms;	 /* monotonic: when to check after an event; 0: no event */
	int64_t check_due_ms;	 /* monotonic: when to check without an event */
	int64_t trim_ms;	 /* monotonic: when the heap was last trimmed */
	size_t most_connections; /* open at once, until their number fell enough for a trim */
};

/** Signals must be blocked (control_block_signals). Takes `take_config`, which was loaded from `path` (borrowed).
 *  @return 0; -errno. Call control_release in any case. */
int control_init(struct control *self, struct serve *serve, const char *path, struct config *take_config,
		 struct err *err) ATTR_NODISCARD;
void control_release(struct control *self);
/** Blocks SIGTERM, SIGINT and SIGHUP in this thread and all threads started later, so that only the control thread
 *  handles them. Ignores SIGPIPE. @return 0; -errno. */
int control_block_signals(struct err *err) ATTR_NODISCARD;
/** Runs until SIGTERM or SIGINT. */
void control_run(struct control *self);
/** Drains the server: readiness fails and answers close their connections. After the configured time or another signal,
 *  no more connections are accepted, and requests under way get request_timeout_ms to end. */
void control_drain(struct control *self);

/* Single checks (control_reload.c). */
/** Loads a changed configuration. It is used completely, with the store that it names, or not at all. */
void control_check_config(struct control *self);
/** Loads a changed store. `is_forced`: also if its file did not change. */
void control_check_store(struct control *self, bool is_forced);
/** Opens the source that the configuration in use names. @return 0; -errno. */
int control_open_source(struct control *self, struct err *err) ATTR_NODISCARD;
/** Closes a source; its pointers may be NULL. */
void control_source_close(struct control_source *self);
/** Makes the next checks load everything. */
void control_forget(struct control *self);
/** Hash of the file's text, to detect a change. */
uint64_t control_config_hash(const char *path);
