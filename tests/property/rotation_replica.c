/* SPDX-License-Identifier: Apache-2.0 */
#include "rotation_replica.h"

#include <string.h>

void replica_view(const struct world *world, size_t index, struct rotation_view *view)
{
	const struct replica *replica = &world->replicas[index];
	const struct secret *secret = &world->secrets[replica->secret_seen];

	*view = (struct rotation_view){
		.now_ms = world->now_ms + replica->skew_ms,
		.monotonic_ms = world->now_ms,
		.times = rotation_times_for(world->cert_ms, world->ca_ms, replica->jitter_permille),
		.secret = secret->content,
		.in_use = replica->in_use,
		.known = replica->known,
	};
	view->secret.presence = secret->exists ? ROTATION_PRESENT : ROTATION_ABSENT;
	for (size_t i = 0; i < view->secret.cas.n; i++)
		for (size_t j = 0; j < replica->remembered.n; j++)
			if (view->secret.cas.certs[i].last_leaf_ms &&
			    same_id(view->secret.cas.certs[i].id, replica->remembered.certs[j].id))
				view->secret.cas.certs[i].last_leaf_ms = MAX(view->secret.cas.certs[i].last_leaf_ms,
									     replica->remembered.certs[j].last_leaf_ms);
	if (world->fault == FAULT_NO_SETTLING)
		view->times.settle_ms = 0;
	for (size_t i = 0; world->fault == FAULT_LYING_ANNOTATION && i < view->secret.cas.n; i++)
		view->secret.cas.certs[i].last_leaf_ms = 1;
	for (size_t i = 0; i < ROTATION_CONFIGURATIONS; i++) {
		const struct configuration *seen = &world->configurations[i][replica->seen[i]];

		view->configurations[i] = (struct rotation_configuration){
			seen->exists ? ROTATION_PRESENT : ROTATION_ABSENT, seen->entries, seen->exists ? ENTRIES : 0};
		view->coverage[i] = replica->coverage[i];
	}
}

static void observe(struct world *world, size_t index, size_t which)
{
	struct rotation_view view;

	replica_view(world, index, &view);
	rotation_observe(&world->replicas[index].coverage[which], &view.configurations[which], world->now_ms);
}

static void observe_secret(const struct world *world, struct replica *replica)
{
	const struct secret *seen = &world->secrets[replica->secret_seen];
	struct rotation_secret content = seen->content;

	content.presence = seen->exists ? ROTATION_PRESENT : ROTATION_ABSENT;
	rotation_observe_secret(&replica->known, &content, world->now_ms);
}

/* Ends of leaves as tls_secret.c keeps them in memory: of the CAs of the last Secret, the latest known. */
static void remember(const struct rotation_bundle *cas, struct rotation_bundle *ret)
{
	struct rotation_bundle fresh = *cas;

	for (size_t i = 0; i < fresh.n; i++)
		for (size_t j = 0; j < ret->n; j++)
			if (fresh.certs[i].last_leaf_ms && same_id(fresh.certs[i].id, ret->certs[j].id))
				fresh.certs[i].last_leaf_ms = MAX(fresh.certs[i].last_leaf_ms,
								  ret->certs[j].last_leaf_ms);
	*ret = fresh;
}

void replica_see_secret(struct world *world, size_t index, size_t version)
{
	struct replica *replica = &world->replicas[index];

	if (version <= replica->secret_seen)
		return;
	remember(&world->secrets[replica->secret_seen].content.cas, &replica->remembered);
	replica->secret_seen = version;
	observe_secret(world, replica);
}

void replica_see_configuration(struct world *world, size_t index, size_t which, size_t version)
{
	struct replica *replica = &world->replicas[index];

	if (version <= replica->seen[which])
		return;
	replica->seen[which] = version;
	observe(world, index, which);
}

