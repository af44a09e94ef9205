/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of GPUs: from series of an exporter to a run, and from runs to the warning at admission. */
#include "size_fixture.h"

#include "base/json.h"
#include "engine/learn_merge.h"
#include "evidence/metrics_internal.h"
#include "runs/pod_table.h"

#include <math.h>

#define CARD_MIB 81000 /* of each card here, unless a row says otherwise */

/* ---- figures ---- */

static void the_fuller_card_counts(void **state)
{
	static const struct {
		struct gpu_memory a, b;
		int32_t permille;
		int64_t used; /* afterwards */
	} rows[] = {
		{{0, 0}, {0, 0}, 0, 0},
		{{0, 0}, {79, 80}, 987, 79},
		{{79, 80}, {0, 0}, 987, 79},
		{{39, 40}, {60, 80}, 975, 39}, /* more in use, but of a larger card */
		{{60, 80}, {39, 40}, 975, 39},
		{{20, 40}, {40, 80}, 500, 40},
		{{79, 0}, {1, 80}, 12, 1}, /* without a capacity it is not known how full it was */
		{{1, 80}, {0, 80}, 12, 1},
		{{90, 80}, {79, 80}, 1000, 90},
		{{INT64_MAX / 2, INT64_MAX}, {1, 80}, 499, INT64_MAX / 2},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct gpu_memory gpu = rows[i].a;

		gpu_memory_raise(&gpu, &rows[i].b);
		if (gpu_memory_permille(&gpu) != rows[i].permille || gpu.used_bytes != rows[i].used)
			fail_msg("row %zu: %d, %lld", i, gpu_memory_permille(&gpu), (long long)gpu.used_bytes);
	}
}

/* ---- evidence ---- */

struct series {
	const char *labels;
	double used_mib, capacity_mib;
};

#define LABELS(name, more)                                                                                             \
	"{\"exported_namespace\":\"ml\",\"exported_pod\":\"" name "\",\"exported_container\":\"main\",\"pod\":\"dcgm-" \
	"x\"" more "}"
#define UID(uid)   ",\"pod_uid\":\"" uid "\""
#define MAX_SERIES 3

static void take(struct evidence_batch *batch, const char *text, int argument, double value)
{
	static const struct metric_labels spelling = {"exported_namespace", "exported_pod", "exported_container"};
	struct metric_sink sink = {.batch = batch, .labels = &spelling, .argument = argument};
	CLEANUP(json_putp) struct json_object *labels = NULL;

	assert_int_equal(json_parse(text, strlen(text), 4, &labels, NULL), 0);
	assert_int_equal(metric_take_gpu_memory(&sink, labels, value, NULL), 0);
}

/* Pods "a" (u1), "twin" (u2), "twin" (u3), which train, and "server" (u4), which does not. */
static void put_pods(struct evidence_batch *batch)
{
	static const char *const pods[][2] = {{"a", "u1"}, {"twin", "u2"}, {"twin", "u3"}, {"server", "u4"}};

	for (size_t i = 0; i < ARRAY_LEN(pods); i++) {
		struct pod *pod = evidence_pod_put(batch, "ml", pods[i][0], pods[i][1]);

		assert_non_null(pod);
		assert_non_null(pod_container_put(&batch->pods, pod, "main"));
		pod->is_training = !streq(pods[i][0], "server");
	}
}

