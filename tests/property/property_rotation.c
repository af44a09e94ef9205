/* SPDX-License-Identifier: Apache-2.0 */
/* property_rotation SEED RUNS: the promise of certificate rotation, on random histories.
 *
 * A world of several replicas and API servers that lag behind, clocks that differ, writes that are delayed, lost or
 * done though the writer died (each by up to a third of the settling time), people who delete and break the Secret, and
 * configurations that vanish and come back. There is no Lease: all replicas work at the same time, which the Lease only
 * makes rare. At every moment:
 *
 *	a certificate that a live replica shows and that has not ended was signed by a CA that is in every caBundle,
 *	as every API server holds it, unless that caBundle has no living CA of ours at all; and we never empty one.
 *	No certificate that is alive gives way to one that has ended.
 *
 * Afterwards, left alone, the world must come to rest with everything right, and stay so while certificates renew.
 * Then the same with three rules broken on purpose: each must be found out. */
#include "rotation_replica.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEPS 700

static const char *const fault_names[] = {"none", "no settling", "old CAs dropped at once", "leaf used at once"};

/* API servers follow their watches; none is further behind than the lag. */
static void serve(struct world *world)
{
	for (size_t i = 0; i < API_SERVERS; i++)
		for (size_t k = 0; k < ROTATION_CONFIGURATIONS; k++) {
			size_t *held = &world->held[i][k], last = world->n_configurations[k] - 1;

			while (*held < last && (world->written_ms[k][*held + 1] + world->lag_ms <= world->now_ms ||
						world_chance(world, 3)))
				++*held;
		}
}

/* Neither are replicas and their writes. */
static void catch_up(struct world *world, size_t index)
{
	struct replica *replica = &world->replicas[index];

	for (size_t k = 0; k < ROTATION_CONFIGURATIONS; k++)
		if (replica->writes[k].is_there && replica->writes[k].sent_ms + world->lag_ms <= world->now_ms)
			replica_arrive(world, index, k);
	while (replica->secret_seen + 1 < world->n_secrets &&
	       world->secret_written_ms[replica->secret_seen + 1] + world->lag_ms <= world->now_ms)
		replica_see_secret(world, index, replica->secret_seen + 1);
	for (size_t k = 0; k < ROTATION_CONFIGURATIONS; k++)
		while (replica->seen[k] + 1 < world->n_configurations[k] &&
		       world->written_ms[k][replica->seen[k] + 1] + world->lag_ms <= world->now_ms)
			replica_see_configuration(world, index, k, replica->seen[k] + 1);
}

static void pass(struct world *world, int64_t ms)
{
	/* in pieces, so that nothing is further behind at any moment than it may be */
	int64_t piece_ms = MAX(1, world->lag_ms / 3);

	while (ms > 0 && !world->broken[0]) {
		int64_t now_ms = ms > 20 * piece_ms ? ms - 20 * piece_ms : MIN(ms, piece_ms);

		world->now_ms += now_ms;
		ms -= now_ms;
		serve(world);
		for (size_t i = 0; i < REPLICAS; i++)
			catch_up(world, i);
		world_check(world);
	}
}

static bool create_is_under_way(const struct world *world)
{
	for (size_t i = 0; i < REPLICAS; i++)
		if (world->replicas[i].writes[0].is_there && world->replicas[i].writes[0].is_create)
			return true;
	return false;
}

/* Has every replica seen a CA in every caBundle? The Secret lost before that, or with the configurations, is a start
 * from nothing: two disasters at once are beyond the promise. */
static bool is_filled(const struct world *world)
{
	for (size_t i = 0; i < REPLICAS; i++)
		for (size_t k = 0; k < ROTATION_CONFIGURATIONS; k++)
			for (size_t version = world->replicas[i].seen[k]; version < world->n_configurations[k];
			     version++)
				for (size_t e = 0; e < ENTRIES; e++)
					if (!world->configurations[k][version].exists ||
					    !world->configurations[k][version].entries[e].n)
						return false;
	return true;
}

static void meddle_with_secret(struct world *world)
{
	struct secret secret = *world_secret(world);

	if (create_is_under_way(world) || !secret.exists || !is_filled(world))
		return;
	switch (world_below(world, 5)) {
	case 0:
		secret = (struct secret){.exists = false};
		break;
	case 1:
		secret.content.leaf.is_good = false;
		break;
	case 2:
		secret.content.has_ca_key = false;
		break;
	case 3: /* ca.crt is garbage: then the leaf's CA is unknown */
		secret.content.cas.n = 0;
		secret.content.has_ca_key = false;
		secret.content.leaf.is_good = false;
		break;
	default: /* an old one is restored from a backup, with what it says of its time; once */
		secret = world->secrets[world_below(world, world->n_secrets)];
		if (!secret.exists || secret.content.is_blank || world->restored_ms)
			return;
		world->restored_ms = world->now_ms;
	}
	world_put_secret(world, &secret);
}

