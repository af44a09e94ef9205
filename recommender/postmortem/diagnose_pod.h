/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* diagnose_pod: the triage of one pod without a person, in a form that a profile keeps. Few and bounded requests: the
 * pod by a list, its events, and, if logs may be read, the last LIMIT_DIAGNOSE_LOG_BYTES of at most LIMIT_TRIAGE_LOGS
 * logs. Blocks; other requests and timers of the client run meanwhile. Threads: the client's. */
#include "base/err.h"
#include "model/diagnosis.h"

struct kube_client;

struct diagnose_request {
	const char *namespace, *pod, *uid;
	bool reads_logs;
	int64_t deadline_ms; /* monotonic */
};

struct diagnose_result {
	struct diagnosis diagnosis; /* without time and run */
	bool has_setting;	    /* a container of the pod has the allocator setting */
	bool is_partial;	    /* a log or the events could not be read at the moment */
};

/** @return 0; KUBE_NOT_FOUND: there is no pod of this name and uid; another kube_condition; -errno. */
int diagnose_pod(struct kube_client *client, const struct diagnose_request *request, struct diagnose_result *ret,
		 struct err *err) ATTR_NODISCARD;
