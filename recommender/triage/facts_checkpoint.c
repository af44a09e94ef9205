/* SPDX-License-Identifier: Apache-2.0 */
/* Which lines prove a checkpoint: a run that is killed while it writes one leaves a line that names it, too. */
#include "triage/facts_internal.h"

#include <ctype.h>
#include <stdio.h>

/* The bytes of a path up to its last folder, if that is the one of a checkpoint ("global_step10"); else 0. */
static size_t folder_of(const char *path)
{
	const char *end = strrchr(path, '/'), *start = end;
	char name[READING_WORDS_BYTES];

	if (!end || end == path || !isdigit((unsigned char)end[-1]))
		return 0;
	while (start > path && start[-1] != '/')
		start--;
	snprintf(name, sizeof(name), "%.*s", (int)(end - start), start);
	return text_has(name, "step|checkpoint|ckpt|epoch|iter") ? (size_t)(end - path) : 0;
}

/* Whether a file that was saved is only a part of the checkpoint that is being written: it is below its path, or in the
 * same folder. */
static bool is_part(const struct fact *open, const struct reading *reading)
{
	const char *path = open->reading.words;
	size_t n = strlen(path), n_folder = folder_of(path);

	if (n && strncmp(reading->words, path, n) == 0 && reading->words[n] == '/')
		return true;
	return n_folder && strncmp(reading->words, path, n_folder + 1) == 0;
}

/* A line that says that a checkpoint is being written proves one only if the run goes on behind it. */
void facts_add_checkpoint(struct facts *self, const struct line *line, const struct reading *reading)
{
	bool has_open = self->open_checkpoint != SIZE_MAX, has_passed = false;
	struct fact open;

	if (has_open) {
		open = self->items.items[self->open_checkpoint];
		has_passed = facts_progress_since(self, &open) > 0;
	}
	if (reading->is_exact) {
		if (!has_open || has_passed || !is_part(&open, reading))
			facts_add_line(self, line, SIGNAL_CHECKPOINT, reading);
		return;
	}
	if (has_passed) {
		open.reading.is_exact = true;
		facts_keep(self, &open);
	}
	self->open_checkpoint = facts_add_line(self, line, SIGNAL_CHECKPOINT, reading);
}
