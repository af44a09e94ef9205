/* SPDX-License-Identifier: Apache-2.0 */
#include "certs/rotation.h"

#include "base/timefmt.h"

#include <string.h>

#define SETTLE_MS (10 * TIME_SECOND_MS)
#define SKEW_MS	  TIME_HOUR_MS
/* Parts of a life: settling and skew take at most a tenth; replicas spread over a twentieth, from two thirds on. */
#define SHORT_PART  10
#define JITTER_PART 20

const char *const rotation_action_names[ROTATION_ACTION_COUNT_] = {
	[ROTATION_WAIT] = "wait",
	[ROTATION_CREATE] = "create",
	[ROTATION_ADD_CA] = "add-ca",
	[ROTATION_ADOPT] = "adopt",
	[ROTATION_FILL] = "fill",
	[ROTATION_SETTLE] = "settle",
	[ROTATION_SWITCH_LEAF] = "switch-leaf",
	[ROTATION_PRUNE] = "prune",
};

struct rotation_times rotation_times_for(int64_t cert_lifetime_ms, int64_t ca_lifetime_ms, int64_t jitter_permille)
{
	int64_t shorter_ms = MIN(cert_lifetime_ms, ca_lifetime_ms);

	return (struct rotation_times){
		.cert_lifetime_ms = cert_lifetime_ms,
		.ca_lifetime_ms = ca_lifetime_ms,
		.settle_ms = MIN(SETTLE_MS, shorter_ms / SHORT_PART),
		.skew_ms = MIN(SKEW_MS, shorter_ms / SHORT_PART),
		.jitter_permille = jitter_permille,
	};
}

static bool same_id(const unsigned char *a, const unsigned char *b)
{
	return memcmp(a, b, ROTATION_ID_BYTES) == 0;
}

/* Index; `n` when it is not there. */
static size_t find(const struct rotation_bundle *bundle, const unsigned char *id)
{
	size_t i = 0;

	while (i < bundle->n && !same_id(bundle->certs[i].id, id))
		i++;
	return i;
}

static bool has(const struct rotation_bundle *bundle, const unsigned char *id)
{
	return find(bundle, id) < bundle->n;
}

/* When it is to be renewed: at two thirds of its life, a little later for some replicas. */
static int64_t due_ms(const struct rotation_view *view, int64_t made_ms, int64_t until_ms)
{
	int64_t life_ms = until_ms - made_ms;

	return made_ms + life_ms / 3 * 2 + life_ms / JITTER_PART / 1000 * view->times.jitter_permille;
}

/* Made by a clock that was ahead: API servers, whose clocks are right, refuse it until that time has come. */
static bool is_of_the_future(const struct rotation_view *view, int64_t made_ms)
{
	return made_ms > view->now_ms + view->times.skew_ms;
}

static bool has_ended(const struct rotation_view *view, const struct rotation_cert *cert)
{
	return view->now_ms >= cert->until_ms + view->times.skew_ms;
}

/* When the last leaf of a CA of the Secret ends. */
static int64_t last_end_ms(const struct rotation_cert *cert)
{
	return cert->last_leaf_ms ? MIN(cert->last_leaf_ms, cert->until_ms) : cert->until_ms;
}

static bool is_alive(const struct rotation_view *view, const struct rotation_leaf *leaf)
{
	return leaf->is_good && view->now_ms < leaf->until_ms;
}

/* The CA that signs, that of the Secret's leaf, or that of what we show, whatever a restored Secret says of its time.
 */
static bool signs_or_signed(const struct rotation_view *view, size_t ca)
{
	const struct rotation_secret *secret = &view->secret;
	const unsigned char *id = secret->cas.certs[ca].id;

	return ca == 0 || (secret->leaf.is_good && same_id(id, secret->leaf.issuer)) ||
	       (is_alive(view, &view->in_use) && same_id(id, view->in_use.issuer));
}

bool rotation_wants(const struct rotation_view *view, size_t ca)
{
	/* until it is over by the slowest clock */
	return signs_or_signed(view, ca) ||
	       view->now_ms < last_end_ms(&view->secret.cas.certs[ca]) + view->times.skew_ms / 2;
}

