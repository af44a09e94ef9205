/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* limits: the caps on all input, in one place, with unit and reason. */
#include <stddef.h>

#define KIB ((size_t)1024)
#define MIB (KIB * KIB)
#define GIB (KIB * MIB)

/* Admission. The API server takes objects of 3 MiB; a review holds object and oldObject (controller-runtime's 7 MiB).
 */
#define LIMIT_REVIEW_BYTES	  (7 * MIB)
#define LIMIT_PROBE_BYTES	  (256 * KIB) /* a review of a ConfigMap of ours, managedFields and all */
#define LIMIT_REVIEWS_TOTAL_BYTES (32 * MIB)  /* all requests, beyond 64 KiB each; 503 when reached */
#define LIMIT_REVIEW_DEPTH	  64	      /* a pod with managedFields is 18 deep */
#define LIMIT_REVIEW_TOKENS	  1000000     /* `{`, `[` and `,` in a body: bounds the time to scan it */
#define LIMIT_PROJECTED_TOKENS	  65536	      /* values that are kept from one document */
#define LIMIT_POD_CONTAINERS	  128	      /* containers and init containers of one pod */
#define LIMIT_OBJECT_CONTAINERS	  1024	      /* the same in all pod templates of one object together */
#define LIMIT_EXTENDED_RESOURCES  64	      /* extended resources and huge pages of one container */
#define LIMIT_OWNER_REFERENCES	  64
#define LIMIT_QUALIFIED_NAME_BYTES                                                                                     \
	317 /* a domain of 253, a slash, a name of 63: the longest name of any sort that the API server takes */
#define LIMIT_NAME_PART_BYTES	 63 /* of these, behind the slash */
#define LIMIT_RESPONSE_BYTES	 (256 * KIB)
#define LIMIT_ANNOTATION_BYTES	 (64 * KIB)  /* memtamer never writes a longer one */
#define LIMIT_ANNOTATIONS_BYTES	 (256 * KIB) /* of all annotations of an object: the API server rejects more */
#define LIMIT_ANNOTATION_ENTRIES 4096	     /* values that an annotation lists as set */
#define LIMIT_WARNINGS		 10
#define LIMIT_WARNING_CHARS	 120

/* Rules of a namespace. Administrators write them, but a review reads them once for each template. */
#define LIMIT_NAMESPACE_QUOTAS 64 /* memtamer sets no sizes in a namespace with more */
#define LIMIT_QUOTA_SCOPES     32
#define LIMIT_QUOTA_VALUES     64 /* priority classes in one quota */

/* Files. */
#define LIMIT_CONFIG_BYTES	 (256 * KIB)
#define LIMIT_CREDENTIAL_BYTES	 (256 * KIB) /* certificates, keys, tokens */
#define LIMIT_CA_BUNDLE_CERTS	 32	     /* certificates of one bundle or chain */
#define LIMIT_MANIFEST_BYTES	 (16 * MIB)
#define LIMIT_MANIFEST_DOCUMENTS 10000
#define LIMIT_YAML_DEPTH	 128 /* CustomResourceDefinitions of large objects have about 60 */
#define LIMIT_YAML_FLOW_DEPTH	 48  /* nesting of [] and {}: libyaml 0.2.5 is quadratic in it */
#define LIMIT_YAML_TAG_LINES	 64  /* %TAG directives of one file: libyaml is quadratic in those of a document */
#define LIMIT_YAML_NODES	 1000000
#define LIMIT_STORE_BYTES	 (2 * GIB)   /* 100,000 workloads with full histories are 1 GiB */
#define LIMIT_STORE_ITEM_BYTES	 (256 * KIB) /* one object of a store, pretty-printed or not */

