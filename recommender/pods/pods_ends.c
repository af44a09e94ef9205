/* SPDX-License-Identifier: Apache-2.0 */
/* What was found about ends of pods from their logs and Events. */
#include "pods/pods_internal.h"

static struct pods_found_end *find_end(struct pods *self, const char *uid)
{
	for (size_t i = 0; i < self->n_ends && i < LIMIT_DIAGNOSE_RUNS; i++)
		if (streq(self->ends[i].uid, uid))
			return &self->ends[i];
	return NULL;
}

void pods_note_end(struct pods *self, const struct pods_found_end *end)
{
	struct pods_found_end *known;

	pthread_mutex_lock(&self->mutex);
	known = find_end(self, end->uid);
	if (!known && *end->kind)
		known = &self->ends[self->n_ends++ % LIMIT_DIAGNOSE_RUNS];
	if (known)
		*known = *end;
	pthread_mutex_unlock(&self->mutex);
}

size_t pods_found_ends(struct pods *self, struct pods_found_end ret[LIMIT_DIAGNOSE_RUNS])
{
	size_t n = 0;

	pthread_mutex_lock(&self->mutex);
	for (size_t i = 0; i < self->n_ends && i < LIMIT_DIAGNOSE_RUNS; i++)
		if (*self->ends[i].kind)
			ret[n++] = self->ends[i];
	pthread_mutex_unlock(&self->mutex);
	return n;
}