/* For every clock. Between this and rotation_wants nobody adds it and nobody takes it out: two replicas whose clocks
 * differ would undo each other's work. */
static bool is_over(const struct rotation_view *view, size_t ca)
{
	return !signs_or_signed(view, ca) &&
	       view->now_ms >= last_end_ms(&view->secret.cas.certs[ca]) + view->times.skew_ms;
}

bool rotation_keeps(const struct rotation_view *view, const struct rotation_cert *cert)
{
	size_t ca = find(&view->secret.cas, cert->id);

	return ca < view->secret.cas.n ? !is_over(view, ca) : !has_ended(view, cert);
}

static bool covers(const struct rotation_configuration *configuration, const unsigned char *id)
{
	for (size_t i = 0; i < configuration->n_entries; i++)
		if (!has(&configuration->entries[i], id))
			return false;
	return true;
}

void rotation_observe(struct rotation_coverage *self, const struct rotation_configuration *seen, int64_t monotonic_ms)
{
	struct rotation_coverage fresh = {.presence = seen->presence, .absent_since_ms = monotonic_ms};
	const struct rotation_bundle *first = seen->entries;

	/* a configuration without webhooks is as good as none */
	if (seen->presence == ROTATION_PRESENT && !seen->n_entries)
		fresh.presence = ROTATION_ABSENT;
	if (fresh.presence == ROTATION_ABSENT && self->presence == ROTATION_ABSENT)
		fresh.absent_since_ms = self->absent_since_ms;
	for (size_t i = 0; fresh.presence == ROTATION_PRESENT && i < first->n; i++) {
		const unsigned char *id = first->certs[i].id;
		int64_t since_ms = monotonic_ms;

		if (!covers(seen, id))
			continue;
		for (size_t j = 0; j < self->n; j++)
			if (same_id(self->certs[j].id, id))
				since_ms = self->certs[j].since_ms;
		memcpy(fresh.certs[fresh.n].id, id, ROTATION_ID_BYTES);
		fresh.certs[fresh.n++].since_ms = since_ms;
	}
	*self = fresh;
}

void rotation_observe_secret(struct rotation_coverage *self, const struct rotation_secret *seen, int64_t monotonic_ms)
{
	const struct rotation_configuration as_one = {seen->presence, &seen->cas, 1};

	rotation_observe(self, &as_one, monotonic_ms);
}

/* INT64_MAX: not at all. */
static int64_t held_since_ms(const struct rotation_coverage *coverage, const unsigned char *id)
{
	for (size_t i = 0; coverage->presence == ROTATION_PRESENT && i < coverage->n; i++)
		if (same_id(coverage->certs[i].id, id))
			return coverage->certs[i].since_ms;
	return INT64_MAX;
}

/* How long until every API server that calls us trusts leaves of this CA; 0: now; INT64_MAX: not yet under way. */
static int64_t settles_in_ms(const struct rotation_view *view, const unsigned char *id)
{
	int64_t wait_ms = 0;

	for (size_t i = 0; i < ROTATION_CONFIGURATIONS; i++) {
		const struct rotation_coverage *coverage = &view->coverage[i];
		int64_t since_ms = held_since_ms(coverage, id);

		/* one that comes back must be filled by somebody who knows this CA */
		if (coverage->presence == ROTATION_ABSENT)
			since_ms = MAX(coverage->absent_since_ms, held_since_ms(&view->known, id));
		if (since_ms == INT64_MAX)
			return INT64_MAX;
		wait_ms = MAX(wait_ms, since_ms + view->times.settle_ms - view->monotonic_ms);
	}
	return wait_ms;
}

/* Does any API server trust anything yet? Before the first caBundle there is nothing to lose. Certificates that have
 * ended count: what we see of a configuration may be old. */