/* Anything from nothing to all that is new. */
void replica_see_some(struct world *world, size_t index)
{
	struct replica *replica = &world->replicas[index];
	size_t n;

	if (world_chance(world, 2)) {
		n = world->n_secrets - replica->secret_seen;
		replica_see_secret(world, index, replica->secret_seen + world_below(world, n));
	}
	for (size_t i = 0; i < ROTATION_CONFIGURATIONS; i++)
		if (world_chance(world, 2)) {
			n = world->n_configurations[i] - replica->seen[i];
			replica_see_configuration(world, index, i, replica->seen[i] + world_below(world, n));
		}
}

void replica_start(struct world *world, size_t index)
{
	struct rotation_times times = rotation_times_for(world->cert_ms, world->ca_ms, 0);

	world->replicas[index] = (struct replica){
		.is_alive = true,
		.skew_ms = (int64_t)world_below(world, (size_t)times.skew_ms / 2 + 1) - times.skew_ms / 4,
		.jitter_permille = (int64_t)world_below(world, 1001),
		.secret_seen = world->n_secrets - 1,
	};
	observe_secret(world, &world->replicas[index]);
	for (size_t i = 0; i < ROTATION_CONFIGURATIONS; i++) {
		world->replicas[index].seen[i] = world->n_configurations[i] - 1;
		observe(world, index, i);
	}
}

static void sign_leaf(const struct world *world, const struct rotation_view *view, struct rotation_secret *secret)
{
	const struct rotation_cert *ca = &secret->cas.certs[0];

	secret->leaf = (struct rotation_leaf){
		.is_good = true,
		.has_names = true,
		.made_ms = view->now_ms,
		.until_ms = MIN(view->now_ms + world->cert_ms, ca->until_ms),
	};
	memcpy(secret->leaf.issuer, ca->id, ROTATION_ID_BYTES);
}

/* What tls_secret_write.c does with real certificates. */
static void plan_secret(struct world *world, const struct rotation_view *view, const struct rotation_plan *plan,
			struct secret *ret)
{
	struct rotation_secret *secret = &ret->content;

	ret->exists = true;
	*secret = view->secret;
	secret->is_blank = false;
	if (plan->action == ROTATION_CREATE)
		*secret = (struct rotation_secret){.presence = ROTATION_PRESENT};
	secret->cas = plan->cas;
	if (plan->makes_ca) {
		struct rotation_cert ca = {
			.made_ms = view->now_ms, .until_ms = view->now_ms + world->ca_ms, .is_ours = true};

		world_new_id(world, ca.id);
		memmove(&secret->cas.certs[1], &secret->cas.certs[0], secret->cas.n++ * sizeof(ca));
		secret->cas.certs[0] = ca;
		secret->has_ca_key = true;
	}
	if (plan->leaf == ROTATION_LEAF_MAKE)
		sign_leaf(world, view, secret);
	if (plan->leaf == ROTATION_LEAF_IN_USE)
		secret->leaf = view->in_use;
}

/* What bundles.c does. */
static void plan_configuration(const struct rotation_view *view, const struct configuration *seen,
			       struct configuration *ret)
{
	*ret = *seen;
	for (size_t e = 0; e < ENTRIES; e++) {
		struct rotation_bundle *entry = &ret->entries[e];

		entry->n = 0;
		entry->has_garbage = false;
		for (size_t i = 0; i < view->secret.cas.n; i++)
			if (rotation_wants(view, i))
				entry->certs[entry->n++] = view->secret.cas.certs[i];
		for (size_t i = 0; i < seen->entries[e].n && entry->n < ROTATION_CERTS; i++)
			if (!bundle_has(entry, seen->entries[e].certs[i].id) &&
			    rotation_keeps(view, &seen->entries[e].certs[i]))
				entry->certs[entry->n++] = seen->entries[e].certs[i];
		for (size_t i = 0; i < entry->n; i++)
			entry->certs[i].last_leaf_ms = 0; /* a certificate does not say that */
	}
}

static bool is_same_leaf(const struct rotation_leaf *a, const struct rotation_leaf *b)
{
	return a->is_good == b->is_good && a->has_names == b->has_names && a->made_ms == b->made_ms &&
	       a->until_ms == b->until_ms && memcmp(a->issuer, b->issuer, ROTATION_ID_BYTES) == 0;
}

