/* SPDX-License-Identifier: Apache-2.0 */
/* emptyDirs without a size limit: which count, and what looking for them costs. */
#include "decide_fixture.h"

#include "support/cost.h"

enum { CONTAINERS = 100 };

/* A pod whose last container mounts volume v0, or nothing. */
static void add_pod(struct strbuf *ret, int n_volumes, bool is_mounted)
{
	strbuf_clear(ret);
	strbuf_adds(ret, "{\"metadata\":{\"name\":\"train\",\"labels\":{\"memtamer.io/training\":\"true\"}},"
			 "\"spec\":{\"containers\":[");
	for (int i = 1; i < CONTAINERS; i++)
		strbuf_addf(ret, "{\"name\":\"c%d\"},", i);
	strbuf_addf(ret, "{\"name\":\"main\"%s}],\"volumes\":[",
		    is_mounted ? ",\"volumeMounts\":[{\"name\":\"v0\",\"mountPath\":\"/tmp\"}]" : "");
	for (int i = 0; i < n_volumes; i++)
		strbuf_addf(ret, "%s{\"name\":\"v%d\",\"emptyDir\":{}}", i ? "," : "", i);
	strbuf_adds(ret, "]}}");
}

/* @return the number of findings of check emptydir-unbounded. */
static size_t decide_pod(int n_volumes, bool is_mounted, uint64_t *ret_steps)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(MIB);
	struct decide_fixture f;
	size_t n = 0;

	add_pod(&text, n_volumes, is_mounted);
	fixture_init(&f, strbuf_text(&text), fixture_snapshot(NULL, 0, false));
	cost_begin();
	fixture_decide(&f);
	*ret_steps = cost_steps();
	for (size_t i = 0; i < f.decision.n_findings; i++)
		n += f.decision.findings[i].check == CHECK_EMPTYDIR_UNBOUNDED;
	fixture_release(&f);
	return n;
}

static void only_mounted_volumes_count(void **state)
{
	uint64_t steps;

	(void)state;
	assert_int_equal(decide_pod(3, true, &steps), 1);
	assert_int_equal(decide_pod(3, false, &steps), 0);
}

/* Containers are searched for mounts once, also if there are none. */
static void volumes_do_not_cost_as_much_as_all_containers(void **state)
{
	uint64_t few, many;

	(void)state;
	decide_pod(1000, false, &few);
	decide_pod(2000, false, &many);
	if (!few)
		skip(); /* this build does not count */
	assert_true(many > few);
	assert_true(many - few < 1000 * CONTAINERS / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_mounted_volumes_count),
		cmocka_unit_test(volumes_do_not_cost_as_much_as_all_containers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
