/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* rotation_world: a cluster in which certificates rotate: every version of the Secret and of the configurations, what
 * each API server holds of them, the replicas, and the promise that they must keep. */
#include "certs/rotation.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define REPLICAS    3
#define API_SERVERS 3
#define ENTRIES	    2
#define VERSIONS    2048
#define SECOND	    ((int64_t)1000)
#define HOUR	    (3600 * SECOND)
#define DAY	    (24 * HOUR)

/* Rules that are broken on purpose. */
enum fault { NO_FAULT, FAULT_NO_SETTLING, FAULT_LYING_ANNOTATION, FAULT_USE_AT_ONCE, FAULT_COUNT_ };

struct secret {
	bool exists;
	struct rotation_secret content;
};

struct configuration {
	bool exists;
	struct rotation_bundle entries[ENTRIES];
};

struct write {
	bool is_there, is_secret, is_create;
	int64_t sent_ms;
	size_t which, base; /* configuration; version that it was decided by */
	struct secret secret;
	struct configuration configuration;
};

struct replica {
	bool is_alive;
	int64_t skew_ms, jitter_permille;
	size_t secret_seen, seen[ROTATION_CONFIGURATIONS]; /* versions */
	struct rotation_bundle remembered;		   /* CAs of the Secret seen before */
	struct rotation_coverage coverage[ROTATION_CONFIGURATIONS], known;
	struct rotation_leaf in_use;
	bool is_promised; /* somebody trusted us when it was taken, or it was trusted, by one at least, since */
	struct write writes[ROTATION_CONFIGURATIONS]; /* under way */
};

struct world {
	uint64_t random;
	enum fault fault;
	int64_t now_ms;
	int64_t cert_ms, ca_ms;
	int64_t lag_ms;	     /* at most: of API servers, of a replica's watches, and of a write on its way */
	int64_t restored_ms; /* when a Secret was last restored */
	int64_t secret_written_ms[VERSIONS];
	uint64_t next_id;
	struct secret secrets[VERSIONS];
	struct configuration configurations[ROTATION_CONFIGURATIONS][VERSIONS];
	int64_t written_ms[ROTATION_CONFIGURATIONS][VERSIONS];
	size_t n_secrets, n_configurations[ROTATION_CONFIGURATIONS];
	struct replica replicas[REPLICAS];
	size_t held[API_SERVERS][ROTATION_CONFIGURATIONS]; /* versions */
	unsigned int switches, cas_made, prunes;
	char broken[200];
};

/* With a third argument: what happens, to understand a failure. */
extern bool world_is_verbose;
#define SAY(world, ...)                                                                                                \
	do {                                                                                                           \
		if (world_is_verbose) {                                                                                \
			printf("%10.3f s  ", (double)((world)->now_ms - 1000 * DAY) / 1000);                           \
			printf(__VA_ARGS__);                                                                           \
			putchar('\n');                                                                                 \
		}                                                                                                      \
	} while (0)

/** 0 .. n-1. */
size_t world_below(struct world *world, size_t n);
/** True in one of `in` cases. */
bool world_chance(struct world *world, size_t in);

/** The newest versions; borrowed. */
const struct secret *world_secret(const struct world *world);
const struct configuration *world_configuration(const struct world *world, size_t which);
/** A new version, written now. Aborts when there are VERSIONS of it. */
void world_put_secret(struct world *world, const struct secret *secret);
void world_put_configuration(struct world *world, size_t which, const struct configuration *configuration);

/** An id of ROTATION_ID_BYTES that nothing else has. */
void world_new_id(struct world *world, unsigned char *id);
bool same_id(const unsigned char *a, const unsigned char *b);
/** An id as SAY shows it. */
unsigned int short_id(const unsigned char *id);
bool bundle_has(const struct rotation_bundle *bundle, const unsigned char *id);

/** Does an API server hold, in any entry, a CA of ours that lives? */
bool world_trusts_us(const struct world *world);
/** Note which replicas the promise holds for from now on, and in world->broken how it is broken at this moment. */
void world_check(struct world *world);