static bool is_anything_trusted(const struct rotation_view *view)
{
	for (size_t i = 0; i < ROTATION_CONFIGURATIONS; i++)
		for (size_t j = 0; j < view->configurations[i].n_entries; j++)
			if (view->configurations[i].entries[j].n)
				return true;
	return false;
}

/* Does any configuration hold it? */
static bool is_held(const struct rotation_view *view, const unsigned char *id)
{
	for (size_t i = 0; i < ROTATION_CONFIGURATIONS; i++)
		for (size_t j = 0; j < view->configurations[i].n_entries; j++)
			if (has(&view->configurations[i].entries[j], id))
				return true;
	return false;
}

/* By every configuration that is there, and by one at least? */
static bool is_covered_now(const struct rotation_view *view, const unsigned char *id)
{
	bool is_there = false;

	for (size_t i = 0; i < ROTATION_CONFIGURATIONS; i++) {
		if (!view->configurations[i].n_entries)
			continue;
		is_there = true;
		if (!covers(&view->configurations[i], id))
			return false;
	}
	return is_there;
}

/* A configuration, and none that trusts anything? */
static bool is_there_blank(const struct rotation_view *view)
{
	size_t n = 0;

	for (size_t i = 0; i < ROTATION_CONFIGURATIONS; i++)
		n += view->configurations[i].n_entries;
	return n > 0 && !is_anything_trusted(view);
}

static void adopt_one(const struct rotation_view *view, const struct rotation_cert *cert, struct rotation_bundle *ret)
{
	struct rotation_cert *one;

	if (!cert->is_ours || has_ended(view, cert) || has(&view->secret.cas, cert->id) || has(ret, cert->id))
		return;
	/* room for a new CA; what does not fit stays where it is */
	if (view->secret.cas.n + ret->n + 1 >= ROTATION_CERTS)
		return;
	one = &ret->certs[ret->n++];
	*one = *cert;
	/* which leaves it signed is not known, but how long they can live */
	one->last_leaf_ms = view->now_ms + view->times.cert_lifetime_ms;
	if (view->in_use.is_good && same_id(view->in_use.issuer, cert->id))
		one->last_leaf_ms = MAX(one->last_leaf_ms, view->in_use.until_ms);
}

static void find_unknown(const struct rotation_view *view, struct rotation_bundle *ret)
{
	ret->n = 0;
	for (size_t i = 0; i < ROTATION_CONFIGURATIONS; i++)
		for (size_t j = 0; j < view->configurations[i].n_entries; j++)
			for (size_t k = 0; k < view->configurations[i].entries[j].n; k++)
				adopt_one(view, &view->configurations[i].entries[j].certs[k], ret);
}

/* Others' in a long caBundle: it is not for us to tidy. */
static bool is_left_alone(const struct rotation_view *view, const struct rotation_bundle *entry, size_t i)
{
	return entry->n_more && !entry->certs[i].is_ours && !has(&view->secret.cas, entry->certs[i].id);
}

bool rotation_is_right(const struct rotation_view *view, const struct rotation_bundle *entry)
{
	for (size_t i = 0; i < view->secret.cas.n; i++)
		if (rotation_wants(view, i) && !has(entry, view->secret.cas.certs[i].id))
			return false;
	for (size_t i = 0; i < entry->n; i++)
		if (!is_left_alone(view, entry, i) && !rotation_keeps(view, &entry->certs[i]))
			return false;
	return entry->n_more || !entry->has_garbage;
}

static uint32_t find_unfilled(const struct rotation_view *view)
{
	uint32_t mask = 0;

	for (size_t i = 0; i < ROTATION_CONFIGURATIONS; i++)
		for (size_t j = 0; j < view->configurations[i].n_entries; j++)
			if (!rotation_is_right(view, &view->configurations[i].entries[j]))
				mask |= 1u << i;
	return mask;
}

static uint32_t find_prunable(const struct rotation_view *view)
{
	uint32_t mask = 0;

	for (size_t i = 0; i < view->secret.cas.n; i++)
		if (is_over(view, i) && !is_held(view, view->secret.cas.certs[i].id))
			mask |= 1u << i;
	return mask;
}

