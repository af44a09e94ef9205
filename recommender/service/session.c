/* SPDX-License-Identifier: Apache-2.0 */
#include "service/session.h"

#include "base/log.h"
#include "evidence/query.h"
#include "service/run_output.h"

#include <errno.h>
#include <signal.h>

#define LIST_TURN_MS 100

/* Used by the signal handler: what to interrupt, what to wake, and whether to stop. */
static struct session *volatile interruptible;
static struct service *volatile wakeable;
static volatile sig_atomic_t is_stopping;

static void interrupt(void *context)
{
	struct session *self = context;

	atomic_store(&self->is_interrupted, true);
	query_reader_interrupt(self->reader);
	if (self->access.kube.client)
		kube_client_interrupt(self->access.kube.client);
}

static void on_signal(int signal_number)
{
	if (signal_number != SIGHUP) {
		is_stopping = 1;
		if (interruptible)
			interrupt(interruptible);
	}
	if (wakeable)
		service_wake(wakeable);
}

void session_catch_signals(void)
{
	struct sigaction action = {.sa_handler = on_signal};

	sigemptyset(&action.sa_mask);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	action.sa_handler = SIG_IGN;
	sigaction(SIGPIPE, &action, NULL);
}

bool session_is_stopping(void)
{
	return is_stopping;
}

static void configure_log(const struct config *config)
{
	int level = log_level_parse(config->log.level);

	log_configure(level < 0 ? LOG_INFO : (enum log_level)level,
		      streq(config->log.format, "json") ? LOG_JSON : LOG_LOGFMT);
}

/* People in a namespace can write as many bad objects as they like, so both kinds of line are limited. */
static void log_bad(void *context, const struct err *why)
{
	static const struct log_kind unapplied = {
		LOG_WARN, "spec of a profile is not applied; its workload is only observed", 20, 10000};
	static const struct log_kind skipped = {LOG_WARN, "object skipped", 20, 10000};
	static struct log_gate unapplied_gate, skipped_gate;

	(void)context;
	if (why->code == STORE_SPEC_INVALID)
		log_limited(&unapplied_gate, &unapplied, "where", why->where, "error", why->msg, NULL);
	else
		log_limited(&skipped_gate, &skipped, "where", why->where, "error", why->msg, NULL);
}

/* Called by the store between two writes. */
static bool must_end(void *context)
{
	struct session *self = context;

	if (self->service)
		service_promise(self->service, SESSION_GRACE_MS); /* progress: not stuck */
	return is_stopping || atomic_load(&self->is_interrupted) || (self->service && !service_leads(self->service));
}

static void count_write(void *context, enum kube_verb verb, long status)
{
	struct session *self = context;
	enum metric_write result = status / 100 == 2 ? WRITE_OK : status == 409 ? WRITE_CONFLICT : WRITE_FAILED;

	metrics_count(self->metrics, METRIC_KUBE_REQUESTS, service_metrics_verb(verb),
		      service_metrics_code(METRIC_KUBE_REQUESTS, 1, status), 0);
	if (verb == KUBE_CREATE || verb == KUBE_UPDATE || verb == KUBE_MERGE_PATCH || verb == KUBE_DELETE)
		metrics_count(self->metrics, METRIC_STORE_WRITES, result, 0, 0);
}

/* Notices are also logged: a file store has no Events, and logs are kept longer. */
static void notify(void *context, const struct notice *notice)
{
	struct session *self = context;

	if (notice->kind != NOTICE_SET)
		log_event(LOG_WARN, notice->kind == NOTICE_CAP ? "namespace capped" : "harm", "namespace",
			  notice->namespace_name, "owner", notice->owner, "what", notice->text, NULL);
	if (service_replica(self->service))
		replica_notify(service_replica(self->service), notice);
}

/* ---- open and close ---- */

/* Closes reader and store; the configuration and the service stay. */
static void session_shut(struct session *self)
{
	if (self->service)
		service_set_interrupt(self->service, NULL, NULL);
	interruptible = NULL;
	resize_watch_free(TAKE_PTR(self->resizes));
	ignored_namespaces_free(TAKE_PTR(self->ignored));
	query_reader_freep(&self->reader);
	engine_release(&self->engine);
	store_access_release(&self->access);
}

/* Opens reader and store for self->config. Call session_shut even after a failure. @return an exit code. */
static int session_open(struct session *self, struct err *err)
{
	const struct config *config = self->config;
	struct query_config query = {.prometheus = &config->prometheus,
				     .namespaces = config->recommender.namespaces,
				     .excluded_namespaces = config->policy.excluded_namespaces};

	atomic_store(&self->is_interrupted, false);
	if (query_reader_new(&query, &self->reader, err))
		return EXIT_USAGE;
	if (store_access_open(config, true, "memtamer-recommender", &self->access, err))
		return EXIT_DEPENDENCY;
	store_set_bad(self->access.store, log_bad, NULL);
	store_set_cancelled(self->access.store, must_end, self);
	if (self->metrics && self->access.kube.client)
		kube_client_observe(self->access.kube.client, count_write, self);
	self->engine = (struct engine){.notice = notify,
				       .notice_context = self,
				       .config = config,
				       .store = self->access.store,
				       .reader = self->reader,
				       .progress = run_output_progress};
	return EXIT_CLEAN;
}

