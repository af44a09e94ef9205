/* SPDX-License-Identifier: Apache-2.0 */
#include "triage/progress.h"

#include <errno.h>
#include <stdlib.h>

int progress_init(struct progress *self)
{
	*self = (struct progress){.items = malloc(PROGRESS_MAX * sizeof(*self->items))};
	return self->items ? 0 : -ENOMEM;
}

void progress_release(struct progress *self)
{
	free(self->items);
	*self = (struct progress){0};
}

bool progress_keep(struct progress *self, struct str text, uint64_t number)
{
	struct progress_line *line = &self->items[self->next];

	if (text.n > sizeof(line->text))
		return false;
	memcpy(line->text, text.p, text.n);
	line->n = text.n;
	line->number = number;
	self->next = (self->next + 1) % PROGRESS_MAX;
	self->n = MIN(self->n + 1, (size_t)PROGRESS_MAX);
	return true;
}

const struct progress_line *progress_take(struct progress *self)
{
	if (!self->n)
		return NULL;
	return &self->items[(self->next + PROGRESS_MAX - self->n--) % PROGRESS_MAX];
}
