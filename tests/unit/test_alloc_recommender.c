/* SPDX-License-Identifier: Apache-2.0 */
/* Memory runs out between an answer of Prometheus and the commit of profiles: -ENOMEM, nothing leaked, nothing lost. */
#include "support/alloc_fail.h"
#include "support/test.h"

#include "base/io.h"
#include "engine/learn.h"
#include "evidence/metrics.h"
#include "evidence/prom_stream.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define ANSWER(result) "{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":[" result "]}}"
#define POD	       "\"namespace\":\"ml\",\"pod\":\"c-1-x\",\"uid\":\"u1\""
#define BOX	       POD ",\"container\":\"main\""
#define AT(value)      ",\"id\":\"/kubepods/x\"},\"value\":[1,\"" value "\"]}"

static const struct {
	const char *metric;
	enum metric_phase phase;
	const char *answer;
} answers[] = {
	{"kube_pod_owner", PHASE_PODS,
	 ANSWER("{\"metric\":{" POD ",\"owner_kind\":\"Job\",\"owner_name\":\"c-1\"},\"value\":[1,\"1\"]}")},
	{"kube_pod_container_resource_limits", PHASE_PODS,
	 ANSWER("{\"metric\":{" BOX ",\"resource\":\"memory\"},\"value\":[1,\"1e9\"]},"
		"{\"metric\":{" BOX ",\"resource\":\"nvidia_com_gpu\"},\"value\":[1,\"1\"]}")},
	{"kube_pod_labels", PHASE_PODS,
	 ANSWER("{\"metric\":{" POD ",\"label_memtamer_io_training\":\"true\"},\"value\":[1,\"1\"]}")},
	{"kube_pod_container_info", PHASE_FACTS,
	 ANSWER("{\"metric\":{" BOX ",\"image\":\"a:1\"},\"value\":[1,\"1\"]}")},
	{"kube_pod_start_time", PHASE_FACTS, ANSWER("{\"metric\":{" POD "},\"value\":[1,\"600\"]}")},
	{"kube_pod_completion_time", PHASE_FACTS, ANSWER("{\"metric\":{" POD "},\"value\":[1,\"3600\"]}")},
	{"kube_pod_status_phase", PHASE_FACTS,
	 ANSWER("{\"metric\":{" POD ",\"phase\":\"Succeeded\"},\"value\":[1,\"1\"]}")},
	{"DCGM_FI_DEV_GPU_UTIL", PHASE_FACTS,
	 ANSWER("{\"metric\":{" POD ",\"pod_uid\":\"u1\"},\"value\":[1,\"5000\"]}")},
	{"DCGM_FI_DEV_FB_USED", PHASE_FACTS,
	 ANSWER("{\"metric\":{" BOX ",\"pod_uid\":\"u1\"},\"value\":[1,\"79000\"]}")},
	{"container_memory_working_set_bytes", PHASE_FACTS, ANSWER("{\"metric\":{" BOX AT("5e8"))},
	{"container_memory_working_set_bytes", PHASE_HOURS,
	 ANSWER("{\"metric\":{" BOX ",\"id\":\"/kubepods/x\"},\"values\":[[3599.999,\"50\"]]}")},
};

struct feeding {
	struct metric_sink *sink;
	const struct metric_row *row;
	struct json_object *labels;
};

static int on_series(void *context, struct json_object *labels, struct err *err)
{
	struct feeding *self = context;

	(void)err;
	self->labels = labels;
	return 0;
}

static int on_sample(void *context, int64_t time_ms, double value, struct err *err)
{
	struct feeding *self = context;

	self->sink->time_ms = time_ms;
	return self->row->take(self->sink, self->labels, value, err);
}

static int feed(struct metric_sink *sink, size_t i, struct err *err)
{
	struct feeding feeding = {.sink = sink};
	struct prom_handler handler = {&feeding, on_series, on_sample};
	struct prom_stream stream;
	int r;

	for (size_t k = 0; k < metric_row_count && !feeding.row; k++)
		if (streq(metric_rows[k].metric, answers[i].metric) && metric_rows[k].phase == answers[i].phase)
			feeding.row = &metric_rows[k];
	if (!feeding.row)
		fail_msg("no row for %s", answers[i].metric);
	else
		sink->argument = feeding.row->argument;
	prom_stream_init(&stream, &handler);
	r = prom_stream_feed(&stream, answers[i].answer, strlen(answers[i].answer), err);
	r = r ? r : prom_stream_finish(&stream, err);
	prom_stream_release(&stream);
	return r;
}