bool replica_is_writing(const struct replica *replica)
{
	for (size_t i = 0; i < ROTATION_CONFIGURATIONS; i++)
		if (replica->writes[i].is_there)
			return true;
	return false;
}

void replica_look(struct world *world, size_t index)
{
	struct replica *replica = &world->replicas[index];
	struct rotation_view view;
	struct rotation_plan plan;
	int64_t wake_ms;
	bool may_use;

	if (!replica->is_alive || replica_is_writing(replica))
		return;
	replica_view(world, index, &view);
	may_use = rotation_may_use(&view, &wake_ms);
	if (may_use && replica->in_use.is_good && view.now_ms < replica->in_use.until_ms &&
	    view.now_ms >= view.secret.leaf.until_ms)
		snprintf(world->broken, sizeof(world->broken),
			 "replica %zu replaces a leaf that is alive by one that has ended", index);
	if ((may_use || (world->fault == FAULT_USE_AT_ONCE && view.secret.leaf.is_good)) &&
	    !is_same_leaf(&view.secret.leaf, &replica->in_use)) {
		SAY(world, "replica %zu shows a leaf of %u", index, short_id(view.secret.leaf.issuer));
		/* what has ended was of no use any more: then there is nothing to lose */
		replica->is_promised = world_trusts_us(world) &&
				       (!replica->in_use.is_good || view.now_ms < replica->in_use.until_ms);
		replica->in_use = view.secret.leaf;
	}
	replica_view(world, index, &view);
	rotation_decide(&view, &plan);
	if (plan.action == ROTATION_WAIT || plan.action == ROTATION_SETTLE)
		return;
	SAY(world, "replica %zu, Secret %zu, configurations %zu %zu: %s, %s", index, replica->secret_seen,
	    replica->seen[0], replica->seen[1], rotation_action_names[plan.action], plan.why);
	if (plan.action != ROTATION_FILL) {
		replica->writes[0] = (struct write){.is_there = true,
						    .sent_ms = world->now_ms,
						    .is_secret = true,
						    .is_create = plan.action == ROTATION_CREATE,
						    .base = replica->secret_seen};
		plan_secret(world, &view, &plan, &replica->writes[0].secret);
		world->switches += plan.action == ROTATION_SWITCH_LEAF;
		world->cas_made += plan.action == ROTATION_ADD_CA;
		world->prunes += plan.action == ROTATION_PRUNE;
		return;
	}
	for (size_t i = 0; i < ROTATION_CONFIGURATIONS; i++)
		if (plan.fill_mask & (1u << i)) {
			replica->writes[i] = (struct write){.is_there = true, .which = i, .base = replica->seen[i]};
			plan_configuration(&view, &world->configurations[i][replica->seen[i]],
					   &replica->writes[i].configuration);
		}
}

/* A write reaches the server. It counts only for the version that it was decided by. */
void replica_arrive(struct world *world, size_t index, size_t slot)
{
	struct replica *replica = &world->replicas[index];
	struct write write = replica->writes[slot];
	bool answers = replica->is_alive && !world_chance(world, 8);

	replica->writes[slot].is_there = false;
	if (!write.is_there)
		return;
	if (write.is_secret) {
		bool fits = write.is_create ? !world_secret(world)->exists
					    : write.base == world->n_secrets - 1 && world_secret(world)->exists;

		if (fits)
			world_put_secret(world, &write.secret);
		if (answers) /* what was written, or, after a conflict, read */
			replica_see_secret(world, index, world->n_secrets - 1);
		return;
	}
	if (write.base == world->n_configurations[write.which] - 1 && world_configuration(world, write.which)->exists) {
		for (size_t e = 0; e < ENTRIES; e++)
			if (!write.configuration.entries[e].n)
				snprintf(world->broken, sizeof(world->broken), "a caBundle was emptied");
		world_put_configuration(world, write.which, &write.configuration);
	}
	if (answers)
		replica_see_configuration(world, index, write.which, world->n_configurations[write.which] - 1);
}
