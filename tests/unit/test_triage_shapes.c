/* SPDX-License-Identifier: Apache-2.0 */
/* Lines that differ only in their digits: they are read like all others, and at a small part of the cost. */
#include "support/test.h"

#include "support/cost.h"
#include "triage_fixture.h"

#include "base/strbuf.h"

#define LINES 4000

/* A log, as a form with up to four numbers in each line. */
struct log {
	const char *name;
	const char *forms[4]; /* in turn; a # is a number that changes, & a rank, $ and ~ one of few */
	bool is_cheap;	      /* the shapes cover it */
};

static const struct log logs[] = {
	{"samples", {"step # allocated=#.#GiB reserved=#.#GiB rss # GB"}, true},
	{"samples alone", {"allocated=#.#GiB reserved=#.#GiB gap=#.#GiB"}, true},
	{"peaks of ranks", {"[rank&]: step #/90000: loss=0.# peak_reserved=#.#GiB, # tokens/s"}, true},
	{"json", {"{\"rank\": &, \"step\": #, \"gpu\": \"reserved=#MiB allocated=#MiB\"}"}, true},
	{"hugging face", {"{'loss': 2.#, 'grad_norm': 0.#, 'epoch': #.#, 'rss_gib': #.#}"}, true},
	{"bars", {"epoch $:  $%|....| #/9999 [00:10<01:13, #.#it/s, reserved=#.#GiB]"}, true},
	{"retries", {"WARNING caught OOM in batch #, retrying with batch size #"}, true},
	{"retries of ranks", {"[rank&]: OOM at step #, skipping batch", "[rank&]: step # reserved=#.#GiB"}, true},
	{"no retries, and no ends",
	 {"WARNING retrying request # after connection error: timed out, exit code ~"},
	 true},
	{"ends among them", {"job step # reserved=#.#GiB", "error: worker $: exit code $"}, false},
	{"words with digits", {"step # loss 0.#: killed by signal $, reserved=#.#GiB"}, false},
	{"mpirun", {"[$,&]<stderr>: step # allocated=#.#GiB"}, false},
	{"pods", {"[pod/train-worker-&/pytorch] step # allocated=#.#GiB"}, false},
	{"no steps a second", {"step # #it/s reserved=#.#GiB", "step # 0it/s # tokens/s reserved=#.#GiB"}, false},
	{"samples between steps", {"step # loss 0.#", "step # loss 0.#", "max_memory_allocated: #.#GB"}, true},
};

static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

static void add_line(struct strbuf *text, const char *form, uint32_t n, uint32_t *state)
{
	static const uint32_t few[] = {0, 1, 9, 137, 15, 2};

	for (; *form; form++) {
		if (*form == '#')
			strbuf_addf(text, "%u", next_random(state) % 3 ? n : next_random(state) % 90);
		else if (*form == '&')
			strbuf_addf(text, "%u", next_random(state) % 6);
		else if (*form == '~')
			strbuf_addf(text, "%u", next_random(state) % 3);
		else if (*form == '$')
			strbuf_addf(text, "%u", few[next_random(state) % ARRAY_LEN(few)]);
		else
			strbuf_addc(text, *form);
	}
	strbuf_addc(text, '\n');
}

static void write_log(struct strbuf *text, const struct log *log)
{
	uint32_t state = 7;
	size_t n_forms = 0;

	while (n_forms < ARRAY_LEN(log->forms) && log->forms[n_forms])
		n_forms++;
	for (uint32_t i = 0; i < LINES; i++)
		add_line(text, log->forms[i % n_forms], 100 + i, &state);
	strbuf_adds(text, "[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n");
}

/* Two files, so that what is known of the first one meets the second. */
static struct triage *read_log(const struct strbuf *text, bool has_shapes, uint64_t *ret_steps)
{
	struct triage *triage = begin();

	if (!has_shapes)
		triage->facts.shapes.n_learned = UINT64_MAX;
	cost_begin();
	for (int i = 0; i < 2; i++)
		assert_int_equal(facts_read_bytes(&triage->facts, i ? "rank5.log" : "train.log", INPUT_LOG,
						  strbuf_text(text), text->len),
				 0);
	*ret_steps = cost_steps();
	return triage;
}