static void series_become_memory_of_containers(void **state)
{
	static const struct {
		const char *name;
		struct series series[MAX_SERIES];
		const char *pod, *uid;
		int64_t used_mib, capacity_mib;
	} rows[] = {
		{"of a container", {{LABELS("a", ""), 79000, CARD_MIB}}, "a", "u1", 79000, CARD_MIB},
		{"an exporter that began to report uids",
		 {{LABELS("a", ""), 70000, CARD_MIB}, {LABELS("a", UID("u1")), 79000, CARD_MIB}},
		 "a",
		 "u1",
		 79000,
		 CARD_MIB},
		{"nothing in use", {{LABELS("a", ""), 0, CARD_MIB}}, "a", "u1", 0, CARD_MIB},
		{"no number", {{LABELS("a", ""), NAN, NAN}}, "a", "u1", 0, 0},
		{"absurd", {{LABELS("a", ""), 1e300, INFINITY}, {LABELS("a", ""), -1, -INFINITY}}, "a", "u1", 0, 0},
		{"one of two of a name, by name", {{LABELS("twin", ""), 79000, CARD_MIB}}, "twin", "u3", 0, 0},
		{"one of two of a name, by uid",
		 {{LABELS("twin", UID("u2")), 79000, CARD_MIB}},
		 "twin",
		 "u2",
		 79000,
		 CARD_MIB},
		{"an unknown pod of a known name", {{LABELS("a", UID("u9")), 79000, CARD_MIB}}, "a", "u1", 0, 0},
		{"of no pod", {{"{\"pod\":\"dcgm-x\",\"container\":\"main\"}", 79000, CARD_MIB}}, "a", "u1", 0, 0},
		{"of no container",
		 {{"{\"exported_namespace\":\"ml\",\"exported_pod\":\"a\"}", 79000, CARD_MIB}},
		 "a",
		 "u1",
		 0,
		 0},
		{"of a server", {{LABELS("server", ""), 79000, CARD_MIB}}, "server", "u4", 0, 0},
	};
	const struct evidence_window window = {.start_ms = 0, .end_ms = HOUR_MS};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct pod_container *container;
		const struct pod *pod;
		struct evidence_batch batch;

		test_row(rows[i].name);
		evidence_batch_init(&batch, &window);
		put_pods(&batch);
		for (size_t k = 0; k < MAX_SERIES && rows[i].series[k].labels; k++) {
			take(&batch, rows[i].series[k].labels, TARGET_GPU_CAPACITY, rows[i].series[k].capacity_mib);
			take(&batch, rows[i].series[k].labels, TARGET_GPU_USED, rows[i].series[k].used_mib);
		}
		pod = evidence_pod_get(&batch, "ml", rows[i].pod, rows[i].uid);
		assert_non_null(pod);
		assert_int_equal(pod->containers.n, 1);
		container = &pod->containers.items[0];
		assert_int_equal(container->gpu.used_bytes, rows[i].used_mib * MI);
		assert_int_equal(container->gpu.capacity_bytes, rows[i].capacity_mib * MI);
		evidence_batch_release(&batch);
	}
}

/* The fullest card of all windows counts, also after the table was stored between them. */
static void windows_are_merged(void **state)
{
	static const struct gpu_memory days[] = {{30 * GI, 80 * GI}, {39 * GI, 40 * GI}, {50 * GI, 80 * GI}};
	CLEANUP(strbuf_release) struct strbuf stored = STRBUF_INIT(MIB);
	struct pod_table table = POD_TABLE_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(days); i++) {
		const struct evidence_window window = {.start_ms = (int64_t)i * 24 * HOUR_MS,
						       .end_ms = (int64_t)(i + 1) * 24 * HOUR_MS};
		struct evidence_batch batch;
		struct pod_container *container;
		struct pod *pod;

		evidence_batch_init(&batch, &window);
		pod = evidence_pod_put(&batch, "ml", "a", "u1");
		assert_non_null(pod);
		pod->is_training = pod->is_watched = true;
		container = pod_container_put(&batch.pods, pod, "main");
		assert_non_null(container);
		container->gpu = days[i];
		assert_int_equal(pod_table_merge(&table, &batch, NULL), 0);
		evidence_batch_release(&batch);
		strbuf_clear(&stored);
		assert_int_equal(pod_table_encode(&table, &stored), 0);
		pod_table_release(&table);
		assert_int_equal(pod_table_decode(strbuf_text(&stored), stored.len, &table), 0);
	}
	assert_int_equal(table.pods.n, 1);
	assert_memory_equal(&table.pods.items[0]->containers.items[0].gpu, &days[1], sizeof(days[1]));
	pod_table_release(&table);
}

