/* SPDX-License-Identifier: Apache-2.0 */
/* rotation_trust: which CAs API servers trust, since when, and for how long they must. */
#include "certs/rotation_internal.h"

#include <string.h>

bool rotation_same_id(const unsigned char *a, const unsigned char *b)
{
	return memcmp(a, b, ROTATION_ID_BYTES) == 0;
}

size_t rotation_find(const struct rotation_bundle *bundle, const unsigned char *id)
{
	size_t i = 0;

	while (i < bundle->n && !rotation_same_id(bundle->certs[i].id, id))
		i++;
	return i;
}

bool rotation_has(const struct rotation_bundle *bundle, const unsigned char *id)
{
	return rotation_find(bundle, id) < bundle->n;
}

bool rotation_has_ended(const struct rotation_view *view, const struct rotation_cert *cert)
{
	return view->now_ms >= cert->until_ms + view->times.skew_ms;
}

int64_t rotation_last_end_ms(const struct rotation_cert *cert)
{
	return cert->last_leaf_ms ? MIN(cert->last_leaf_ms, cert->until_ms) : cert->until_ms;
}

bool rotation_is_alive(const struct rotation_view *view, const struct rotation_leaf *leaf)
{
	return leaf->is_good && view->now_ms < leaf->until_ms;
}

bool rotation_signs_or_signed(const struct rotation_view *view, size_t ca)
{
	const struct rotation_secret *secret = &view->secret;
	const unsigned char *id = secret->cas.certs[ca].id;

	return ca == 0 || (secret->leaf.is_good && rotation_same_id(id, secret->leaf.issuer)) ||
	       (rotation_is_alive(view, &view->in_use) && rotation_same_id(id, view->in_use.issuer));
}

bool rotation_wants(const struct rotation_view *view, size_t ca)
{
	/* until it has ended by the slowest clock */
	return rotation_signs_or_signed(view, ca) ||
	       view->now_ms < rotation_last_end_ms(&view->secret.cas.certs[ca]) + view->times.skew_ms / 2;
}

bool rotation_is_over(const struct rotation_view *view, size_t ca)
{
	return !rotation_signs_or_signed(view, ca) &&
	       view->now_ms >= rotation_last_end_ms(&view->secret.cas.certs[ca]) + view->times.skew_ms;
}

bool rotation_keeps(const struct rotation_view *view, const struct rotation_cert *cert)
{
	size_t ca = rotation_find(&view->secret.cas, cert->id);

	return ca < view->secret.cas.n ? !rotation_is_over(view, ca) : !rotation_has_ended(view, cert);
}

static bool covers(const struct rotation_configuration *configuration, const unsigned char *id)
{
	for (size_t i = 0; i < configuration->n_entries; i++)
		if (!rotation_has(&configuration->entries[i], id))
			return false;
	return true;
}

void rotation_observe(struct rotation_coverage *self, const struct rotation_configuration *seen, int64_t monotonic_ms)
{
	struct rotation_coverage fresh = {.presence = seen->presence, .absent_since_ms = monotonic_ms};
	const struct rotation_bundle *first = seen->entries;

	/* a configuration without webhooks counts as absent */
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
			if (rotation_same_id(self->certs[j].id, id))
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

/* Since when a certificate is held, by the monotonic clock; INT64_MAX: it is not. */
static int64_t held_since_ms(const struct rotation_coverage *coverage, const unsigned char *id)
{
	for (size_t i = 0; coverage->presence == ROTATION_PRESENT && i < coverage->n; i++)
		if (rotation_same_id(coverage->certs[i].id, id))
			return coverage->certs[i].since_ms;
	return INT64_MAX;
}

int64_t rotation_settles_in_ms(const struct rotation_view *view, const unsigned char *id)
{
	int64_t wait_ms = 0;

	for (size_t i = 0; i < ROTATION_CONFIGURATIONS; i++) {
		const struct rotation_coverage *coverage = &view->coverage[i];
		int64_t since_ms = held_since_ms(coverage, id);

		/* whoever creates the configuration again must know this CA */
		if (coverage->presence == ROTATION_ABSENT)
			since_ms = MAX(coverage->absent_since_ms, held_since_ms(&view->known, id));
		if (since_ms == INT64_MAX)
			return INT64_MAX;
		wait_ms = MAX(wait_ms, since_ms + view->times.settle_ms - view->monotonic_ms);
	}
	return wait_ms;
}

bool rotation_is_anything_trusted(const struct rotation_view *view)
{
	for (size_t i = 0; i < ROTATION_CONFIGURATIONS; i++)
		for (size_t j = 0; j < view->configurations[i].n_entries; j++)
			if (view->configurations[i].entries[j].n)
				return true;
	return false;
}

bool rotation_is_held(const struct rotation_view *view, const unsigned char *id)
{
	for (size_t i = 0; i < ROTATION_CONFIGURATIONS; i++)
		for (size_t j = 0; j < view->configurations[i].n_entries; j++)
			if (rotation_has(&view->configurations[i].entries[j], id))
				return true;
	return false;
}

/* Whether every existing configuration contains it, and there is at least one. */
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

/* Whether there is a configuration, and none trusts anything. */
static bool is_there_blank(const struct rotation_view *view)
{
	size_t n = 0;

	for (size_t i = 0; i < ROTATION_CONFIGURATIONS; i++)
		n += view->configurations[i].n_entries;
	return n > 0 && !rotation_is_anything_trusted(view);
}

bool rotation_is_left_alone(const struct rotation_view *view, const struct rotation_bundle *entry, size_t i)
{
	return entry->n_more && !entry->certs[i].is_ours && !rotation_has(&view->secret.cas, entry->certs[i].id);
}

bool rotation_is_right(const struct rotation_view *view, const struct rotation_bundle *entry)
{
	for (size_t i = 0; i < view->secret.cas.n; i++)
		if (rotation_wants(view, i) && !rotation_has(entry, view->secret.cas.certs[i].id))
			return false;
	for (size_t i = 0; i < entry->n; i++)
		if (!rotation_is_left_alone(view, entry, i) && !rotation_keeps(view, &entry->certs[i]))
			return false;
	return entry->n_more || !entry->has_garbage;
}

bool rotation_may_use(const struct rotation_view *view, int64_t *ret_wake_ms)
{
	const struct rotation_secret *secret = &view->secret;
	int64_t settles_in;

	*ret_wake_ms = INT64_MAX;
	if (secret->presence != ROTATION_PRESENT || secret->is_refused || !secret->leaf.is_good)
		return false;
	settles_in = rotation_settles_in_ms(view, secret->leaf.issuer);
	/* no leaf in use can be lost, and the writer of the Secret has waited already */
	if (!rotation_is_alive(view, &view->in_use))
		return !rotation_is_anything_trusted(view) || settles_in != INT64_MAX;
	/* the Secret was restored from a backup; the next holder of the Lease makes a new leaf */
	if (!rotation_is_alive(view, &secret->leaf))
		return false;
	/* no API server trusts the leaf in use, and the Secret's leaf is trusted or soon will be */
	if (!rotation_is_held(view, view->in_use.issuer) &&
	    (is_covered_now(view, secret->leaf.issuer) || is_there_blank(view)))
		return true;
	if (settles_in <= 0)
		return true;
	*ret_wake_ms = settles_in;
	/* the leaf in use ends before that, and any leaf is better than none */
	if (view->in_use.until_ms - view->now_ms < settles_in)
		*ret_wake_ms = MAX(view->in_use.until_ms - view->now_ms, 1);
	return false;
}
