/* SPDX-License-Identifier: Apache-2.0 */
/* One row per key. Decoding, defaults, --print-config and docs/CONFIGURATION.md come from here, so a key that is not
 * here does not exist and a key that is here is documented. */
#include "config/config_internal.h"

#include "base/limits.h"
#include "base/timefmt.h"

#define AT(field) offsetof(struct config, field)

static const struct config_key keys[] = {
	{"apiVersion", CONFIG_VERSION, 0, CONFIG_API_VERSION, 0, 0, NULL,
	 "The format of this file; the only key that must be there."},
	{"mode", CONFIG_ENUM, AT(policy.mode), "raise", 0, 0, "off|observe|fill|raise|enforce",
	 "How far memtamer goes: `observe` only says what it finds, `fill` adds what is missing, `raise` also raises "
	 "what "
	 "is proven too small, `enforce` also lowers what is proven too large. Quote \"off\" where the file is made by "
	 "a "
	 "template."},
	{"templates", CONFIG_ENUM, AT(policy.templates), "warn", 0, 0, "warn|patch",
	 "Objects that make pods (Job, JobSet, PyTorchJob, RayCluster ...): `warn` only says what is found in their "
	 "pod "
	 "templates, and the pods are sized; `patch` sizes the templates when the object is created, so that a queue "
	 "(Kueue, Volcano) counts what will run and Ray starts with its final limit."},

	{"store.kind", CONFIG_ENUM, AT(store.kind), "file", 0, 0, "file|kube",
	 "Where profiles and histories live: one file, or objects of the cluster."},
	{"store.path", CONFIG_FILE, AT(store.path), "profiles.json", 0, 0, NULL,
	 "The file of kind `file`, relative to the folder of this configuration."},

	{"kubernetes.kubeconfig", CONFIG_FILE, AT(kubernetes.kubeconfig), "", 0, 0, NULL,
	 "Kubeconfig of the cluster, for `store.kind: kube` and what goes with it; empty: $KUBECONFIG, ~/.kube/config, "
	 "else the service account of the pod that the program runs in."},
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
	 "Headers sent with every query (name: value), such as `X-Scope-OrgID` for the tenant. `Authorization` is not "
	 "allowed here: use bearerTokenFile or basicAuth."},
	{"prometheus.extraMatchers", CONFIG_STRING, AT(prometheus.extra_matchers), "", 0, 0, NULL,
	 "PromQL label matchers added to every selector, such as `cluster=\"a\"`."},
	{"prometheus.timeout", CONFIG_DURATION, AT(prometheus.timeout_ms), "30s", TIME_SECOND_MS, TIME_HOUR_MS, NULL,
	 "Longest time of one query."},
	{"prometheus.deadline", CONFIG_DURATION, AT(prometheus.deadline_ms), "10m", TIME_SECOND_MS, TIME_DAY_MS, NULL,
	 "Longest time of one cycle."},
	{"prometheus.step", CONFIG_DURATION, AT(prometheus.step_ms), "0s", 0, TIME_HOUR_MS, NULL,
	 "Scrape interval of the container metrics; 0s: measured. Where it differs between pods, set the longest."},
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
	 "With `store.kind: kube`: profiles and histories of workloads that have not run for so long are deleted; "
	 "those "
	 "with a pin, or other words of a person, never."},
	{"recommender.probe", CONFIG_DURATION, AT(recommender.probe_ms), "1m", 0, TIME_DAY_MS, NULL,
	 "With `store.kind: kube`: how often the leader asks the API server for a dry run that must reach the webhook "
	 "(memtamer_webhook_reachable); 0s: never."},
	{"recommender.resize", CONFIG_ENUM, AT(policy.resize), "off", 0, 0, "off|onOOM|beforeOOM",
	 "With `store.kind: kube` and Kubernetes 1.33 or newer: may the memory of pods that run be raised in place? "
	 "`onOOM` "
	 "raises the limit of a container that was OOM-killed and restarts in its pod (`restartPolicy: OnFailure`), "
	 "`beforeOOM` also that of one that will soon reach it. Only in mode `raise` and above; a pod's annotation "
	 "memtamer.io/resize with the same words can only narrow it. Quote \"off\" where the file is made by a "
	 "template."},

	{"recommender.pods", CONFIG_BOOL, AT(recommender.pods), "true", 0, 0, NULL,
	 "With `store.kind: kube`: the leader also watches pods, so that an OOM kill is in the profile within seconds, "
	 "with or without Prometheus and kube-state-metrics, and what became of sizes that memtamer chose is known."},

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
	 "and the certificate that memtamer makes, renews, and writes into its webhook configurations; empty: each "
	 "process has a CA of its own and no configuration is touched."},
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
	{"webhook.connections", CONFIG_INTEGER, AT(webhook.connections), "1024", 8, 65536, NULL,
	 "Connections at the same time; more are closed at once."},
	{"webhook.idleTimeout", CONFIG_DURATION, AT(webhook.idle_timeout_ms), "120s", TIME_SECOND_MS, TIME_HOUR_MS,
	 NULL,
	 "Idle connections are closed after this time; keep it above the API server's 90s, which would else find "
	 "connections closed under its requests."},
	{"webhook.requestTimeout", CONFIG_DURATION, AT(webhook.request_timeout_ms), "10s", 100, TIME_HOUR_MS, NULL,
	 "Longest time from the first byte of a request to the last of its answer."},
	{"webhook.drain", CONFIG_DURATION, AT(webhook.drain_ms), "5s", 0, TIME_HOUR_MS, NULL,
	 "How long to go on serving after SIGTERM while readiness fails."},

	{"harm.pendingAfter", CONFIG_DURATION, AT(harm.pending_after_ms), "10m", TIME_SECOND_MS, TIME_DAY_MS, NULL,
	 "A pod that waited so long because no node had enough memory, with a request above its own, was harmed."},
	{"harm.slowerBy", CONFIG_FRACTION, AT(harm.slower_by_permille), "25%", 10, 10000, NULL,
	 "A run at a lowered size that took so much longer than the slowest of at least three runs at its own size, or "
	 "whose accelerators were so much less active than in the least active of them, was harmed."},

	{"namespaces.exclude", CONFIG_LIST, AT(policy.excluded_namespaces), "", 0, 0, NULL,
	 "Namespaces that are never looked at, besides kube-system and memtamer's own."},
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
	{"sizing.buffer.min", CONFIG_FRACTION, AT(policy.sizing.buffer_min_permille), "5%", 0, 2000, NULL,
	 "Added to the peak for the limit, however many runs are known."},
	{"sizing.buffer.spread", CONFIG_FRACTION, AT(policy.sizing.buffer_spread_permille), "15%", 0, 2000, NULL,
	 "Added as well, times the square root of 3 / runs: it shrinks with evidence."},
	{"sizing.floors.request", CONFIG_QUANTITY, AT(policy.sizing.floor_request_bytes), "32Mi", 0,
	 (int64_t)(64 * GIB), NULL, "No recommended memory request is smaller."},
	{"sizing.floors.limit", CONFIG_QUANTITY, AT(policy.sizing.floor_limit_bytes), "100Mi", 0, (int64_t)(64 * GIB),
	 NULL, "No recommended memory limit is smaller."},
	{"sizing.ceiling", CONFIG_QUANTITY, AT(policy.sizing.ceiling_bytes), "0", 0, INT64_MAX, NULL,
	 "No recommendation is larger; 0: no ceiling."},
	{"sizing.minRuns", CONFIG_INTEGER32, AT(policy.sizing.min_runs), "3", 1, 32, NULL,
	 "Whole runs that must be known before more than the smallest request is added."},
	{"sizing.noHistory", CONFIG_ENUM, AT(policy.sizing.no_history), "request", 0, 0, "warn|request|share",
	 "For a workload without enough runs: only `warn`, add the smallest `request`, or set the limit to the "
	 "accelerators' `share` of the roomiest node."},
	{"sizing.noHistoryRequest", CONFIG_QUANTITY, AT(policy.sizing.no_history_request_bytes), "64Mi", (int64_t)MIB,
	 (int64_t)(64 * GIB), NULL, "The smallest memory request, which keeps a pod out of BestEffort."},
	{"sizing.noHistoryEphemeralStorageRequest", CONFIG_QUANTITY,
	 AT(policy.sizing.no_history_ephemeral_request_bytes), "1Gi", (int64_t)MIB, (int64_t)(1024 * GIB), NULL,
	 "The ephemeral-storage request without history, and at most 5% of the smallest node that the pod may get."},
	{"sizing.lowering.maxPerRun", CONFIG_FRACTION, AT(policy.sizing.lower_max_permille), "25%", 0, 1000, NULL,
	 "In mode `enforce`, a value goes down by at most this much from one run to the next."},
	{"sizing.lowering.minRuns", CONFIG_INTEGER32, AT(policy.sizing.lower_min_runs), "5", 1, 32, NULL,
	 "Whole runs of one variant that must be known before anything is lowered."},
	{"sizing.changeThreshold", CONFIG_FRACTION, AT(policy.sizing.change_min_permille), "10%", 0, 1000, NULL,
	 "A request or limit that is off by less is left as it is."},
	{"sizing.overShareThreshold", CONFIG_FRACTION, AT(policy.sizing.over_share_permille), "100%", 100, 10000, NULL,
	 "Warn when memory or disk is above this part of the accelerators' share of the node."},

	{"checks", CONFIG_CHECKS, 0, "", 0, 0, "off|warn|patch|deny",
	 "Action of single checks (name: action); docs/CHECKS.md lists them with their defaults. An action never does "
	 "more "
	 "than the mode; `deny` works on workload kinds only, never on pods."},
	{"nodeShapes", CONFIG_NODE_SHAPES, 0, "", 0, 0, NULL,
	 "Kinds of nodes, for where no cluster can be asked; see below."},

	{"log.level", CONFIG_CHOICE, AT(log.level), "info", 0, 0, "debug|info|warn|error",
	 "Events of this level and above go to standard error."},
	{"log.format", CONFIG_CHOICE, AT(log.format), "logfmt", 0, 0, "logfmt|json",
	 "One line an event, in this form."},
	{"log.audit", CONFIG_BOOL, AT(log.audit), "true", 0, 0, NULL,
	 "For each pod patched one line at level info: who it is, what was changed, from what, by which rule and "
	 "evidence."},
};

