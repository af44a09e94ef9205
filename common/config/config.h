/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* config: reads the YAML file that configures both programs. One row for each key (config_table.c) has its path, type,
 * range, unit, default and help; decoding, --print-config, docs/CONFIGURATION.md and the chart's values are made from
 * the rows. Unknown or duplicate keys, wrong units, aliases and a second document are errors with file:line:col. A
 * configuration is immutable after loading and owns all its strings; a reload makes a new one. Any thread may read
 * it. */
#include "base/err.h"
#include "base/strbuf.h"
#include "model/node_shape.h"
#include "policy/policy.h"

#define CONFIG_API_VERSION "config.memtamer.io/v1alpha1"

enum store_kind { STORE_FILE, STORE_KUBE };

struct store_config {
	enum store_kind kind;
	const char *path; /* file: the List; relative to the folder of the configuration */
};

/** How to reach the cluster; used with STORE_KUBE only. */
struct kubernetes_config {
	const char *kubeconfig; /* NULL: found as kube_access.h says */
	const char *context;	/* NULL: the current context */
};

struct http_header {
	const char *name, *value;
};

struct prometheus_config {
	const char *url; /* with path prefix, without trailing slash */
	const char *bearer_token_file, *basic_user, *basic_password_file;
	const char *ca_file, *cert_file, *key_file;
	bool insecure_skip_verify;
	const struct http_header *headers;
	size_t n_headers;
	int64_t timeout_ms;	    /* for one query; 30 s */
	int64_t deadline_ms;	    /* for one cycle; 10 min */
	int64_t step_ms;	    /* expected scrape interval; 0: measured */
	int64_t history_ms;	    /* how far back the first cycle reads; 14 d */
	int64_t concurrency;	    /* queries at a time; 4 */
	const char *extra_matchers; /* PromQL label matchers added to every selector, e.g. cluster="a" */
};

struct webhook_config {
	const char *listen;		  /* "127.0.0.1:8443", "[::]:8443" */
	const char *cert_file, *key_file; /* NULL: memtamer makes its own */
	const char *client_ca_file;	  /* NULL: no client certificates */
	const char *client_name;	  /* CN or SAN that the client must have; NULL: any client of that CA */
	const char *const *server_names;  /* SANs of the self-made certificate; NULL-terminated */
	int64_t threads;		  /* server threads; 2 */
	int64_t connections;		  /* 1024 */
	int64_t idle_timeout_ms;	  /* 120 s; above the API server's 90 s */
	int64_t request_timeout_ms;	  /* 10 s for head, body and answer */
	int64_t drain_ms;		  /* how long new connections are accepted after SIGTERM; 5 s */
	/* Secret that all replicas share; NULL: each process has a CA of its own */
	const char *tls_secret;
	int64_t cert_lifetime_ms, ca_lifetime_ms; /* in that Secret; 30 d, 365 d */
	const char *mutating_configuration;	  /* a0-memtamer; NULL: none */
	const char *validating_configuration;	  /* memtamer-workloads; NULL: none */
};

struct recommender_config {
	int64_t interval_ms;	       /* between cycles; 5 min */
	const char *const *namespaces; /* only these; NULL-terminated; empty: all except the excluded ones */
	const char *listen;	       /* /metrics, /healthz, /readyz; NULL: none */
	const char *lease;	       /* leader election; NULL: none */
	int64_t keep_ms;	       /* objects of workloads without a run for this time are deleted; 180 d */
	int64_t probe_ms;	       /* between two dry runs through the webhook; 0: none; 1 min */
	bool pods;		       /* also watch pods; true */
	bool run_events;	       /* an Event at the end of each run; true */
	bool read_logs;		       /* also logs say why a run failed; false */
};

/** When a bad outcome at a size that memtamer chose counts as harm. */
struct harm_config {
	int64_t pending_after_ms; /* waited this long for memory; 10 min */
	/* took this much longer, or was this much less active, than any run at its own size; 250 */
	int32_t slower_by_permille;
};

struct log_config {
	const char *level, *format; /* info, logfmt */
	bool audit;		    /* a log line for each patched pod; true */
};

struct config {
	const char *file; /* path of the file; "(defaults)" without one */
	struct policy policy;
	struct store_config store;
	struct kubernetes_config kubernetes;
	struct prometheus_config prometheus;
	struct webhook_config webhook;
	struct recommender_config recommender;
	struct harm_config harm;
	struct log_config log;
	const struct node_shape *node_shapes;
	size_t n_node_shapes;
};

/** Makes a configuration of defaults. NULL: out of memory. */
struct config *config_new_default(void) ATTR_NODISCARD;
/** Loads a file; NULL: the defaults. @return 0; -EINVAL with file:line:col in `err`; another -errno. */
int config_load(const char *path, struct config **ret, struct err *err) ATTR_NODISCARD;
/** The same from memory. `name` stands for the file in errors; relative paths start from `folder`. */
int config_parse(const char *text, size_t n, const char *name, const char *folder, struct config **ret,
		 struct err *err) ATTR_NODISCARD;
void config_free(struct config *self);
void config_freep(struct config **self);
/** Appends every effective value with its origin (default, or file:line), as YAML that loads to the same configuration.
 *  @return the sticky status of `buf`. */
int config_print(const struct config *self, struct strbuf *buf);
