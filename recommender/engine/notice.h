/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* notice: what the engine did, or found, that people should hear of where they look: an Event on the root owner of the
 * pods, or in the namespace. Told once, after it stands in the store; best effort from there on. */
#include "base/limits.h"
#include "model/history.h"

enum notice_kind {
	NOTICE_SET,  /* values were set in pods of an owner */
	NOTICE_HARM, /* ... and did harm */
	NOTICE_CAP,  /* the namespace was capped for it; owner "" */
};

#define NOTICE_TEXT_BYTES 512

struct notice {
	enum notice_kind kind;
	char namespace_name[LIMIT_NAMESPACE_BYTES + 1];
	char owner[RUN_NAME_BYTES]; /* "Job/train-7", as in struct history_decision */
	char pod[RUN_NAME_BYTES];   /* one of its pods; "" not known */
	char subject[32];	    /* of the same subject only the last one counts while it waits to be told; hex */
	char reason[24];	    /* "MemorySet", one word in CamelCase */
	char text[NOTICE_TEXT_BYTES];
	bool is_warning;
	bool is_update; /* says more of one that may have been told before; by itself it is not worth telling */
};

/** The words for an entry of a history: `trainer: memory limit 96Gi (was 64Gi): peak+buffer, revision 7, 8 pods`. */
void notice_of_decision(const char *namespace_name, const char *container, const struct history_decision *decision,
			bool is_update, struct notice *ret);
/** The words for one kind of harm that one run came to; with figures of this run where they are known, else NULL. */
void notice_of_harm(const char *namespace_name, const char *owner, const struct run *run, enum harm harm,
		    const char *figures, struct notice *ret);
/** The words for a namespace that is capped. */
void notice_of_cap(const char *namespace_name, int64_t harmed, int64_t runs, struct notice *ret);

/** Told from the engine's thread; borrowed for the call. */
typedef void notice_fn(void *context, const struct notice *notice);