static int read_answers(struct evidence_batch *batch, struct err *err)
{
	static const struct metric_labels labels = {"namespace", "pod", "container"};
	struct metric_sink sink = {.batch = batch, .labels = &labels, .hour_ms = 3600000};
	int r = 0;

	for (size_t i = 0; i < ARRAY_LEN(answers) && !r; i++) {
		r = feed(&sink, i, err);
		for (size_t k = 0; k < batch->pods.n; k++)
			evidence_pod_classify(batch->pods.items[k]);
	}
	return r;
}

static int fold_answers(struct pod_table *table, struct fold *fold, struct err *err)
{
	const struct evidence_window window = {.start_ms = 0, .end_ms = 86400000};
	const struct fold_options options = {.now_ms = 86400000, .source = "query"};
	struct evidence_batch batch;
	int r;

	evidence_batch_init(&batch, &window);
	r = read_answers(&batch, err);
	r = r ? r : pod_table_merge(table, &batch, err);
	r = r ? r : fold_runs(table, &options, fold, err);
	evidence_batch_release(&batch);
	return r;
}

static int read_and_fold(void *context, struct strbuf *ret)
{
	struct pod_table table = POD_TABLE_INIT;
	struct fold fold = {.is_open = NULL};
	struct err err = ERR_INIT;
	int r = fold_answers(&table, &fold, &err);

	(void)context;
	r = r ? r : pod_table_encode(&table, ret);
	for (size_t i = 0; i < fold.runs.n && !r; i++)
		r = strbuf_addf(ret, "%s %s", fold.runs.items[i].run.uid, fold.runs.items[i].run.name);
	fold_release(&fold);
	pod_table_release(&table);
	return r;
}

static void answers_become_runs(void **state)
{
	(void)state;
	assert_true(alloc_fail_each("answers, pods, runs", read_and_fold, NULL) > 30);
}

struct learning {
	const char *path;
	struct config *config;
	const struct found_run *run;
};

static int learn(const struct learning *self)
{
	CLEANUP(store_closep) struct store *store = NULL;
	struct learn learn = {.config = self->config, .now_ms = 86400000};
	struct err err = ERR_INIT;
	int r = store_open_file(self->path, true, &store, &err);

	learn.store = store;
	r = r ? r : learn_all(&learn, self->run, 1, &err);
	r = r ? r : learn_commit(&learn, NULL, 0, &err);
	learn_release(&learn);
	return r;
}

/* From nothing: json-c 0.16 leaks a key when its table cannot grow, so nothing is read back here. */
static int learn_from_nothing(void *context, struct strbuf *ret)
{
	const struct learning *self = context;
	int r;

	unlink(self->path);
	r = learn(self);
	return r ? r : io_read_file(self->path, ret, NULL);
}

static void runs_become_profiles(void **state)
{
	char folder[] = "/tmp/memtamer-alloc-XXXXXX", path[64], lock[80];
	struct pod_table table = POD_TABLE_INIT;
	struct fold fold = {.is_open = NULL};
	struct learning learning = {.path = path, .config = config_new_default()};
	struct err err = ERR_INIT;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/p.json", folder);
	snprintf(lock, sizeof(lock), "%s.lock", path);
	assert_int_equal(fold_answers(&table, &fold, &err), 0);
	assert_int_equal(fold.runs.n, 1);
	learning.run = fold.runs.items;
	assert_true(alloc_fail_each("learn_runs, learn_commit", learn_from_nothing, &learning) > 30);
	unlink(path);
	unlink(lock);
	assert_int_equal(rmdir(folder), 0);
	config_free(learning.config);
	fold_release(&fold);
	pod_table_release(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_become_runs),
		cmocka_unit_test(runs_become_profiles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
