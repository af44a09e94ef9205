/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* untold: owners for whose news a pod was held in vain. The watch may be late, and then their other pods had better be
 * held, too; or the news never comes, as of an object too large for the watch, and each pod would be held for nothing.
 * Time tells: an owner that is still not known UNTOLD_PATIENCE_MS after the first vain wait is given up; not for ever,
 * since an owner that is suspended and goes on is waited for anew. Any thread. */
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UNTOLD_PATIENCE_MS 1000
/** After this time an owner counts as one that was never waited for. */
#define UNTOLD_MEMORY_MS 60000
/** As many are remembered; the first one remembered goes first. */
#define UNTOLD_MAX 256

struct untold {
	pthread_mutex_t mutex;
	struct untold_owner {
		uint64_t hash;	  /* of its uid; 0: none */
		int64_t since_ms; /* when a pod was first held for it in vain */
	} owners[UNTOLD_MAX];
	size_t next;
};

void untold_init(struct untold *self);
void untold_release(struct untold *self);
/** A pod was held in vain. */
void untold_add(struct untold *self, const char *uid, int64_t now_ms);
bool untold_is_given_up(struct untold *self, const char *uid, int64_t now_ms);
