/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* limits: every cap on what comes from outside, in one place, with its unit and reason. */
#include <stddef.h>

#define KIB ((size_t)1024)
#define MIB (KIB * KIB)
#define GIB (KIB * MIB)

/* Admission. The API server takes objects of 3 MiB; a review holds object and oldObject (controller-runtime's 7 MiB).
 */
#define LIMIT_REVIEW_BYTES	  (7 * MIB)
#define LIMIT_PROBE_BYTES	  (256 * KIB) /* a review of a ConfigMap of ours, managedFields and all */
#define LIMIT_REVIEWS_TOTAL_BYTES (32 * MIB)  /* all connections together; beyond that 503 */
#define LIMIT_REVIEW_DEPTH	  64	      /* a pod with managedFields is 18 deep */
#define LIMIT_REVIEW_TOKENS	  1000000     /* `{`, `[` and `,` of a body: bounds the work of a scan */
#define LIMIT_PROJECTED_TOKENS	  65536	      /* values that are kept of a document */
#define LIMIT_POD_CONTAINERS	  128	      /* containers and init containers of a pod that we size */
#define LIMIT_PATCH_OPS		  1024
#define LIMIT_RESPONSE_BYTES	  (256 * KIB)
#define LIMIT_WARNINGS		  10
#define LIMIT_WARNING_CHARS	  120

/* Files. */
#define LIMIT_CONFIG_BYTES	 (256 * KIB)
#define LIMIT_CREDENTIAL_BYTES	 (256 * KIB) /* certificates, keys, tokens */
#define LIMIT_CA_BUNDLE_CERTS	 32	     /* certificates of one bundle or chain */
#define LIMIT_MANIFEST_BYTES	 (16 * MIB)
#define LIMIT_MANIFEST_DOCUMENTS 10000
#define LIMIT_YAML_DEPTH	 48 /* libyaml 0.2.5 is quadratic in depth: stop early */
#define LIMIT_YAML_NODES	 1000000
#define LIMIT_STORE_BYTES	 (2 * GIB) /* 100,000 workloads with histories of 32 KiB would be 3 GiB; typical 4 */
#define LIMIT_STORE_ITEM_BYTES                                                                                         \
	(256 * KIB) /* one object of a store; histories are at most 32 KiB, pretty-printed more */

/* Prometheus. */
#define LIMIT_PROM_LABELSET_BYTES (64 * KIB)
#define LIMIT_PROM_ERROR_BYTES	  (64 * KIB)
#define LIMIT_PROM_QUERY_BYTES	  (256 * KIB) /* one expression with its list of namespaces */
#define LIMIT_PROM_SERIES	  2000000     /* of one answer */
#define LIMIT_PROM_METADATA_BYTES (4 * MIB)   /* names of metrics, labels or namespaces */
#define LIMIT_EVIDENCE_BYTES	  (512 * MIB) /* one window of pods; beyond it the window is halved */
#define LIMIT_CYCLE_CURVES	  256	      /* curves of runs that are asked for in one cycle: two queries each */
#define LIMIT_COLLECTOR_BYTES	  (512 * MIB) /* state of runs that are not over */

/* Objects (kept small enough for etcd and for the webhook's memory). */
#define LIMIT_OBJECT_DOC_BYTES	    (8 * MIB) /* an object taken apart to be decoded */
#define LIMIT_PROFILE_BYTES	    1024      /* spec + status with one variant; 512 more for each further one */
#define LIMIT_PROFILE_VARIANTS	    4
#define LIMIT_PROFILE_ALIASES	    8
#define LIMIT_PROFILE_VARIANT_BYTES 512
#define LIMIT_NAMESPACE_BYTES	    63	/* RFC 1123 label */
#define LIMIT_NAME_BYTES	    253 /* RFC 1123 subdomain */
#define LIMIT_KEY_BYTES		    127 /* workload key, without NUL */
#define LIMIT_REASON_BYTES	    160 /* one reason of a recommendation */
#define LIMIT_HISTORY_BYTES	    (32 * KIB)
#define LIMIT_HISTORY_RUNS	    32
#define LIMIT_HISTORY_CURVES	    8
#define LIMIT_CURVE_POINTS	    32
#define LIMIT_CURVE_POINTS_MIN	    16 /* of fewer a plateau is not seen */
#define LIMIT_HISTORY_DECISIONS	    32
#define LIMIT_HISTORY_DAYS	    90

/* The API server. */
#define LIMIT_KUBECONFIG_BYTES	  (4 * MIB)  /* many clusters in one file, certificates inside */
#define LIMIT_KUBE_OBJECT_BYTES	  (4 * MIB)  /* one object of an answer; etcd takes 1.5 MiB, the API server 3 */
#define LIMIT_KUBE_OBJECT_TOKENS  200000     /* `{`, `[` and `,` of an object: json-c needs 260 bytes for each */
#define LIMIT_KUBE_ENVELOPE_BYTES (64 * KIB) /* of a list without its items */
#define LIMIT_KUBE_PLUGIN_BYTES	  (1 * MIB)  /* answer of a credential plugin */
#define LIMIT_QUOTA_NAMESPACES	  256	     /* of which pods are watched: a connection each */
#define LIMIT_POD_OWNERS	  100000     /* owners of pods whose owners are remembered */
#define LIMIT_KUBE_NOTE_BYTES	  1024	     /* message of an event; the API server refuses more */
#define LIMIT_RESIZE_ASKS	  1024	     /* containers that wait for a resize */

#define LIMIT_STATUS_BYTES (64 * KIB) /* what is said of the last cycle */

#define LIMIT_LOG_LINE_BYTES (8 * KIB)
