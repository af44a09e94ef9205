/* SPDX-License-Identifier: Apache-2.0 */
/* One row for each key. Decoding, defaults, --print-config and docs/CONFIGURATION.md are made from these rows, so every
 * key is documented. */
#include "config/config_internal.h"

#include "base/limits.h"
#include "base/timefmt.h"

#define AT(field) offsetof(struct config, field)

static const struct config_key keys[] = {
	{"apiVersion", CONFIG_VERSION, 0, CONFIG_API_VERSION, 0, 0, NULL,
	 "The format of this file; the only key that must be there."},
	{"mode", CONFIG_ENUM, AT(policy.mode), "observe", 0, 0, "off|observe|fill|raise|enforce",
	 "What memtamer may change: `observe` only reports findings, `fill` adds missing values, `raise` also "
	 "raises values below the recommendation, `enforce` also lowers values that are proven too large. A "
	 "namespace's label `memtamer.io/mode` replaces it for that namespace. Quote \"off\" if a template "
	 "makes this file."},
	{"templates", CONFIG_ENUM, AT(policy.templates), "warn", 0, 0, "warn|patch",
	 "Objects that make pods (Job, PyTorchJob, RayCluster ...): `warn` reports findings in their pod "
	 "templates, `patch` sizes the templates when the object is created. With `patch` a queue (Kueue) "
	 "counts the sizes that run, and Ray starts with its final limit."},

	{"store.kind", CONFIG_ENUM, AT(store.kind), "file", 0, 0, "file|kube",
	 "Where profiles and histories live: one file, or objects of the cluster."},
	{"store.path", CONFIG_FILE, AT(store.path), "profiles.json", 0, 0, NULL,
	 "The file of kind `file`, relative to the folder of this configuration."},

	{"kubernetes.kubeconfig", CONFIG_FILE, AT(kubernetes.kubeconfig), "", 0, 0, NULL,
	 "Kubeconfig of the cluster for `store.kind: kube`; empty: $KUBECONFIG, ~/.kube/config, else the "
	 "service account of the program's pod. To use a kubeconfig, `kubectl` must be in PATH."},
	{"kubernetes.context", CONFIG_STRING, AT(kubernetes.context), "", 0, 0, NULL,
	 "Context of the kubeconfig; empty: its current one."},

	{"prometheus.url", CONFIG_URL, AT(prometheus.url), "http://127.0.0.1:9090", 0, 0, NULL,
	 "Base URL of Prometheus or of anything with its query API, with a path prefix if there is one."},
	{"prometheus.bearerTokenFile", CONFIG_FILE, AT(prometheus.bearer_token_file), "", 0, 0, NULL,
	 "A file with the bearer token; read again for every cycle."},
	{"prometheus.basicAuth.username", CONFIG_STRING, AT(prometheus.basic_user), "", 0, 0, NULL,
	 "User name for basic authentication."},
	{"prometheus.basicAuth.passwordFile", CONFIG_FILE, AT(prometheus.basic_password_file), "", 0, 0, NULL,
	 "A file with the password for basic authentication."},
	{"prometheus.tls.caFile", CONFIG_FILE, AT(prometheus.ca_file), "", 0, 0, NULL,
	 "Certificates (PEM) that the server's certificate must come from; empty: the system's."},
	{"prometheus.tls.certFile", CONFIG_FILE, AT(prometheus.cert_file), "", 0, 0, NULL,
	 "Client certificate (PEM) for mutual TLS."},
	{"prometheus.tls.keyFile", CONFIG_FILE, AT(prometheus.key_file), "", 0, 0, NULL,
	 "Key (PEM) of the client certificate."},
	{"prometheus.tls.insecureSkipVerify", CONFIG_BOOL, AT(prometheus.insecure_skip_verify), "false", 0, 0, NULL,
	 "Do not check the server's certificate; for tests only."},
	{"prometheus.headers", CONFIG_HEADERS, 0, "", 0, 0, NULL,
	 "Headers sent with every query (name: value), such as `X-Scope-OrgID` for the tenant; not "
	 "`Authorization`, for which there are bearerTokenFile and basicAuth."},
	{"prometheus.extraMatchers", CONFIG_STRING, AT(prometheus.extra_matchers), "", 0, 0, NULL,
	 "PromQL label matchers added to every selector, such as `cluster=\"a\"`. If the source has several "
	 "clusters, a matcher of the label that distinguishes them is required. Without it the recommender refuses "
	 "to mix their workloads if that label is `cluster`, `cluster_name`, `k8s_cluster`, `k8s_cluster_name` or "
	 "`cluster_id`; by another label, or none, it cannot see them, and workloads of the same namespace and name "
	 "become one."},
	{"prometheus.timeout", CONFIG_DURATION, AT(prometheus.timeout_ms), "30s", TIME_SECOND_MS, TIME_HOUR_MS, NULL,
	 "Longest time of one query."},
	{"prometheus.deadline", CONFIG_DURATION, AT(prometheus.deadline_ms), "10m", TIME_SECOND_MS, TIME_DAY_MS, NULL,
	 "Longest time of one cycle."},
	{"prometheus.step", CONFIG_DURATION, AT(prometheus.step_ms), "0s", 0, TIME_HOUR_MS, NULL,
	 "Scrape interval of the container metrics; 0s: it is measured for each run; resizes assume 30s. If it "
	 "differs between pods, set the longest."},
	{"prometheus.history", CONFIG_DURATION, AT(prometheus.history_ms), "14d", TIME_HOUR_MS, 400 * TIME_DAY_MS, NULL,
	 "How far back the first cycle looks."},
	{"prometheus.concurrency", CONFIG_INTEGER, AT(prometheus.concurrency), "4", 1, 64, NULL,
	 "Queries that run at the same time."},

	{"recommender.interval", CONFIG_DURATION, AT(recommender.interval_ms), "5m", TIME_SECOND_MS, TIME_DAY_MS, NULL,
	 "Time between the starts of two cycles."},
	{"recommender.namespaces", CONFIG_LIST, AT(recommender.namespaces), "", 0, 0, NULL,
	 "Learn from these namespaces only; empty: from all that are not excluded."},
	{"recommender.listen", CONFIG_LISTEN, AT(recommender.listen), "", 0, 0, NULL,
	 "Address and port for `/metrics`, `/healthz` and `/readyz` of `run`, plain HTTP; empty: none."},
	{"recommender.lease", CONFIG_STRING, AT(recommender.lease), "memtamer-recommender", 0, 0, NULL,
	 "With `store.kind: kube`: the Lease in memtamer's namespace by which one recommender of several leads; empty: "
	 "no election, when there is never more than one."},
	{"recommender.keep", CONFIG_DURATION, AT(recommender.keep_ms), "180d", TIME_HOUR_MS, 3650 * TIME_DAY_MS, NULL,
	 "Profiles and histories of workloads without a run for this time are deleted, unless somebody has set "
	 "something in `spec`."},
	{"recommender.probe", CONFIG_DURATION, AT(recommender.probe_ms), "1m", 0, TIME_DAY_MS, NULL,
	 "With `store.kind: kube`: how often the leader asks the API server for a dry run that must reach the webhook "
	 "(memtamer_webhook_reachable); 0s: never."},
	{"recommender.resize", CONFIG_ENUM, AT(policy.resize), "off", 0, 0, "off|onOOM|beforeOOM",
	 "With `store.kind: kube` and Kubernetes 1.33 or newer: `onOOM` raises the limit of an OOM-killed "
	 "container that restarts in its pod, `beforeOOM` also that of one that will soon reach it. Whether a "
	 "container restarts is decided by its own restartPolicyRules and restartPolicy, else by its pod's. Pods are "
	 "resized only in mode `raise` and above, and their annotation memtamer.io/resize can only narrow it. "
	 "Quote \"off\" if a template makes this file."},

	{"recommender.pods", CONFIG_BOOL, AT(recommender.pods), "true", 0, 0, NULL,
	 "With `store.kind: kube`: the leader also watches pods. An OOM kill is then in the profile within "
	 "seconds, without Prometheus and kube-state-metrics, and the outcome of sizes that memtamer set is "
	 "known."},
	{"recommender.runEvents", CONFIG_BOOL, AT(recommender.run_events), "true", 0, 0, NULL,
	 "With `recommender.pods`: an Event `MemoryUsed` of the owner says at the end of a run what it asked for, "
	 "what it used, and what to ask for next time. At most one for each owner and hour."},

	{"recommender.readLogs", CONFIG_BOOL, AT(recommender.read_logs), "false", 0, 0, NULL,
	 "With `recommender.pods`: why a run failed is read not only from the status and Events of the pod that died "
	 "first, but also from the end of its log, of which a MemoryProfile then quotes a line. The chart grants the "
	 "right "
	 "to read logs for it."},

	{"webhook.listen", CONFIG_LISTEN, AT(webhook.listen), "127.0.0.1:8443", 0, 0, NULL,
	 "Address and port of the HTTPS server; an IPv6 address in brackets, no address for all of the machine's, port "
	 "0 "
	 "for a free one."},
	{"webhook.tls.certFile", CONFIG_FILE, AT(webhook.cert_file), "", 0, 0, NULL,
	 "Certificate chain (PEM) of the server, loaded again when it changes; empty: memtamer makes and renews its "
	 "own."},
	{"webhook.tls.keyFile", CONFIG_FILE, AT(webhook.key_file), "", 0, 0, NULL, "Key (PEM) of the certificate."},
	{"webhook.tls.clientCAFile", CONFIG_FILE, AT(webhook.client_ca_file), "", 0, 0, NULL,
	 "Certificates (PEM) that client certificates must come from; empty: none are asked for."},
	{"webhook.tls.clientName", CONFIG_STRING, AT(webhook.client_name), "", 0, 0, NULL,
	 "Name (CN or SAN) that the client's certificate must have; empty: any of that CA."},
	{"webhook.tls.serverNames", CONFIG_LIST, AT(webhook.server_names), "localhost, 127.0.0.1", 0, 0, NULL,
	 "Names and addresses in the certificate that memtamer makes itself."},
	{"webhook.tls.secret", CONFIG_STRING, AT(webhook.tls_secret), "", 0, 0, NULL,
	 "With `store.kind: kube` and no certFile: the Secret in memtamer's namespace in which all replicas share the "
	 "CA "
	 "and the certificate; empty: each process has a CA of its own. The webhook creates and renews both, and "
	 "writes "
	 "the CA into its webhook configurations; with a CA of its own it changes no configuration."},
	{"webhook.tls.certLifetime", CONFIG_DURATION, AT(webhook.cert_lifetime_ms), "30d", 10 * TIME_SECOND_MS,
	 3650 * TIME_DAY_MS, NULL,
	 "How long a certificate in that Secret is valid; it is renewed when two thirds of that are over."},
	{"webhook.tls.caLifetime", CONFIG_DURATION, AT(webhook.ca_lifetime_ms), "365d", 10 * TIME_SECOND_MS,
	 3650 * TIME_DAY_MS, NULL, "The same for its CA."},
	{"webhook.configurations.mutating", CONFIG_STRING, AT(webhook.mutating_configuration), "a0-memtamer", 0, 0,
	 NULL, "Name of memtamer's MutatingWebhookConfiguration, which is watched for drift and given the CA."},
	{"webhook.configurations.validating", CONFIG_STRING, AT(webhook.validating_configuration), "memtamer-workloads",
	 0, 0, NULL, "The same for its ValidatingWebhookConfiguration."},
	{"webhook.threads", CONFIG_INTEGER, AT(webhook.threads), "2", 1, 64, NULL, "Threads that serve requests."},
	{"webhook.connections", CONFIG_INTEGER, AT(webhook.connections), "512", 8, 65536, NULL,
	 "Connections that may be open at the same time. For each further one an old one is closed: one that "
	 "has sent no whole request for a while, else the one that has been idle for the longest time."},
	{"webhook.idleTimeout", CONFIG_DURATION, AT(webhook.idle_timeout_ms), "120s", TIME_SECOND_MS, TIME_HOUR_MS,
	 NULL,
	 "Idle connections are closed after this time; keep it above the API server's 90s, which would else find "
	 "connections closed under its requests."},
	{"webhook.requestTimeout", CONFIG_DURATION, AT(webhook.request_timeout_ms), "10s", 100, TIME_HOUR_MS, NULL,
	 "Longest time from the start of a connection to its first request, and from the head of a request to the last "
	 "byte of its answer."},
	{"webhook.drain", CONFIG_DURATION, AT(webhook.drain_ms), "5s", 0, TIME_HOUR_MS, NULL,
	 "How long to go on serving after SIGTERM while readiness fails."},

	{"harm.pendingAfter", CONFIG_DURATION, AT(harm.pending_after_ms), "10m", TIME_SECOND_MS, TIME_DAY_MS, NULL,
	 "A pod that waited for this time, because no node had enough memory or ephemeral storage for a "
	 "request above its own, was harmed."},
	{"harm.slowerBy", CONFIG_FRACTION, AT(harm.slower_by_permille), "25%", 10, 10000, NULL,
	 "A run whose page cache filled a lowered limit was harmed if it took longer than the slowest of ten runs "
	 "before "
	 "it, or its accelerators were less active than in all of these, by more than this and than they differ."},

	{"namespaces.exclude", CONFIG_LIST, AT(policy.excluded_namespaces), "", 0, 0, NULL,
	 "Namespaces that memtamer ignores, besides kube-system and its own."},
	{"namespaces.own", CONFIG_STRING, AT(policy.own_namespace), "", 0, 0, NULL,
	 "The namespace that memtamer runs in, which it never touches; empty: with `store.kind: kube`, the one of the "
	 "service account or of the kubeconfig."},
	{"critical.priorityClasses", CONFIG_LIST, AT(policy.critical_priority_classes),
	 "system-cluster-critical, system-node-critical", 0, 0, NULL,
	 "Priority classes that mean a critical pod (check critical-not-guaranteed)."},

	{"sizing.class", CONFIG_ENUM, AT(policy.sizing.size_class), "dense", 0, 0, "dense|standing|guaranteed",
	 "How the request is chosen: `dense` is the quantile of use over time, `standing` the p95 of the runs' peaks, "
	 "`guaranteed` the limit."},
	{"sizing.quantile", CONFIG_FRACTION, AT(policy.sizing.quantile_permille), "50%", 10, 990, NULL,
	 "Quantile of use over time that becomes the request of class `dense`."},
	{"sizing.buffer.min", CONFIG_FRACTION, AT(policy.sizing.buffer_min_permille), "2%", 0, 2000, NULL,
	 "Share of the peak that is added to it for the limit, however many runs are known."},
	{"sizing.buffer.spread", CONFIG_FRACTION, AT(policy.sizing.buffer_spread_permille), "60%", 0, 2000, NULL,
	 "Share of the peak that is added as well, divided by the number of complete runs, at most 12 for each that "
	 "reached 70 % of the peak."},
	{"sizing.buffer.fixed", CONFIG_QUANTITY, AT(policy.sizing.buffer_fixed_bytes), "384Mi", 0, (int64_t)(64 * GIB),
	 NULL, "Added to each peak as well, because small processes vary by more of their size than large ones."},
	{"sizing.floors.request", CONFIG_QUANTITY, AT(policy.sizing.floor_request_bytes), "32Mi", 0,
	 (int64_t)(64 * GIB), NULL, "No memory request is set below it; `spec.floor` of a profile replaces it."},
	{"sizing.floors.limit", CONFIG_QUANTITY, AT(policy.sizing.floor_limit_bytes), "100Mi", 0, (int64_t)(64 * GIB),
	 NULL, "No memory limit is set below it; `spec.floor` of a profile replaces it."},
	{"sizing.ceiling", CONFIG_QUANTITY, AT(policy.sizing.ceiling_bytes), "0", 0, INT64_MAX, NULL,
	 "No memory size is set above it, except pins and a limit that must cover the manifest's request; 0: no "
	 "ceiling. No limit is added or lowered below what runs used. In a profile `spec.ceiling` replaces it."},
	{"sizing.minRuns", CONFIG_INTEGER32, AT(policy.sizing.min_runs), "3", 1, 32, NULL,
	 "Complete runs, or one OOM kill or failure close to the limit, that must be known before more than the "
	 "smallest "
	 "request is added."},
	{"sizing.noHistory", CONFIG_ENUM, AT(policy.sizing.no_history), "request", 0, 0, "warn|request|share",
	 "For a workload without enough runs: only `warn`, add the smallest `request`, or set request and "
	 "limit to 90 % of the accelerators' `share` of the roomiest node."},
	{"sizing.noHistoryRequest", CONFIG_QUANTITY, AT(policy.sizing.no_history_request_bytes), "64Mi", (int64_t)MIB,
	 (int64_t)(64 * GIB), NULL, "The smallest memory request, which keeps a pod out of BestEffort."},
	{"sizing.noHistoryEphemeralStorageRequest", CONFIG_QUANTITY,
	 AT(policy.sizing.no_history_ephemeral_request_bytes), "0", 0, (int64_t)(1024 * GIB), NULL,
	 "The ephemeral-storage request where disk use was not measured; 0: none is added. Cluster Autoscaler cannot "
	 "start the first node of some groups for a pod that requests ephemeral storage."},
	{"sizing.lowering.maxPerRun", CONFIG_FRACTION, AT(policy.sizing.lower_max_permille), "25%", 0, 1000, NULL,
	 "In mode `enforce`, a value goes down by at most this much from one run to the next."},
	{"sizing.lowering.minRuns", CONFIG_INTEGER32, AT(policy.sizing.lower_min_runs), "5", 1, 32, NULL,
	 "Complete runs of one variant that must be known before anything is lowered."},
	{"sizing.changeThreshold", CONFIG_FRACTION, AT(policy.sizing.change_min_permille), "10%", 0, 1000, NULL,
	 "A request or limit that is off by less is left as it is, unless it is pinned or runs need more than the "
	 "limit."},
	{"sizing.overShareThreshold", CONFIG_FRACTION, AT(policy.sizing.over_share_permille), "100%", 100, 10000, NULL,
	 "Warn when memory or disk is above this part of the accelerators' share of the node."},

	{"checks", CONFIG_CHECKS, 0, "", 0, 0, "off|warn|patch|deny",
	 "Action of single checks (name: action); docs/CHECKS.md lists them with their defaults. An action "
	 "never does more than the mode; `deny` applies to workload kinds only, never to pods."},
	{"nodeShapes", CONFIG_NODE_SHAPES, 0, "", 0, 0, NULL,
	 "Kinds of nodes, if no cluster can be queried; see below."},

	{"log.level", CONFIG_CHOICE, AT(log.level), "info", 0, 0, "debug|info|warn|error",
	 "Events of this level and above are written to standard error."},
	{"log.format", CONFIG_CHOICE, AT(log.format), "logfmt", 0, 0, "logfmt|json",
	 "Format of the log lines, one for each event."},
	{"log.audit", CONFIG_BOOL, AT(log.audit), "true", 0, 0, NULL,
	 "For each patched pod, log one line at level info with the pod, the old and new values, the rule and "
	 "the evidence."},
};

