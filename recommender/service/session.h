/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* session: what `run` keeps open for a configuration: reader, store, engine, and the service (service.h). Signals and
 * the loss of leadership end the current cycle. One session a process. Main thread. */
#include "base/timefmt.h"
#include "engine/engine.h"
#include "program/store_access.h"
#include "service/cycle_record.h"
#include "service/ignored_namespaces.h"
#include "service/metrics.h"
#include "service/pod_diagnoser.h"
#include "service/quick.h"
#include "service/resize_watch.h"
#include "service/service.h"
#include "service/unraised_kills.h"

#include <stdatomic.h>
#include <time.h>

/* A step that exceeds its expected duration by this time makes /healthz fail. */
#define SESSION_GRACE_MS (10 * TIME_MINUTE_MS)

/* How long a first cycle waits for lists of the API server. */
#define SESSION_LIST_MS (5 * TIME_SECOND_MS)

/* All objects that depend on a configuration. */
struct session {
	struct config *config;
	struct config *service_config;	/* the configuration that `service` uses; may be equal to `config` */
	void (*between)(void *context); /* called where a cycle may be interrupted briefly */
	struct store_access access;
	struct evidence_reader *reader;
	struct engine engine;
	struct service *service;	    /* NULL with --once */
	struct ignored_namespaces *ignored; /* with --once in a cluster; else the replica has them */
	struct resize_watch *resizes;	    /* NULL without a cluster */
	struct unraised_kills kills;
	bool has_more_kills;	       /* to be reported, besides those of the last pass */
	struct metrics *metrics;       /* of the process; NULL with --once */
	struct log_buffer *log_buffer; /* of the process, borrowed; NULL with --once */
	struct quick quick;
	struct pod_diagnoser diagnoser;
	const char *path; /* of the configuration file; NULL: defaults */
	struct timespec config_mtime;
	bool has_logged_missing;
	struct cycle_record record;
	int n_unread;		    /* complete cycles in a row that read nothing of Prometheus */
	atomic_bool is_interrupted; /* leadership was lost: reader and store must be reopened */
};

/** Installs signal handlers: SIGTERM and SIGINT stop the session, SIGHUP wakes it. */
void session_catch_signals(void);
/** Whether SIGTERM or SIGINT arrived. */
bool session_is_stopping(void);

/** Opens everything for self->config; with `is_once` without a service. Call session_close even after a failure.
 * @return an exit code. */
int session_start(struct session *self, bool is_once, struct err *err) ATTR_NODISCARD;
/** Replaces the configuration: reopens reader and store, and restarts the service only if the configuration needs a
 * different one. @return an exit code. */
int session_reopen(struct session *self, struct config *take_config, struct err *err) ATTR_NODISCARD;
/** Closes everything. The Lease is released, so that a new leader can continue. May be called twice. */
void session_close(struct session *self);
