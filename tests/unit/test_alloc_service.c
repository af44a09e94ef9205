/* SPDX-License-Identifier: Apache-2.0 */
/* Memory runs out on the way from Node objects to the shapes that are written: -ENOMEM, nothing leaked, and the table
 * has each node as it was. */
#include "support/alloc_fail.h"
#include "support/test.h"

#include "service/metrics.h"
#include "service/node_table.h"

#include <errno.h>

#define NODE(name, gpus)                                                                                               \
	"{\"metadata\":{\"name\":\"" name "\",\"labels\":{\"nvidia.com/gpu.product\":\"H100\"}},\"status\":{"          \
	"\"allocatable\":{\"memory\":\"64Gi\",\"nvidia.com/gpu\":\"" gpus "\",\"nvidia.com/mig-1g.10gb\":\"7\"}}}"

struct nodes {
	struct json_object *old[2], *new[2];
};

static int shapes_of_table(struct node_table *table, int64_t *ret_sum)
{
	struct shapes seen = {.items = VEC_INIT}, news = {.items = VEC_INIT};
	int r = node_table_shapes(table, &seen);

	if (!r)
		r = shapes_find_news(&seen, NULL, 0, 1, &news);
	for (size_t i = 0; i < news.items.n && !r; i++)
		*ret_sum += news.items.items[i].accelerators;
	vec_release(&seen.items);
	vec_release(&news.items);
	return r;
}

static int nodes_to_shapes(void *context, struct strbuf *ret)
{
	const struct nodes *nodes = context;
	struct node_table table = NODE_TABLE_INIT;
	int64_t sum = 0;
	int r = 0;

	for (size_t i = 0; i < 2 && !r; i++)
		r = node_table_put(&table, nodes->old[i], NULL);
	for (size_t i = 0; i < 2 && !r; i++)
		r = node_table_put(&table, nodes->new[i], NULL);
	node_table_remove(&table, "nobody");
	if (!r)
		r = shapes_of_table(&table, &sum);
	node_table_release(&table);
	return r ? r : strbuf_addf(ret, "%lld", (long long)sum);
}

static void memory_for_nodes(void **state)
{
	static const char *const texts[] = {NODE("b", "6"), NODE("a", "4"), NODE("b", "8"), NODE("a", "4")};
	struct nodes nodes;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(json_parse(texts[i], strlen(texts[i]), 16, &nodes.old[i], NULL), 0);
		assert_int_equal(json_parse(texts[i + 2], strlen(texts[i + 2]), 16, &nodes.new[i], NULL), 0);
	}
	assert_true(alloc_fail_each("nodes to shapes", nodes_to_shapes, &nodes) > 8);
	for (size_t i = 0; i < 2; i++) {
		json_object_put(nodes.old[i]);
		json_object_put(nodes.new[i]);
	}
}

static int make_metrics(void *context, struct strbuf *ret)
{
	struct metrics *metrics = service_metrics_new();

	(void)context;
	metrics_free(metrics);
	return metrics ? strbuf_adds(ret, "made") : -ENOMEM;
}

static void memory_for_metrics(void **state)
{
	(void)state;
	assert_true(alloc_fail_each("metrics", make_metrics, NULL) > METRIC_COUNT_);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_for_nodes),
		cmocka_unit_test(memory_for_metrics),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