static void assert_same_positions(const struct facts *one, const struct facts *other)
{
	assert_int_equal(one->positions.n, other->positions.n);
	for (size_t i = 0; i < one->positions.n; i++) {
		const struct position *a = &one->positions.items[i], *b = &other->positions.items[i];

		assert_int_equal(a->rank, b->rank);
		assert_int_equal(a->step, b->step);
		assert_int_equal(a->epoch, b->epoch);
		assert_int_equal(a->epoch_milli, b->epoch_milli);
		assert_int_equal(a->furthest.step, b->furthest.step);
		assert_int_equal(a->furthest.number, b->furthest.number);
		assert_int_equal(a->n_samples, b->n_samples);
		assert_int_equal(a->n_rises, b->n_rises);
		assert_int_equal(a->last_bytes, b->last_bytes);
		assert_int_equal(a->n_rss, b->n_rss);
		assert_int_equal(a->n_rss_rises, b->n_rss_rises);
		assert_int_equal(a->peak_reserved.value, b->peak_reserved.value);
		assert_int_equal(a->peak_reserved.number, b->peak_reserved.number);
		assert_int_equal(a->peak_reserved.step, b->peak_reserved.step);
		assert_int_equal(a->peak_allocated.value, b->peak_allocated.value);
		assert_int_equal(a->peak_rss.value, b->peak_rss.value);
		assert_memory_equal(&a->gap, &b->gap, sizeof(a->gap));
		assert_int_equal(a->rate.value, b->rate.value);
		assert_int_equal(a->rate.number, b->rate.number);
		assert_int_equal(a->rate_unit, b->rate_unit);
	}
}

static const struct fact *find_fact(const struct facts *facts, const struct fact *like)
{
	for (size_t i = 0; i < facts->items.n; i++) {
		const struct fact *fact = &facts->items.items[i];

		if (fact->signal == like->signal && fact->source == like->source && fact->number == like->number)
			return fact;
	}
	return NULL;
}

/* Facts stand in the same order, with the same texts and steps. */
static void assert_same_facts(const struct facts *one, const struct facts *other)
{
	const struct fact *last = NULL;

	assert_int_equal(one->items.n, other->items.n);
	for (size_t i = 0; i < one->items.n; i++) {
		const struct fact *a = &one->items.items[i], *b = find_fact(other, a);

		assert_non_null(b);
		assert_string_equal(a->text, b->text);
		assert_int_equal(a->rank, b->rank);
		assert_int_equal(a->step, b->step);
		assert_int_equal(a->n_progress, b->n_progress);
		for (size_t k = 0; k < one->items.n; k++)
			if (one->items.items[k].order < a->order)
				assert_true(find_fact(other, &one->items.items[k])->order < b->order);
		last = a;
	}
	assert_non_null(last);
	assert_string_equal(one->head, other->head);
}

static void shapes_change_nothing(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(logs); i++) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(4 * MIB);
		struct triage *with, *without;
		uint64_t steps;

		print_message("%s\n", logs[i].name);
		write_log(&text, &logs[i]);
		with = read_log(&text, true, &steps);
		without = read_log(&text, false, &steps);
		assert_same_positions(&without->facts, &with->facts);
		assert_same_facts(&without->facts, &with->facts);
		end(with);
		end(without);
	}
}

/* A line that is read as a whole costs three to ten steps a byte, one of them for the search for words. */
static void lines_that_repeat_cost_little(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(logs); i++) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(4 * MIB);
		uint64_t steps;

		if (!logs[i].is_cheap)
			continue;
		write_log(&text, &logs[i]);
		end(read_log(&text, true, &steps));
		print_message("%s: %.2f steps a byte\n", logs[i].name, (double)steps / (2.0 * (double)text.len));
		assert_true(steps < 4 * text.len);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shapes_change_nothing),
		cmocka_unit_test(lines_that_repeat_cost_little),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
