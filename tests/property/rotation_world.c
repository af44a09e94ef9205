/* SPDX-License-Identifier: Apache-2.0 */
#include "rotation_world.h"

#include <stdlib.h>
#include <string.h>

bool world_is_verbose;

unsigned int short_id(const unsigned char *id)
{
	return id[0] + 256u * id[1];
}

static void say_bundle(const struct world *world, const char *what, size_t which, const struct rotation_bundle *bundle)
{
	char text[400] = "";

	for (size_t i = 0; i < bundle->n; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), " %u", short_id(bundle->certs[i].id));
	SAY(world, "  %s %zu: %s", what, which, text);
}

static uint64_t next_random(struct world *world)
{
	uint64_t x = world->random;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return world->random = x;
}

size_t world_below(struct world *world, size_t n)
{
	return (size_t)((next_random(world) >> 11) % n);
}

bool world_chance(struct world *world, size_t in)
{
	return world_below(world, in) == 0;
}

const struct secret *world_secret(const struct world *world)
{
	return &world->secrets[world->n_secrets - 1];
}

const struct configuration *world_configuration(const struct world *world, size_t which)
{
	return &world->configurations[which][world->n_configurations[which] - 1];
}

void world_put_secret(struct world *world, const struct secret *secret)
{
	if (world->n_secrets == VERSIONS)
		abort();
	world->secret_written_ms[world->n_secrets] = world->now_ms;
	world->secrets[world->n_secrets++] = *secret;
	SAY(world, "Secret %zu: exists %d, key %d, leaf %d of %u", world->n_secrets - 1, secret->exists,
	    secret->content.has_ca_key, secret->content.leaf.is_good, short_id(secret->content.leaf.issuer));
	say_bundle(world, "CAs", 0, &secret->content.cas);
}

void world_put_configuration(struct world *world, size_t which, const struct configuration *configuration)
{
	size_t n = world->n_configurations[which]++;

	if (n == VERSIONS)
		abort();
	world->configurations[which][n] = *configuration;
	world->written_ms[which][n] = world->now_ms;
	SAY(world, "configuration %zu, %zu: exists %d", which, n, configuration->exists);
	for (size_t e = 0; configuration->exists && e < ENTRIES; e++)
		say_bundle(world, "entry", e, &configuration->entries[e]);
}

void world_new_id(struct world *world, unsigned char *id)
{
	uint64_t number = ++world->next_id;

	memset(id, 0, ROTATION_ID_BYTES);
	memcpy(id, &number, sizeof(number));
}

bool same_id(const unsigned char *a, const unsigned char *b)
{
	return memcmp(a, b, ROTATION_ID_BYTES) == 0;
}

bool bundle_has(const struct rotation_bundle *bundle, const unsigned char *id)
{
	for (size_t i = 0; i < bundle->n; i++)
		if (same_id(bundle->certs[i].id, id))
			return true;
	return false;
}

/* ---- the promise ---- */

static bool entry_trusts_us(const struct world *world, const struct configuration *configuration, size_t entry)
{
	const struct rotation_bundle *bundle = &configuration->entries[entry];

	for (size_t i = 0; configuration->exists && i < bundle->n; i++)
		if (bundle->certs[i].is_ours && world->now_ms < bundle->certs[i].until_ms)
			return true;
	return false;
}

bool world_trusts_us(const struct world *world)
{
	for (size_t i = 0; i < API_SERVERS; i++)
		for (size_t k = 0; k < ROTATION_CONFIGURATIONS; k++)
			for (size_t e = 0; e < ENTRIES; e++)
				if (entry_trusts_us(world, &world->configurations[k][world->held[i][k]], e))
					return true;
	return false;
}

/* Which API server and configuration does not hold the CA of a leaf; -1: none. */
static int find_gap(const struct world *world, const struct rotation_leaf *leaf)
{
	for (size_t i = 0; i < API_SERVERS; i++)
		for (size_t k = 0; k < ROTATION_CONFIGURATIONS; k++) {
			const struct configuration *held = &world->configurations[k][world->held[i][k]];

			for (size_t e = 0; e < ENTRIES; e++)
				if (entry_trusts_us(world, held, e) && !bundle_has(&held->entries[e], leaf->issuer))
					return (int)(i * ROTATION_CONFIGURATIONS + k);
		}
	return -1;
}

void world_check(struct world *world)
{
	/* as a slow clock sees it */
	int64_t slow_ms = world->now_ms - rotation_times_for(world->cert_ms, world->ca_ms, 0).skew_ms / 4;

	for (size_t i = 0; i < REPLICAS; i++) {
		struct replica *replica = &world->replicas[i];
		int gap;

		if (!replica->is_alive || !replica->in_use.is_good || slow_ms >= replica->in_use.until_ms)
			continue;
		gap = find_gap(world, &replica->in_use);
		if (gap < 0)
			replica->is_promised = world_trusts_us(world);
		if (gap >= 0 && replica->is_promised && !world->broken[0])
			snprintf(world->broken, sizeof(world->broken),
				 "replica %zu shows a leaf whose CA API server %d does not hold in configuration %d", i,
				 gap / ROTATION_CONFIGURATIONS, gap % ROTATION_CONFIGURATIONS);
	}
}