/* ---- --once in a cluster: which namespaces to leave out ---- */

static void log_failure(void *context, const struct err *why)
{
	(void)context;
	log_err(LOG_WARN, "namespaces cannot be listed, will retry", why);
}

static int list_ignored(struct session *self, struct err *err)
{
	const struct ignored_namespaces_config config = {.failed = log_failure};
	struct kube_client *client = self->access.kube.client;
	int64_t end_ms = time_monotonic_ms() + SESSION_LIST_MS;
	int r = client ? ignored_namespaces_start(client, &config, &self->ignored, err) : 0;

	if (r || !client)
		return r ? EXIT_DEPENDENCY : EXIT_CLEAN;
	while (ignored_namespaces_find(self->ignored, "") == ENGINE_LEFT_OUT_UNKNOWN && !is_stopping &&
	       time_monotonic_ms() < end_ms)
		if (kube_client_poll(client, NULL, 0, LIST_TURN_MS, err))
			return EXIT_DEPENDENCY;
	self->engine.left_out = ignored_namespaces_find;
	self->engine.left_out_context = self->ignored;
	return EXIT_CLEAN;
}

static void connect_diagnoser(struct session *self, struct pods *pods)
{
	if (!self->access.kube.client)
		return;
	pod_diagnoser_connect(&self->diagnoser, pods, self->access.kube.client, self->config->recommender.read_logs);
	self->engine.diagnoser = pod_diagnoser_interface(&self->diagnoser);
}

/* What the engine and resizes read from the cluster. */
static void connect_replica(struct session *self, struct replica *replica)
{
	struct err err = ERR_INIT;

	self->engine.nodes = replica_shapes;
	self->engine.nodes_context = replica;
	self->engine.left_out = replica_ignores;
	self->engine.left_out_context = replica;
	if (replica_pods(replica)) {
		self->quick.service = self->service;
		self->engine.pods = quick_pods;
		self->engine.pods_done = quick_written;
		self->engine.pods_context = &self->quick;
		self->engine.between = self->between;
		self->engine.between_context = self;
		connect_diagnoser(self, replica_pods(replica));
	}
	if (resize_watch_new(self->config, replica, self->reader, self->access.store, &self->resizes, &err))
		log_err(LOG_ERROR, "running pods are not resized", &err);
}

/* From now on signals and the loss of leadership end the current cycle. */
static void session_arm(struct session *self)
{
	self->quick.service = NULL;
	if (service_replica(self->service))
		connect_replica(self, service_replica(self->service));
	if (self->service)
		service_set_interrupt(self->service, interrupt, self);
	interruptible = self;
	if (is_stopping)
		interrupt(self); /* the signal arrived before there was anything to interrupt */
}

/* Frees a configuration, unless the service still uses it. */
static void let_go(const struct session *self, struct config **config)
{
	struct config *gone = TAKE_PTR(*config);

	if (gone != self->config && gone != self->service_config)
		config_free(gone);
}

static void stop_service(struct session *self)
{
	wakeable = NULL;
	service_stop(TAKE_PTR(self->service));
	let_go(self, &self->service_config);
}

static int start_service(struct session *self, struct err *err)
{
	self->service_config = self->config;
	self->quick = (struct quick){.service = NULL}; /* a new service counts its changes from 1 */
	if (service_start(self->config, self->metrics, self->log_buffer, &self->service, err))
		return EXIT_DEPENDENCY;
	wakeable = self->service;
	return EXIT_CLEAN;
}

int session_start(struct session *self, bool is_once, struct err *err)
{
	int code;

	configure_log(self->config);
	if (!is_once && !(self->metrics = service_metrics_new())) {
		err_set(err, -ENOMEM, "no memory left");
		return EXIT_DEPENDENCY;
	}
	code = session_open(self, err);
	if (!code)
		code = is_once ? list_ignored(self, err) : start_service(self, err);
	if (!code)
		session_arm(self);
	return code;
}

int session_reopen(struct session *self, struct config *take_config, struct err *err)
{
	bool is_other = !self->service ||
			(take_config != self->service_config && service_differs(self->service_config, take_config));
	int code;

	session_shut(self);
	if (is_other)
		stop_service(self);
	if (take_config != self->config)
		let_go(self, &self->config);
	self->config = take_config;
	configure_log(take_config);
	/* The store is opened first: a process that cannot open it should not take part in the election. */
	code = session_open(self, err);
	if (!code && is_other)
		code = start_service(self, err);
	if (!code)
		session_arm(self);
	return code;
}

void session_close(struct session *self)
{
	session_shut(self);
	stop_service(self);
	cycle_record_release(&self->record);
	config_freep(&self->config);
}