/* Prometheus. */
#define LIMIT_PROM_LABELSET_BYTES (64 * KIB)
#define LIMIT_PROM_SERIES_BYTES	  (4 * MIB)   /* labels and samples of one series; 11,000 samples are 400 KiB */
#define LIMIT_PROM_ENVELOPE_BYTES (256 * KIB) /* of an answer without its series */
#define LIMIT_PROM_ERROR_BYTES	  (64 * KIB)
#define LIMIT_PROM_QUERY_BYTES	  (256 * KIB) /* one expression with its list of namespaces */
#define LIMIT_PROM_SERIES	  2000000     /* series in one answer */
#define LIMIT_PROM_METADATA_BYTES (4 * MIB)   /* names of metrics, labels or namespaces */
#define LIMIT_EVIDENCE_BYTES	  (128 * MIB) /* one window of pods, without their containers; a larger one is split */
#define LIMIT_POD_TABLE_BYTES	  (2 * GIB)   /* pods of open runs, without their containers */
#define LIMIT_READING_GAPS	  32	      /* windows that could not be read; with more, neighbours are joined */
#define LIMIT_CYCLE_CURVES	  256	      /* curves of runs that one cycle reads, with two queries each */
#define LIMIT_COLLECTOR_BYTES	  (64 * MIB)  /* state of runs that have not ended */

/* Objects (kept small enough for etcd and for the webhook's memory). */
#define LIMIT_OBJECT_DOC_BYTES	       (8 * MIB) /* an object while it is decoded */
#define LIMIT_PROFILE_BYTES	       2048	 /* spec + status with one variant; 512 more for each further one */
#define LIMIT_DIAGNOSIS_BYTES	       1280	 /* more of a profile with a diagnosis */
#define LIMIT_DIAGNOSIS_EVIDENCE_BYTES 200	 /* the line of a log that a profile quotes */
#define LIMIT_PROFILE_VARIANTS	       4
#define LIMIT_PROFILE_ALIASES	       8
#define LIMIT_PROFILE_VARIANT_BYTES    512
#define LIMIT_NAMESPACE_BYTES	       63	   /* RFC 1123 label */
#define LIMIT_NAME_BYTES	       253	   /* RFC 1123 subdomain */
#define LIMIT_KEY_BYTES		       127	   /* workload key, without NUL */
#define LIMIT_REASON_BYTES	       160	   /* one reason of a recommendation */
#define LIMIT_CONDITION_BYTES	       80	   /* message of a condition of a profile */
#define LIMIT_HISTORY_BYTES	       (32 * KIB)  /* what is written of a history, before it is compressed */
#define LIMIT_HISTORY_DATA_BYTES       (128 * KIB) /* what is read of it */
#define LIMIT_HISTORY_RUNS	       32
#define LIMIT_HISTORY_CURVES	       8
#define LIMIT_CURVE_POINTS	       32
#define LIMIT_CURVE_POINTS_MIN	       16 /* with fewer points a plateau is not detected */
#define LIMIT_HISTORY_DECISIONS	       32
#define LIMIT_HISTORY_DAYS	       90

/* The API server. */
#define LIMIT_KUBECTL_BYTES	  (1 * MIB)  /* one context as kubectl prints it */
#define LIMIT_KUBECTL_WORDS_BYTES (4 * KIB)  /* bytes of its stderr; the rest is dropped */
#define LIMIT_KUBE_OBJECT_BYTES	  (4 * MIB)  /* one object of an answer; etcd takes 1.5 MiB, the API server 3 */
#define LIMIT_KUBE_OBJECT_TOKENS  200000     /* `{`, `[` and `,` of an object: json-c needs 260 bytes for each */
#define LIMIT_KUBE_OBJECT_DEPTH	  63	     /* an event has one level more: LIMIT_REVIEW_DEPTH */
#define LIMIT_KUBE_ENVELOPE_BYTES (64 * KIB) /* a list without its items */
#define LIMIT_QUOTA_NAMESPACES	  256	     /* namespaces whose pods are watched, with one watch each */
#define LIMIT_LOCAL_QUEUES	  10000	     /* LocalQueues of Kueue in the snapshot; others count as unknown */
#define LIMIT_CLUSTER_QUEUES	  1000
#define LIMIT_QUEUE_QUOTAS	  256 /* flavors times resources of one ClusterQueue; with more it counts as unknown */
#define LIMIT_VPAS		  10000	 /* VerticalPodAutoscalers in the snapshot; others count as absent */
#define LIMIT_VPA_POLICIES	  64	 /* container policies; a VerticalPodAutoscaler with more is not read */
#define LIMIT_POD_OWNERS	  100000 /* owners whose own owners are cached */
#define LIMIT_KUBE_NOTE_BYTES	  1024	 /* message of an event; the API server refuses more */
#define LIMIT_RESIZE_ASKS	  1024	 /* containers that wait for a resize */

