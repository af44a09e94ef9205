/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* session: what `run` holds open for a configuration: reader, store, engine, and what runs beside (service.h). Signals
 * end what is under way, and so does the loss of leadership. One session a process; the main thread's. */
#include "base/timefmt.h"
#include "engine/engine.h"
#include "program/store_access.h"
#include "service/cycle_record.h"
#include "service/metrics.h"
#include "service/quick.h"
#include "service/resize_watch.h"
#include "service/service.h"

#include <stdatomic.h>
#include <time.h>

/* Beyond what a step should take: then /healthz says so. */
#define SESSION_GRACE_MS (10 * TIME_MINUTE_MS)

/* Everything that a configuration stands behind. */
struct session {
	struct config *config;
	struct config *service_config;	/* that of `service`, which goes by it; may be `config` */
	void (*between)(void *context); /* run where a cycle may be interrupted for a moment */
	struct store_access access;
	struct evidence_reader *reader;
	struct engine engine;
	struct service *service;      /* NULL with --once */
	struct resize_watch *resizes; /* NULL without a service */
	struct metrics *metrics;      /* of the process; NULL with --once */
	struct quick quick;
	const char *path; /* of the configuration; NULL: defaults */
	struct timespec config_mtime;
	bool has_logged_missing;
	struct cycle_record record;
	atomic_bool is_interrupted; /* leadership was lost: reader and store are of no more use */
};

/** From now on SIGTERM and SIGINT stop, SIGHUP wakes. */
void session_catch_signals(void);
bool session_is_stopping(void);

/** Open all by self->config, without a service with `is_once`. session_close in any case. @return an exit code. */
int session_start(struct session *self, bool is_once, struct err *err) ATTR_NODISCARD;
/** Reader and store anew; what runs beside only where the configuration wants another one. @return an exit code. */
int session_reopen(struct session *self, struct config *take_config, struct err *err) ATTR_NODISCARD;
/** Gives the lease up: a new leader goes on where this one stopped. Also twice. */
void session_close(struct session *self);
