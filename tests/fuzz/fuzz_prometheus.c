/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of Prometheus: whatever arrives, in whatever blocks, nothing crashes and blocks make no difference; rows that
 * are well formed go on into a batch. */
#include "evidence/metrics.h"
#include "evidence/prom_stream.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct target {
	struct metric_sink sink;
	struct json_object *labels;
	const struct metric_row *row;
	size_t n;
};

static int on_series(void *context, struct json_object *labels, struct err *err)
{
	struct target *target = context;

	(void)err;
	target->labels = labels;
	return 0;
}

static int on_sample(void *context, int64_t time_ms, double value, struct err *err)
{
	struct target *target = context;

	target->n++;
	target->sink.time_ms = time_ms;
	return target->row->take(&target->sink, target->labels, value, err);
}

static int feed(struct target *target, const char *bytes, size_t n, size_t block, struct prom_stream *stream)
{
	struct prom_handler handler = {target, on_series, on_sample};
	int r = 0;

	prom_stream_init(stream, &handler);
	for (size_t i = 0; i < n && !r; i += block)
		r = prom_stream_feed(stream, bytes + i, MIN(block, n - i), NULL);
	return r ? r : prom_stream_finish(stream, NULL);
}

/* The pod that most series of the corpus are of; series of the later phases count only for pods that are known. */
static void put_pod(struct evidence_batch *batch)
{
	struct pod *pod = evidence_pod_put(batch, "ml", "a", "");

	if (pod)
		pod->is_training = pod_container_put(&batch->pods, pod, "m") != NULL;
}

static void settle(struct evidence_batch *batch)
{
	for (size_t i = 0; i < batch->pods.n; i++)
		for (size_t k = 0; k < batch->pods.items[i]->containers.n; k++) {
			struct pod_container *container = &batch->pods.items[i]->containers.items[k];

			for (size_t u = 0; u < container->usage.n; u++)
				evidence_usage_settle(&container->usage.items[u]);
		}
}

/* The answer through one row of the table of metrics. */
static int take(const struct metric_row *row, const char *bytes, size_t n, size_t block, size_t *ret_samples)
{
	static const struct metric_labels labels = {"namespace", "pod", "container"};
	const struct evidence_window window = {.start_ms = 0, .end_ms = 3600000};
	struct evidence_nodes nodes = {.arena = ARENA_INIT(LIMIT_EVIDENCE_BYTES)};
	struct strmap job_owners = STRMAP_INIT;
	struct evidence_batch batch;
	struct prom_stream stream;
	struct target target = {.row = row,
				.sink = {.batch = &batch,
					 .nodes = &nodes,
					 .job_owners = &job_owners,
					 .labels = &labels,
					 .argument = row->argument,
					 .hour_ms = 3600000}};
	int r;

	evidence_batch_init(&batch, &window);
	if (row->phase != PHASE_PODS)
		put_pod(&batch);
	r = feed(&target, bytes, n, block, &stream);
	*ret_samples = target.n;
	for (size_t i = 0; i < batch.pods.n; i++)
		evidence_pod_classify(batch.pods.items[i]);
	settle(&batch);
	prom_stream_release(&stream);
	strmap_release(&job_owners);
	evidence_nodes_release(&nodes);
	evidence_batch_release(&batch);
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct metric_row *row;
	size_t whole, cut;
	const char *bytes;
	int r;

	if (size < 2)
		return 0;
	row = &metric_rows[data[0] % metric_row_count];
	bytes = (const char *)data + 2;
	r = take(row, bytes, size - 2, size, &whole);
	if (take(row, bytes, size - 2, 1 + data[1] % 16, &cut) != r || whole != cut)
		abort();
	return 0;
}