/* Trace directories of `backtest`. */
#define LIMIT_TRACE_LINE_BYTES	(64 * KIB)
#define LIMIT_TRACE_RUNS	500000 /* each needs 2 KiB to 10 KiB of memory */
#define LIMIT_TRACE_NAMES_BYTES (256 * MIB)
#define LIMIT_TRACE_VALUE	((int64_t)1 << 50)  /* 1 PiB, more memory than one container can have */
#define LIMIT_TRACE_TIME_MS	253402300799000	    /* the end of the year 9999 */
#define LIMIT_TRACE_RUN_MS	(3650 * 86400000LL) /* ten years */

/* Logs that `triage` reads. */
#define LIMIT_TRIAGE_LINE_BYTES	    (64 * KIB) /* a longer line is read in pieces */
#define LIMIT_TRIAGE_FACTS	    4096       /* lines that are kept: the first and the last of a signal and a rank */
#define LIMIT_TRIAGE_POD_FACTS	    512	       /* of these, lines of one file that name pods: the last ones stay */
#define LIMIT_TRIAGE_RANKS	    1024       /* ranks with a position of their own; further ones share one */
#define LIMIT_TRIAGE_SOURCES	    4096       /* files of one call */
#define LIMIT_TRIAGE_EVIDENCE	    12	       /* lines that the answer quotes */
#define LIMIT_TRIAGE_EVIDENCE_BYTES 512	       /* of each of them */
#define LIMIT_TRIAGE_TASKS	    4096       /* rows of the kernel's table of tasks */
#define LIMIT_TRIAGE_OUTPUT_BYTES   MIB
#define LIMIT_TRIAGE_NODE_BYTES	    MIB	   /* settings of a node, as lines */
#define LIMIT_TRIAGE_PROCESSES	    100000 /* names in /proc that are looked at */

/* Pods whose end `triage` reads in a cluster. */
#define LIMIT_TRIAGE_PODS	  256	     /* pods of one owner that are listed */
#define LIMIT_TRIAGE_LOGS_PODS	  16	     /* pods whose logs and events are read, those that ended first */
#define LIMIT_TRIAGE_TAILS_PODS	  128	     /* further pods whose logs are read if these do not explain the end */
#define LIMIT_TRIAGE_TAIL_LINES	  200	     /* of each log of those */
#define LIMIT_TRIAGE_LOGS	  4	     /* logs of one pod */
#define LIMIT_TRIAGE_CLAIMS	  4	     /* PersistentVolumeClaims of one pod */
#define LIMIT_TRIAGE_EVENTS	  200	     /* events of one object */
#define LIMIT_TRIAGE_LIST_BYTES	  (16 * MIB) /* one list of pods or events */
#define LIMIT_TRIAGE_LOG_LINES	  20000	     /* the end of a log: the kubelet counts them */
#define LIMIT_TRIAGE_LOG_BYTES	  (8 * MIB)  /* of these lines the last bytes, in memory */
#define LIMIT_TRIAGE_STREAM_BYTES (64 * MIB) /* what the kubelet may send of one log */
#define LIMIT_DIAGNOSE_LOG_LINES  2000	     /* of a pod that the recommender diagnoses by itself */
#define LIMIT_DIAGNOSE_LOG_BYTES  (256 * KIB)
#define LIMIT_DIAGNOSE_TRIES	  6	     /* of one pod */
#define LIMIT_DIAGNOSE_RUNS	  512	     /* runs that the recommender remembers as read */
#define LIMIT_TRIAGE_NOTES_BYTES  (64 * KIB) /* what could not be seen, in words */

#define LIMIT_STATUS_BYTES (64 * KIB) /* the status text of the last cycle */

#define LIMIT_LOG_LINE_BYTES (8 * KIB)