static bool secret_is_first(const struct rotation_view *view)
{
	return (view->secret.presence == ROTATION_ABSENT || view->secret.is_blank) && !is_anything_trusted(view);
}

/* With a new CA: a leaf that stays covered while it is made known. */
static enum rotation_new_leaf leaf_for_now(const struct rotation_view *view, const struct rotation_bundle *adopt)
{
	const struct rotation_leaf *in_use = &view->in_use;

	if (view->secret.presence == ROTATION_PRESENT && view->secret.leaf.is_good)
		return ROTATION_LEAF_AS_IS;
	if (is_alive(view, in_use) && (has(adopt, in_use->issuer) || has(&view->secret.cas, in_use->issuer)))
		return ROTATION_LEAF_IN_USE;
	/* the very first one: nobody can have trusted another. A Secret that is there had a past. */
	return secret_is_first(view) ? ROTATION_LEAF_MAKE : ROTATION_LEAF_AS_IS;
}

static bool set(struct rotation_plan *plan, enum rotation_action action, int64_t wake_ms, const char *why)
{
	plan->action = action;
	plan->wake_ms = wake_ms;
	plan->why = why;
	return true;
}

static bool plan_ca(const struct rotation_view *view, struct rotation_plan *plan)
{
	const struct rotation_secret *secret = &view->secret;
	const struct rotation_cert *newest = &secret->cas.certs[0];
	const char *why = NULL;

	if (secret->presence == ROTATION_ABSENT)
		why = "there is no Secret";
	else if (secret->is_blank)
		why = "the Secret is blank";
	else if (!secret->cas.n || !secret->has_ca_key)
		why = "the Secret has no CA with its key";
	else if (view->now_ms >= newest->until_ms)
		why = "the CA has ended";
	else if (is_of_the_future(view, newest->made_ms))
		why = "the CA was made by a clock that was ahead";
	else if (view->now_ms >= due_ms(view, newest->made_ms, newest->until_ms))
		why = "two thirds of the CA's life are over";
	if (!why)
		return false;
	plan->leaf = leaf_for_now(view, &plan->adopt);
	return set(plan, secret->presence == ROTATION_ABSENT ? ROTATION_CREATE : ROTATION_ADD_CA, 0, why);
}

/* NULL: the leaf is as it should be. */
static const char *why_new_leaf(const struct rotation_view *view)
{
	const struct rotation_leaf *leaf = &view->secret.leaf;

	if (!leaf->is_good)
		return "the Secret has no certificate that can be used";
	if (!same_id(leaf->issuer, view->secret.cas.certs[0].id))
		return "the certificate is of an older CA";
	if (is_of_the_future(view, leaf->made_ms))
		return "the certificate was made by a clock that was ahead";
	if (view->now_ms >= due_ms(view, leaf->made_ms, leaf->until_ms))
		return "two thirds of the certificate's life are over";
	return leaf->has_names ? NULL : "the certificate lacks names";
}

static bool plan_leaf(const struct rotation_view *view, struct rotation_plan *plan, int64_t settles_in)
{
	const struct rotation_leaf *leaf = &view->secret.leaf;
	const char *why = why_new_leaf(view);

	if (!why || settles_in > 0)
		return false;
	/* replicas of two versions may differ in their names: neither takes away what the other needs */
	plan->keeps_names = is_alive(view, leaf) && !leaf->has_names;
	return set(plan, ROTATION_SWITCH_LEAF, 0, why);
}

/* When something becomes due by itself. */
static int64_t next_due_ms(const struct rotation_view *view)
{
	const struct rotation_secret *secret = &view->secret;
	int64_t next_ms = due_ms(view, secret->cas.certs[0].made_ms, secret->cas.certs[0].until_ms);

	next_ms = MIN(next_ms, due_ms(view, secret->leaf.made_ms, secret->leaf.until_ms));
	for (size_t i = 0; i < secret->cas.n; i++)
		if (!signs_or_signed(view, i) && !is_over(view, i))
			next_ms = MIN(next_ms, last_end_ms(&secret->cas.certs[i]) + view->times.skew_ms);
	for (size_t i = 0; i < ROTATION_CONFIGURATIONS; i++)
		for (size_t j = 0; j < view->configurations[i].n_entries; j++) {
			const struct rotation_bundle *entry = &view->configurations[i].entries[j];

			for (size_t k = 0; k < entry->n; k++)
				if (!is_left_alone(view, entry, k))
					next_ms = MIN(next_ms, entry->certs[k].until_ms + view->times.skew_ms);
		}
	return MAX(next_ms - view->now_ms, 1);
}