_Static_assert(ARRAY_LEN(keys) <= CONFIG_KEYS, "make CONFIG_KEYS larger");
const struct config_table config_table = {keys, ARRAY_LEN(keys)};

#undef AT
#define AT(field)   offsetof(struct node_shape, field)
#define NAME(field) CONFIG_NAME, AT(field), "", 0, sizeof(((struct node_shape *)NULL)->field) - 1, NULL

static const struct config_key shape_keys[] = {
	{"name", NAME(name), "Name of the shape; default: shape-1, shape-2 ..."},
	{"accelerator", NAME(resource),
	 "Resource name of the accelerator; default: nvidia.com/gpu, none when count is 0."},
	{"product", NAME(product),
	 "Value of the node label that names the accelerator's product, such as NVIDIA-H100-80GB-HBM3."},
	{"instanceType", NAME(instance_type), "Value of node.kubernetes.io/instance-type."},
	{"count", CONFIG_INTEGER, AT(accelerators), NULL, 0, 1024, NULL, "Accelerators of one node."},
	{"memory", CONFIG_QUANTITY, AT(memory_bytes), NULL, 1, INT64_MAX, NULL, "Allocatable memory of one node."},
	{"ephemeralStorage", CONFIG_QUANTITY, AT(ephemeral_bytes), "", 1, INT64_MAX, NULL,
	 "Allocatable ephemeral storage of one node."},
};

const struct config_table config_shape_table = {shape_keys, ARRAY_LEN(shape_keys)};