static void meddle_with_configuration(struct world *world)
{
	size_t which = world_below(world, ROTATION_CONFIGURATIONS);
	struct configuration configuration = *world_configuration(world, which);
	struct rotation_bundle *entry = &configuration.entries[world_below(world, ENTRIES)];
	struct rotation_cert foreign = {.made_ms = world->now_ms, .until_ms = world->now_ms + 3 * world->ca_ms};

	if (create_is_under_way(world) || !world_secret(world)->exists)
		return;
	if (!configuration.exists) {
		memset(&configuration, 0, sizeof(configuration));
		configuration.exists = true;
	} else if (world_chance(world, 3)) {
		configuration.exists = false;
	} else if (world_chance(world, 2)) {
		entry->n = 0; /* helm renders none */
	} else if (entry->n && entry->n < 4) {
		world_new_id(world, foreign.id);
		entry->certs[entry->n++] = foreign;
	}
	world_put_configuration(world, which, &configuration);
}

static void random_step(struct world *world)
{
	size_t index = world_below(world, REPLICAS);
	struct replica *replica = &world->replicas[index];

	switch (world_below(world, 40)) {
	case 0:
		meddle_with_secret(world);
		break;
	case 1:
		meddle_with_configuration(world);
		break;
	case 2: /* killed; what it had sent may still arrive */
		replica->is_alive = false;
		SAY(world, "replica %zu dies", index);
		break;
	case 3:
	case 4:
		if (!replica->is_alive && !replica_is_writing(replica))
			replica_start(world, index);
		break;
	case 5:
	case 6:
		pass(world, (int64_t)world_below(world, (size_t)world->cert_ms / 4));
		break;
	case 7:
	case 8:
	case 9:
		pass(world, (int64_t)world_below(world, (size_t)world->lag_ms * 2));
		break;
	case 10:
		pass(world, (int64_t)world_below(world, (size_t)world->ca_ms / 6));
		break;
	default:
		if (replica->is_alive)
			replica_see_some(world, index);
		if (world_chance(world, 2))
			replica_look(world, index);
		else
			replica_arrive(world, index, world_below(world, ROTATION_CONFIGURATIONS));
		pass(world, 1);
	}
}

static void start_world(struct world *world, uint64_t seed, enum fault fault)
{
	static const struct {
		int64_t cert_ms, ca_ms;
	} lives[] = {{30 * DAY, 365 * DAY},
		     {60 * SECOND, 60 * SECOND},
		     {60 * SECOND, 200 * SECOND},
		     {7 * DAY, 10 * DAY},
		     {10 * SECOND, 30 * SECOND}};
	struct configuration none = {.exists = false}, blank = {.exists = true};
	struct secret no_secret = {.exists = false}, blank_secret = {.exists = true, .content = {.is_blank = true}};
	size_t life;

	memset(world, 0, sizeof(*world));
	world->random = seed * 0x9e3779b97f4a7c15u + 1;
	world->fault = fault;
	life = world_below(world, sizeof(lives) / sizeof(lives[0]));
	world->cert_ms = lives[life].cert_ms;
	world->ca_ms = lives[life].ca_ms;
	world->lag_ms = rotation_times_for(world->cert_ms, world->ca_ms, 0).settle_ms / 3 - 1;
	world->now_ms = 1000 * DAY;
	world_put_secret(world, world_chance(world, 2) ? &no_secret : &blank_secret);
	for (size_t i = 0; i < ROTATION_CONFIGURATIONS; i++)
		world_put_configuration(world, i, world_chance(world, 2) ? &none : &blank);
	for (size_t i = 0; i < REPLICAS; i++)
		replica_start(world, i);
}

