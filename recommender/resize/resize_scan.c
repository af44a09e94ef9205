/* SPDX-License-Identifier: Apache-2.0 */
#include "resize/resize_scan_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- what is remembered ---- */

struct entry *resize_scan_entry(struct resize_scan *self, const char *uid, const char *container)
{
	struct entry *entry;
	char key[sizeof(entry->key)];

	snprintf(key, sizeof(key), "%s/%s", uid, container);
	entry = strmap_get(&self->by_key, key);
	if (!entry) {
		entry = calloc(1, sizeof(*entry));
		if (!entry || vec_push(&self->entries, entry)) {
			free(entry);
			return NULL;
		}
		memcpy(entry->key, key, sizeof(key));
		entry->restarts_asked = -1;
		if (strmap_put(&self->by_key, entry->key, entry)) {
			self->entries.n--;
			free(entry);
			return NULL;
		}
	}
	entry->is_there = true;
	return entry;
}

int resize_scan_sweep(struct resize_scan *self)
{
	size_t n = 0;
	int r = 0;

	for (size_t i = 0; i < self->entries.n; i++) {
		struct entry *entry = self->entries.items[i];

		if (entry->is_there)
			self->entries.items[n++] = entry;
		else
			free(entry);
	}
	if (n != self->entries.n) {
		self->entries.n = n;
		strmap_release(&self->by_key);
		for (size_t i = 0; i < n && !r; i++)
			r = strmap_put(&self->by_key, self->entries.items[i]->key, self->entries.items[i]);
	}
	for (size_t i = 0; i < n; i++)
		self->entries.items[i]->is_there = false;
	return r;
}

/* ---- asks ---- */

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

/* One that was killed, to be asked for. */
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
		if (!entry || pod->restart_policy == SIGHTING_NEVER || !killed || container->limit_bytes > killed ||
		    entry->restarts_asked == container->restarts)
			continue;
		kill.ask = resize_scan_ask(RESIZE_KIND_OOM, pod, container->name);
		kill.ask.killed_bytes = killed;
		visiting->status = vec_push(&visiting->kills, kill);
	}
	return !visiting->status;
}

/* What is not taken (the queue is full, or we do not lead now) is asked for again by the next scan. @return 0; the
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
	if (!r)
		r = resize_scan_sweep(self);
	if (!r)
		r = post_kills(&visiting);
	vec_release(&visiting.kills);
	return r ? err_set(err, r, "resizes of killed containers cannot be asked for") : 0;
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
	for (size_t i = 0; i < self->entries.n; i++)
		free(self->entries.items[i]);
	vec_release(&self->entries);
	strmap_release(&self->by_key);
	free(self);
}