static bool is_read(const struct rotation_view *view, const char **ret_why)
{
	static const char *const unread[] = {"the mutating webhook configuration could not be read yet",
					     "the validating webhook configuration could not be read yet"};

	*ret_why = "the Secret could not be read yet";
	if (view->secret.presence == ROTATION_UNREAD)
		return false;
	for (size_t i = 0; i < ROTATION_CONFIGURATIONS; i++) {
		*ret_why = unread[i];
		if (view->configurations[i].presence == ROTATION_UNREAD)
			return false;
	}
	return true;
}

void rotation_decide(const struct rotation_view *view, struct rotation_plan *ret)
{
	const char *why = NULL;
	int64_t settles_in;

	*ret = (struct rotation_plan){.action = ROTATION_WAIT, .wake_ms = INT64_MAX};
	if (!is_read(view, &why)) {
		set(ret, ROTATION_WAIT, INT64_MAX, why);
		return;
	}
	if (view->secret.is_refused) {
		set(ret, ROTATION_WAIT, INT64_MAX, "the Secret is not ours");
		return;
	}
	find_unknown(view, &ret->adopt);
	if (plan_ca(view, ret))
		return;
	settles_in = settles_in_ms(view, view->secret.cas.certs[0].id);
	/* before caBundles: a leaf must not end because a configuration cannot be written */
	if (plan_leaf(view, ret, settles_in))
		return;
	if (ret->adopt.n) {
		set(ret, ROTATION_ADOPT, 0, "a caBundle holds a CA of ours that the Secret lacks");
		return;
	}
	ret->fill_mask = find_unfilled(view);
	if (ret->fill_mask) {
		set(ret, ROTATION_FILL, 0, "a caBundle is not what it should be");
		return;
	}
	if (why_new_leaf(view)) {
		set(ret, ROTATION_SETTLE, settles_in, "waits until all API servers know the new CA");
		return;
	}
	ret->prune_mask = find_prunable(view);
	if (ret->prune_mask) {
		set(ret, ROTATION_PRUNE, 0, "no certificate of an older CA can be alive");
		return;
	}
	set(ret, ROTATION_WAIT, next_due_ms(view), "nothing to do");
}

bool rotation_may_use(const struct rotation_view *view, int64_t *ret_wake_ms)
{
	const struct rotation_secret *secret = &view->secret;
	int64_t settles_in;

	*ret_wake_ms = INT64_MAX;
	if (secret->presence != ROTATION_PRESENT || secret->is_refused || !secret->leaf.is_good)
		return false;
	settles_in = settles_in_ms(view, secret->leaf.issuer);
	/* nothing to lose; and whoever wrote it there has waited already */
	if (!is_alive(view, &view->in_use))
		return !is_anything_trusted(view) || settles_in != INT64_MAX;
	/* of a Secret restored from a backup: whoever takes the Lease makes a new one */
	if (!is_alive(view, &secret->leaf))
		return false;
	/* what is served now is trusted nowhere, and the other is, or soon will be */
	if (!is_held(view, view->in_use.issuer) && (is_covered_now(view, secret->leaf.issuer) || is_there_blank(view)))
		return true;
	if (settles_in <= 0)
		return true;
	*ret_wake_ms = settles_in;
	/* still better than none; the other ends first */
	if (view->in_use.until_ms - view->now_ms < settles_in)
		*ret_wake_ms = MAX(view->in_use.until_ms - view->now_ms, 1);
	return false;
}