/* Everybody sees all, and all writes arrive, until nothing happens any more or `ms` are over. */
static void settle_down(struct world *world, int64_t ms)
{
	int64_t until_ms = world->now_ms + ms;

	while (world->now_ms < until_ms && !world->broken[0]) {
		for (size_t i = 0; i < REPLICAS; i++) {
			if (!world->replicas[i].is_alive)
				continue;
			replica_see_secret(world, i, world->n_secrets - 1);
			for (size_t k = 0; k < ROTATION_CONFIGURATIONS; k++)
				replica_see_configuration(world, i, k, world->n_configurations[k] - 1);
			replica_look(world, i);
			for (size_t k = 0; k < ROTATION_CONFIGURATIONS; k++)
				replica_arrive(world, i, k);
		}
		pass(world, MAX(1, rotation_times_for(world->cert_ms, world->ca_ms, 0).settle_ms / 4));
	}
}

static bool is_at_rest(struct world *world, size_t index, const char **ret_why)
{
	struct rotation_view view;
	struct rotation_plan plan;

	replica_view(world, index, &view);
	rotation_decide(&view, &plan);
	*ret_why = plan.why;
	if (plan.action != ROTATION_WAIT)
		return false;
	*ret_why = "a replica shows an old certificate";
	return world->replicas[index].in_use.is_good && world->replicas[index].in_use.until_ms > world->now_ms &&
	       same_id(world->replicas[index].in_use.issuer, world_secret(world)->content.cas.certs[0].id);
}

static bool all_are_at_rest(struct world *world, const char **ret_why)
{
	for (size_t i = 0; i < REPLICAS; i++)
		if (!is_at_rest(world, i, ret_why))
			return false;
	return true;
}

/* It comes to rest, and renews six leaves in time. */
static void check_calm(struct world *world)
{
	struct rotation_times times = rotation_times_for(world->cert_ms, world->ca_ms, 0);
	const char *why = "";
	unsigned int before = world->switches;

	for (size_t i = 0; i < REPLICAS; i++)
		world->replicas[i].is_alive ||
			(replica_arrive(world, i, 0), replica_arrive(world, i, 1), replica_start(world, i), 0);
	for (size_t tries = 0; tries < 20 && !all_are_at_rest(world, &why) && !world->broken[0]; tries++)
		settle_down(world, 2 * times.settle_ms);
	if (!world->broken[0] && !all_are_at_rest(world, &why))
		snprintf(world->broken, sizeof(world->broken), "does not come to rest: %s", why);
	while (world->n_secrets < VERSIONS - 64 && world->switches < before + 6 && !world->broken[0]) {
		pass(world, world->cert_ms / 20);
		settle_down(world, 4 * times.settle_ms);
		for (size_t i = 0; i < REPLICAS && !world->broken[0]; i++)
			if (world->replicas[i].in_use.until_ms < world->now_ms + world->cert_ms / 20 &&
			    world->replicas[i].in_use.until_ms - world->replicas[i].in_use.made_ms > world->cert_ms / 2)
				snprintf(world->broken, sizeof(world->broken), "a certificate was nearly not renewed");
	}
}

static void run(struct world *world, uint64_t seed, enum fault fault)
{
	start_world(world, seed, fault);
	world_check(world);
	for (size_t i = 0; i < STEPS && !world->broken[0]; i++)
		random_step(world);
	if (!world->broken[0] && fault == NO_FAULT)
		check_calm(world);
}

int main(int argc, char **argv)
{
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	uint64_t runs = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000;
	struct world *world = malloc(sizeof(*world));
	unsigned long switches = 0, cas_made = 0, prunes = 0;
	int code = 0;

	world_is_verbose = argc > 3;
	if (!world)
		return 2;
	for (uint64_t i = 0; i < runs && !code; i++) {
		run(world, seed + i, NO_FAULT);
		switches += world->switches;
		cas_made += world->cas_made;
		prunes += world->prunes;
		if (world->broken[0]) {
			printf("seed %llu: %s\n", (unsigned long long)(seed + i), world->broken);
			code = 1;
		}
	}
	for (int fault = NO_FAULT + 1; fault < FAULT_COUNT_ && !code; fault++) {
		uint64_t found = 0;

		for (uint64_t i = 0; i < runs * 100 && !found; i++) {
			run(world, seed + i, (enum fault)fault);
			found = world->broken[0] ? i + 1 : 0;
		}
		if (found) {
			printf("broken on purpose, %s: found in run %llu (%s)\n", fault_names[fault],
			       (unsigned long long)found, world->broken);
			continue;
		}
		printf("broken on purpose, %s: not found\n", fault_names[fault]);
		code = 1;
	}
	printf("%llu histories: %lu leaves, %lu CAs made, %lu dropped\n", (unsigned long long)runs, switches, cas_made,
	       prunes);
	free(world);
	return code;
}
