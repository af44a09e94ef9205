/* SPDX-License-Identifier: Apache-2.0 */
/* Memory runs out while pods are read and told: -ENOMEM, nothing leaked, what was known is as it was. */
#include "support/alloc_fail.h"
#include "support/test.h"

#include "base/io.h"
#include "base/limits.h"
#include "pods/sighting.h"

#define NOW_MS ((int64_t)1793606400000)

static struct strbuf text = STRBUF_INIT(MIB);

static int read_pod(void *context, struct strbuf *ret)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(MIB);
	CLEANUP(sighting_freep) struct sighting *sighting = NULL;
	const struct sighting_look look = {.before = context, .now_ms = NOW_MS, .keeps_text = true};
	struct err err = ERR_INIT;
	int r = sighting_read(strbuf_text(&text), text.len, &look, &arena, &sighting, &err);

	if (r)
		return r;
	return strbuf_addf(ret, "%s %s %s %zu %d %s", sighting->name, sighting->owner.name, sighting->root.name,
			   sighting->labels.n, sighting->containers.items[0].n_killed_limits, sighting->text);
}

static int tell_pod(void *context, struct strbuf *ret)
{
	const struct evidence_window window = {.end_ms = NOW_MS, .is_open = true};
	struct evidence_batch batch;
	int r;

	evidence_batch_init(&batch, &window);
	r = sighting_tell(context, NOW_MS, &batch);
	if (!r)
		r = strbuf_addf(ret, "%s %zu", batch.pods.items[0]->owner_name, batch.pods.items[0]->labels.n);
	evidence_batch_release(&batch);
	return r;
}

static int join_pod(void *context, struct strbuf *ret)
{
	const struct evidence_window window = {.end_ms = NOW_MS, .is_open = true};
	struct evidence_batch batch;
	int r;

	evidence_batch_init(&batch, &window);
	r = evidence_join(&batch, context, NULL, 0);
	if (!r)
		r = strbuf_addf(ret, "%s %zu", batch.pods.items[0]->owner_name, batch.pods.items[0]->containers.n);
	evidence_batch_release(&batch);
	return r;
}

static void reading_and_telling_run_out_of_memory(void **state)
{
	const struct evidence_window window = {.end_ms = NOW_MS, .is_open = true};
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(MIB);
	CLEANUP(sighting_freep) struct sighting *sighting = NULL;
	const struct sighting_look look = {.now_ms = NOW_MS};
	struct evidence_batch batch;
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(io_read_file(TEST_SOURCE_DIR "/fuzz/corpus/sighting/restarted.json", &text, &err), 0);
	assert_true(alloc_fail_each("read", read_pod, NULL) > 10);
	assert_int_equal(sighting_read(strbuf_text(&text), text.len, &look, &arena, &sighting, &err), 0);
	assert_true(alloc_fail_each("read again", read_pod, sighting) > 10);
	assert_true(alloc_fail_each("tell", tell_pod, sighting) > 3);
	evidence_batch_init(&batch, &window);
	assert_int_equal(sighting_tell(sighting, NOW_MS, &batch), 0);
	assert_true(alloc_fail_each("join", join_pod, &batch) > 3);
	evidence_batch_release(&batch);
	strbuf_release(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reading_and_telling_run_out_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