/* What another source, or an answer without DCGM's series, does not report stays. */
static void findings_are_merged(void **state)
{
	static const struct gpu_memory known = {70 * GI, 80 * GI}, fuller = {79 * GI, 80 * GI}, none = {0};
	static const struct {
		const struct gpu_memory *known, *found, *expected;
	} rows[] = {{&none, &none, &none},
		    {&known, &none, &known},
		    {&none, &known, &known},
		    {&known, &fuller, &fuller},
		    {&fuller, &known, &fuller}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		for (int is_watched = 0; is_watched < 2; is_watched++) {
			struct run run = {.name = "train-7",
					  .chosen_by = is_watched ? CHOSEN_BY_USER : CHOSEN_BY_UNKNOWN,
					  .samples = 60,
					  .gpu = *rows[i].known,
					  .source = "query"};
			struct found_run found = {.run = run};
			struct run merged;

			found.run.gpu = *rows[i].found;
			found.run.samples = 30;
			merged = learn_merge(&run, &found);
			assert_memory_equal(&merged.gpu, rows[i].expected, sizeof(merged.gpu));
		}
}

/* ---- what runs show ---- */

#define MAX_RUNS 5
#define OK	 OUTCOME_COMPLETED
#define FAILED	 OUTCOME_FAILED
#define FAILING	 "abcdef0123"

static void runs_show_a_full_card(void **state)
{
	static const struct {
		const char *name;
		struct {
			enum outcome outcome;
			int permille;
		} runs[MAX_RUNS]; /* up to the first without a figure */
		int permille;	  /* of the recommendation */
		bool is_full;
		const char *variant; /* of which the recommendation is; NULL: of all. FAILING: that of the runs that
					failed */
	} rows[] = {
		{"not measured", {{OK, 0}}, 0, false, NULL},
		{"half full", {{OK, 500}, {OK, 600}, {OK, 550}}, 600, false, NULL},
		{"full, and it completes: what allocators hold", {{OK, 981}, {OK, 999}}, 999, false, NULL},
		{"the last one failed", {{OK, 900}, {FAILED, 996}}, 996, true, NULL},
		{"the first one failed", {{FAILED, 996}}, 996, true, NULL},
		{"just full", {{OK, 900}, {FAILED, 950}}, 950, true, NULL},
		{"not quite full", {{OK, 900}, {FAILED, 949}}, 949, false, NULL},
		{"always so full", {{OK, 981}, {OK, 980}, {FAILED, 982}}, 982, false, NULL},
		{"a little fuller than ever", {{OK, 981}, {FAILED, 990}}, 990, false, NULL},
		{"fuller than ever", {{OK, 981}, {FAILED, 991}}, 991, true, NULL},
		{"it failed, then it completed", {{OK, 900}, {FAILED, 996}, {OK, 910}}, 996, false, NULL},
		{"it failed in another way since", {{FAILED, 996}, {FAILED, 400}}, 996, false, NULL},
		{"figures of the failure", {{FAILED, 999}, {OK, 900}, {FAILED, 980}}, 980, true, NULL},
		{"out of host memory", {{OK, 900}, {OUTCOME_OOM_KILLED, 996}}, 996, false, NULL},
		{"perhaps out of host memory", {{OK, 900}, {OUTCOME_SUSPECTED_OOM, 996}}, 996, false, NULL},
		{"stopped by somebody", {{OK, 900}, {OUTCOME_DELETED, 996}}, 996, false, NULL},
		{"stopped after the failure",
		 {{OK, 900}, {FAILED, 996}, {OUTCOME_DELETED, 100}, {OUTCOME_PREEMPTED, 100}},
		 996,
		 true,
		 NULL},
		{"runs again", {{OK, 900}, {FAILED, 996}, {OUTCOME_RUNNING, 100}}, 996, true, NULL},
		{"another variant failed", {{OK, 900}, {FAILED, 996}}, 900, false, "0123456789"},
		{"the variant failed", {{FAILED, 996}, {OK, 900}}, 996, true, FAILING},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct fixture *f;
		void *fresh = NULL;

		test_row(rows[i].name);
		assert_int_equal(setup(&fresh), 0);
		f = fresh;
		for (size_t k = 0; k < MAX_RUNS && rows[i].runs[k].permille; k++) {
			struct run run = run_of(f, 10 * GI, 8 * GI);

			run.outcome = rows[i].runs[k].outcome;
			run.is_whole = run.outcome == OUTCOME_COMPLETED;
			run.gpu = (struct gpu_memory){rows[i].runs[k].permille * MI, 1000 * MI};
			if (rows[i].variant && run.outcome == OUTCOME_FAILED)
				snprintf(run.variant, sizeof(run.variant), FAILING);
			add(f, run);
		}
		assert_int_equal(size_base(f->history, rows[i].variant, &f->sizing, &f->spec, &f->arena, &f->rec,
					   &f->reasons, NULL),
				 0);
		assert_int_equal(gpu_memory_permille(&f->rec.gpu), rows[i].permille);
		assert_int_equal(f->rec.is_gpu_full, rows[i].is_full);
		assert_int_equal(teardown(&fresh), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_fuller_card_counts), cmocka_unit_test(series_become_memory_of_containers),
		cmocka_unit_test(windows_are_merged),	  cmocka_unit_test(findings_are_merged),
		cmocka_unit_test(runs_show_a_full_card),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