const struct config_key *config_keys(size_t *ret_n)
{
	_Static_assert(ARRAY_LEN(keys) <= CONFIG_KEYS, "make CONFIG_KEYS larger");
	*ret_n = ARRAY_LEN(keys);
	return keys;
}

#define SHAPE(field) offsetof(struct node_shape, field), sizeof(((struct node_shape *)NULL)->field)

static const struct config_shape_field shape_fields[] = {
	{"name", SHAPE_TEXT, SHAPE(name), false, "Name of the shape; default: shape-1, shape-2 ..."},
	{"accelerator", SHAPE_TEXT, SHAPE(resource), false,
	 "Resource name of the accelerator; default: nvidia.com/gpu, none when count is 0."},
	{"product", SHAPE_TEXT, SHAPE(product), false,
	 "Value of the node label that names the accelerator's product, such as NVIDIA-H100-80GB-HBM3."},
	{"instanceType", SHAPE_TEXT, SHAPE(instance_type), false, "Value of node.kubernetes.io/instance-type."},
	{"count", SHAPE_COUNT, SHAPE(accelerators), true, "Accelerators of one node."},
	{"memory", SHAPE_BYTES, SHAPE(memory_bytes), true, "Allocatable memory of one node."},
	{"ephemeralStorage", SHAPE_BYTES, SHAPE(ephemeral_bytes), false, "Allocatable ephemeral storage of one node."},
};

const struct config_shape_field *config_shape_fields(size_t *ret_n)
{
	*ret_n = ARRAY_LEN(shape_fields);
	return shape_fields;
}
