/* SPDX-License-Identifier: Apache-2.0 */
#include "resize/resize_scan_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- entries ---- */

static struct entry *next_of(const struct resize_scan *self, const struct entry *entry)
{
	struct hashtable_node *node = hashtable_next(&self->entries, entry ? &entry->by_key : NULL);

	return node ? HASHTABLE_OBJECT(node, struct entry, by_key) : NULL;
}

struct entry *resize_scan_entry(struct resize_scan *self, const char *uid, const char *container)
{
	uint64_t key = hashtable_hash((const char *const[]){uid, container}, 2);
	struct hashtable_node *node = hashtable_find(&self->entries, key);
	struct entry *entry = node ? HASHTABLE_OBJECT(node, struct entry, by_key) : calloc(1, sizeof(*entry));

	if (!entry)
		return NULL;
	if (!node) {
		entry->restarts_asked = -1;
		if (hashtable_add(&self->entries, &entry->by_key, key)) {
			free(entry);
			return NULL;
		}
	}
	entry->is_there = true;
	return entry;
}

void resize_scan_sweep(struct resize_scan *self)
{
	for (struct entry *entry = next_of(self, NULL), *next; entry; entry = next) {
		next = next_of(self, entry);
		if (!entry->is_there) {
			hashtable_remove(&self->entries, &entry->by_key);
			free(entry);
		} else {
			entry->is_there = false;
		}
	}
}

/* ---- requests ---- */

static void copy(char *to, size_t size, const char *from)
{
	snprintf(to, size, "%s", from);
}

struct resize_ask resize_scan_ask(enum resize_kind kind, const struct sighting *pod, const char *container)
{
	struct resize_ask ask = {.kind = kind};

	copy(ask.namespace_name, sizeof(ask.namespace_name), pod->namespace_name);
	copy(ask.pod, sizeof(ask.pod), pod->name);
	copy(ask.uid, sizeof(ask.uid), pod->uid);
	copy(ask.container, sizeof(ask.container), container);
	copy(ask.node, sizeof(ask.node), pod->node);
	copy(ask.root.api_version, sizeof(ask.root.api_version), pod->root.api_version);
	copy(ask.root.kind, sizeof(ask.root.kind), pod->root.kind);
	copy(ask.root.name, sizeof(ask.root.name), pod->root.name);
	copy(ask.root.uid, sizeof(ask.root.uid), pod->root.uid);
	return ask;
}

bool resize_scan_is_over(const struct sighting *pod)
{
	return pod->is_gone || pod->deleted_ms || pod->ends & (END_SUCCEEDED | END_FAILED);
}

/* ---- kills ---- */

/* A killed container for which a resize is to be requested. */
struct kill {
	struct resize_ask ask;
	struct entry *entry;
	int restarts;
};

struct visiting {
	struct resize_scan *self;
	VEC(struct kill) kills;
	int status;
};

static int64_t killed_at(const struct sighting_container *container)
{
	int64_t most = 0;

	for (int i = 0; i < container->n_killed_limits; i++)
		most = MAX(most, container->killed_limits[i]);
	return most;
}

static bool visit_kills(void *context, const struct sighting *pod)
{
	struct visiting *visiting = context;

	if (resize_scan_is_over(pod))
		return true;
	for (size_t i = 0; i < pod->containers.n && !visiting->status; i++) {
		const struct sighting_container *container = &pod->containers.items[i];
		struct entry *entry = resize_scan_entry(visiting->self, pod->uid, container->name);
		int64_t killed = killed_at(container);
		struct kill kill = {.entry = entry, .restarts = container->restarts};

		if (!entry)
			visiting->status = -ENOMEM;
		if (!entry || !sighting_restarts(container) || !killed || container->limit_bytes > killed ||
		    entry->restarts_asked == container->restarts)
			continue;
		kill.ask = resize_scan_ask(RESIZE_KIND_OOM, pod, container->name);
		kill.ask.killed_bytes = killed;
		visiting->status = vec_push(&visiting->kills, kill);
	}
	return !visiting->status;
}

/* Requests that are not accepted (the queue is full, or we do not lead) are repeated by the next scan. @return 0; the
 * first failure. */
static int post_kills(const struct visiting *visiting)
{
	const struct resize_scan_config *config = &visiting->self->config;
	int status = 0;

	for (size_t i = 0; i < visiting->kills.n; i++) {
		const struct kill *kill = &visiting->kills.items[i];
		int r = config->post(config->context, &kill->ask);

		if (!r)
			kill->entry->restarts_asked = kill->restarts;
		if (!status)
			status = MIN(r, 0);
	}
	return status;
}

int resize_scan_kills(struct resize_scan *self, struct err *err)
{
	struct visiting visiting = {.self = self};
	int r;

	if (self->config.mode < RESIZE_ON_OOM)
		return 0;
	self->config.visit(self->config.context, visit_kills, &visiting);
	r = visiting.status;
	if (!r) {
		resize_scan_sweep(self);
		r = post_kills(&visiting);
	}
	vec_release(&visiting.kills);
	return r ? err_set(err, r, "resizes of killed containers cannot be requested") : 0;
}

/* ---- the scan ---- */

int resize_scan_new(const struct resize_scan_config *config, struct resize_scan **ret, struct err *err)
{
	struct resize_scan *self = calloc(1, sizeof(*self));

	if (!self)
		return err_set(err, -ENOMEM, "out of memory");
	self->config = *config;
	*ret = self;
	return 0;
}

void resize_scan_free(struct resize_scan *self)
{
	if (!self)
		return;
	/* the first sweep clears the marks, the second one removes all entries */
	resize_scan_sweep(self);
	resize_scan_sweep(self);
	hashtable_release(&self->entries);
	free(self);
}
