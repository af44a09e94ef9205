/* SPDX-License-Identifier: Apache-2.0 */
#include "certs/rotation_internal.h"

#include "base/timefmt.h"

#include <string.h>

#define SETTLE_MS (10 * TIME_SECOND_MS)
#define SKEW_MS	  TIME_HOUR_MS
/* Divisors of a lifetime: settling and skew take at most a tenth of it; renewals of replicas are spread over a
 * twentieth, after two thirds. */
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

/* When to renew: after two thirds of the lifetime, a little later for some replicas. */
static int64_t due_ms(const struct rotation_view *view, int64_t made_ms, int64_t until_ms)
{
	int64_t life_ms = until_ms - made_ms;

	return made_ms + life_ms / 3 * 2 + life_ms / JITTER_PART / 1000 * view->times.jitter_permille;
}

/* Whether it was made by a clock that was ahead. API servers with correct clocks refuse it until that time. */
static bool is_of_the_future(const struct rotation_view *view, int64_t made_ms)
{
	return made_ms > view->now_ms + view->times.skew_ms;
}

/* Records that leaves of a CA live at least until then. */
static void extend(struct rotation_bundle *cas, const unsigned char *id, int64_t until_ms)
{
	size_t i = rotation_find(cas, id);

	if (i < cas->n)
		cas->certs[i].last_leaf_ms = MAX(cas->certs[i].last_leaf_ms, until_ms);
}

static void adopt_one(const struct rotation_view *view, const struct rotation_cert *cert, struct rotation_bundle *cas)
{
	if (!cert->is_ours || rotation_has_ended(view, cert) || rotation_has(cas, cert->id))
		return;
	/* keep room for a new CA; a certificate that does not fit stays in its caBundle */
	if (cas->n + 1 >= ROTATION_CERTS)
		return;
	cas->certs[cas->n++] = *cert;
	/* its leaves are unknown, but their lifetime is not */
	extend(cas, cert->id, view->now_ms + view->times.cert_lifetime_ms);
	if (view->in_use.is_good && rotation_same_id(view->in_use.issuer, cert->id))
		extend(cas, cert->id, view->in_use.until_ms);
}

/* The CAs of the Secret, and those of our name that only caBundles contain. */
static void find_cas(const struct rotation_view *view, struct rotation_bundle *ret)
{
	*ret = view->secret.cas;
	for (size_t i = 0; i < ROTATION_CONFIGURATIONS; i++)
		for (size_t j = 0; j < view->configurations[i].n_entries; j++)
			for (size_t k = 0; k < view->configurations[i].entries[j].n; k++)
				adopt_one(view, &view->configurations[i].entries[j].certs[k], ret);
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

/* Removes CAs that are no longer needed. @return whether there are any. */
static bool prune(const struct rotation_view *view, struct rotation_bundle *cas)
{
	size_t n = cas->n;

	cas->n = 0;
	for (size_t i = 0; i < n; i++)
		if (!rotation_is_over(view, i) || rotation_is_held(view, view->secret.cas.certs[i].id))
			cas->certs[cas->n++] = view->secret.cas.certs[i];
	return cas->n < n;
}

/* Removes the oldest CA from a full bundle, but not that of the leaf. */
static void make_room(const struct rotation_leaf *leaf, struct rotation_bundle *cas)
{
	size_t i = cas->n - 1;

	if (cas->n < ROTATION_CERTS)
		return;
	if (leaf->is_good && rotation_same_id(cas->certs[i].id, leaf->issuer))
		i--;
	memmove(&cas->certs[i], &cas->certs[i + 1], (cas->n - i - 1) * sizeof(cas->certs[0]));
	cas->n--;
}

static bool secret_is_first(const struct rotation_view *view)
{
	return (view->secret.presence == ROTATION_ABSENT || view->secret.is_blank) &&
	       !rotation_is_anything_trusted(view);
}

/* The leaf to write with a new CA: one that is trusted while API servers learn about the new CA. */
static enum rotation_new_leaf leaf_for_now(const struct rotation_view *view, const struct rotation_bundle *cas)
{
	const struct rotation_leaf *in_use = &view->in_use;

	if (view->secret.presence == ROTATION_PRESENT && view->secret.leaf.is_good)
		return ROTATION_LEAF_AS_IS;
	if (rotation_is_alive(view, in_use) && rotation_has(cas, in_use->issuer))
		return ROTATION_LEAF_IN_USE;
	/* The very first leaf can be of the new CA, because no API server trusts another one yet. That does not hold
	 * for a Secret that existed before. */
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
	plan->makes_ca = true;
	plan->leaf = leaf_for_now(view, &plan->cas);
	make_room(&secret->leaf, &plan->cas);
	/* whatever the annotation says, because the Secret may have been restored from a backup */
	if (secret->cas.n)
		extend(&plan->cas, newest->id, view->now_ms + view->times.cert_lifetime_ms);
	if (plan->leaf == ROTATION_LEAF_IN_USE)
		extend(&plan->cas, view->in_use.issuer, view->in_use.until_ms);
	return set(plan, secret->presence == ROTATION_ABSENT ? ROTATION_CREATE : ROTATION_ADD_CA, 0, why);
}

/* Why a new leaf is needed; NULL: it is not. */
static const char *why_new_leaf(const struct rotation_view *view)
{
	const struct rotation_leaf *leaf = &view->secret.leaf;

	if (!leaf->is_good)
		return "the Secret has no certificate that can be used";
	if (!rotation_same_id(leaf->issuer, view->secret.cas.certs[0].id))
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
	plan->leaf = ROTATION_LEAF_MAKE;
	extend(&plan->cas, view->secret.cas.certs[0].id, view->now_ms + view->times.cert_lifetime_ms);
	/* replicas of two versions may have different names: keep the names that the others need */
	plan->keeps_names = rotation_is_alive(view, leaf) && !leaf->has_names;
	return set(plan, ROTATION_SWITCH_LEAF, 0, why);
}

/* When the next step becomes due without a change, from now. */
static int64_t next_due_ms(const struct rotation_view *view)
{
	const struct rotation_secret *secret = &view->secret;
	int64_t next_ms = due_ms(view, secret->cas.certs[0].made_ms, secret->cas.certs[0].until_ms);

	next_ms = MIN(next_ms, due_ms(view, secret->leaf.made_ms, secret->leaf.until_ms));
	for (size_t i = 0; i < secret->cas.n; i++)
		if (!rotation_signs_or_signed(view, i) && !rotation_is_over(view, i))
			next_ms = MIN(next_ms, rotation_last_end_ms(&secret->cas.certs[i]) + view->times.skew_ms);
	for (size_t i = 0; i < ROTATION_CONFIGURATIONS; i++)
		for (size_t j = 0; j < view->configurations[i].n_entries; j++) {
			const struct rotation_bundle *entry = &view->configurations[i].entries[j];

			for (size_t k = 0; k < entry->n; k++)
				if (!rotation_is_left_alone(view, entry, k))
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
	find_cas(view, &ret->cas);
	if (plan_ca(view, ret))
		return;
	settles_in = rotation_settles_in_ms(view, view->secret.cas.certs[0].id);
	/* before caBundles, because the leaf must be renewed even if a configuration cannot be written */
	if (plan_leaf(view, ret, settles_in))
		return;
	if (ret->cas.n > view->secret.cas.n) {
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
	if (prune(view, &ret->cas)) {
		set(ret, ROTATION_PRUNE, 0, "no certificate of an older CA can be alive");
		return;
	}
	set(ret, ROTATION_WAIT, next_due_ms(view), "nothing to do");
}
