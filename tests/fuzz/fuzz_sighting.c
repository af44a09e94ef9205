/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes are read as a pod that trains, or passed over; the same pod told again is no news, and what is made of it
 * can be told as evidence. What its annotation says is read for each of its containers. */
#include "base/limits.h"
#include "pods/sighting.h"
#include "policy/annotation.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NOW_MS ((int64_t)1793606400000)

static void require(bool condition)
{
	if (!condition)
		abort();
}

static void use(const struct sighting *sighting)
{
	const struct evidence_window window = {.end_ms = NOW_MS, .is_open = true};
	struct evidence_batch batch;

	evidence_batch_init(&batch, &window);
	require(sighting_tell(sighting, NOW_MS, &batch) == 0 && batch.pods.n == 1);
	evidence_batch_release(&batch);
	for (size_t i = 0; i < sighting->containers.n; i++) {
		const struct sighting_container *container = &sighting->containers.items[i];
		struct annotation_container set;
		struct annotation annotation;

		require(container->restarts >= 0 && container->limit_bytes >= 0 && container->live_limit_bytes >= 0);
		require(container->n_killed_limits >= 0 && container->n_killed_limits <= RUN_KILLED_LIMITS);
		if (annotation_read(sighting->decision, container->name, &annotation, &set))
			require(annotation.mode >= 0 && annotation.mode < MODE_COUNT_ && annotation.whole_runs >= 0);
	}
}

/* It goes: an end, whatever it was before. */
static void lose(struct sighting *sighting)
{
	sighting_set_gone(sighting, NOW_MS);
	require(sighting_is_over(sighting));
	use(sighting);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(LIMIT_OBJECT_DOC_BYTES);
	CLEANUP(sighting_freep) struct sighting *first = NULL;
	CLEANUP(sighting_freep) struct sighting *again = NULL;
	struct sighting_look look = {.now_ms = NOW_MS, .keeps_text = true};
	struct err err = ERR_INIT;

	if (sighting_read((const char *)data, size, &look, &arena, &first, &err) || !first)
		return 0;
	use(first);
	look.before = first;
	require(sighting_read((const char *)data, size, &look, &arena, &again, &err) == 0 && again);
	require(!sighting_is_news(first, again) && !sighting_is_urgent(first, again));
	if (first->text) {
		CLEANUP(sighting_freep) struct sighting *reread = NULL;

		look.before = NULL;
		require(sighting_read(first->text, first->n_text, &look, &arena, &reread, &err) == 0 && reread);
	}
	lose(again);
	return 0;
}
