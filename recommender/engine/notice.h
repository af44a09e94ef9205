/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* notice: something that the engine did or found and that users should see: an Event on the root owner of the pods or
 * in the namespace. Each is reported once, after the store has it; delivery is best effort. */
#include "base/limits.h"
#include "model/diagnosis.h"
#include "model/history.h"

struct hung_gang;

enum notice_kind {
	NOTICE_SET,  /* values were set in pods of an owner */
	NOTICE_HARM, /* values that were set did harm */
	NOTICE_CAP,  /* the namespace was capped; owner "" */
	NOTICE_KILL, /* a container was OOM-killed at a size that is not raised */
	NOTICE_END,  /* a run ended: what it asked for, and what it used */
	NOTICE_HUNG, /* a rank is dead, and its siblings hold accelerators */
};

#define NOTICE_TEXT_BYTES 512

struct notice {
	enum notice_kind kind;
	char namespace_name[LIMIT_NAMESPACE_BYTES + 1];
	char owner[RUN_NAME_BYTES]; /* as by notice_owner */
	char pod[RUN_NAME_BYTES];   /* one of its pods; "": not known */
	/* hex; while notices wait, a later one replaces an earlier one of the same subject */
	char subject[32];
	char reason[24]; /* one word in CamelCase, such as "MemorySet" */
	char text[NOTICE_TEXT_BYTES];
	enum harm harm; /* of NOTICE_HARM */
	bool is_warning;
	bool is_update; /* completes an earlier notice; not worth an Event of its own */
};

/** A list of notices; release it with vec_release. */
struct notices {
	struct notice *items; /* as in VEC */
	size_t n, capacity;
};

#define NOTICE_KIND_BYTES 60 /* of a kind; longer ones are truncated, as in a run's key */
/** Writes the owner as notices and histories name it: "Job/train-7". A longer text than fits is truncated as by
 * identity_cut. */
void notice_owner(const char *kind, const char *name, char ret[RUN_NAME_BYTES]);

/** Finds a notice of the same kind, namespace, owner and subject among the first `n`. NULL: there is none. Cost: linear
 * in `n`. */
struct notice *notices_find(const struct notices *self, size_t n, const struct notice *like);

/** Writes the notice of an entry of a history: `trainer: memory limit 96Gi (was 64Gi): peak+buffer, revision 7, 8
 * pods`. */
void notice_of_decision(const char *namespace_name, const char *container, const struct history_decision *decision,
			bool is_update, struct notice *ret);
/** Writes the notice of one kind of harm in one run. `figures`: measured figures of the run, or NULL. */
void notice_of_harm(const char *namespace_name, const char *owner, const struct run *run, enum harm harm,
		    const char *figures, struct notice *ret);
/** Writes the notice of a namespace that was capped. */
void notice_of_cap(const char *namespace_name, int64_t harmed, int64_t runs, struct notice *ret);

/** Writes the notice of a container that was OOM-killed and is not raised. `queue`, as in struct sighting: its request
 * equals its limit, and a queue has counted the request; NULL: it restarts in its pod, and resizes are off.
 * `next_bytes`: the limit of a new pod by its profile; 0: not known. The larger of it and twice the limit is named. */
void notice_of_unraised_kill(const char *namespace_name, const char *owner, const char *container, const char *queue,
			     int64_t limit_bytes, int64_t next_bytes, struct notice *ret);

/** Writes the notice of a gang that hangs: `pod train-7-3 was OOM-killed at 2026-11-02T07:40:00Z and does not come
 * back; 7 pods still run and hold 56 accelerators; if they do not go on without it, free them: kubectl ...`. */
void notice_of_hung_gang(const struct hung_gang *gang, struct notice *ret);

/** Writes the notice of a run that ended: `trainer: memory asked 64Gi, used at most 39117Mi in 6h, completed; 154.8
 * GiB-hours unused; next time 44Gi`, for a failed run with what triage found: `, failed (fragmentation: growth)`.
 * `next_bytes`: the limit of a new pod; 0: not known. `diagnosis`: of the workload; NULL: none. */
void notice_of_end(const char *namespace_name, const char *owner, const char *container, const struct run *run,
		   int64_t next_bytes, const struct diagnosis *diagnosis, struct notice *ret);

/** Called from the engine's thread; the notice is borrowed for the call. */
typedef void notice_fn(void *context, const struct notice *notice);
