/* SPDX-License-Identifier: Apache-2.0 */
/* Memory runs out while a changed configuration is loaded: requests are decided by the old configuration and the old
 * store, or by the new ones, never by one of each. */
#include "support/alloc_fail.h"
#include "support/test.h"

#include "base/io.h"
#include "base/log.h"
#include "serve/control.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STORES 2

/* Store and mode of each configuration. The profile of a store has its mode's name. */
static const char *const modes[STORES] = {"fill", "raise"};

struct world {
	char folder[64], config[96];
	struct serve serve;
	struct control control;
};

static void write_text(const char *path, const char *text)
{
	struct err err = ERR_INIT;

	assert_int_equal(io_write_file_atomic(path, text, strlen(text), 0600, &err), 0);
}

static void write_store(const struct world *world, const char *mode)
{
	char path[128], text[1024];

	snprintf(path, sizeof(path), "%s/%s.json", world->folder, mode);
	snprintf(text, sizeof(text),
		 "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[{\"apiVersion\":\"memtamer.io/v1alpha1\","
		 "\"kind\":\"MemoryProfile\",\"metadata\":{\"namespace\":\"ml\",\"name\":\"%s\"},\"spec\":{},"
		 "\"status\":{\"workload\":\"Job/%s\",\"role\":\"\",\"container\":\"c\",\"aliases\":[\"Job/%s\"],"
		 "\"revision\":1,\"updated\":\"2026-11-02T08:15:00Z\",\"recommendation\":{\"limit\":\"1Gi\"}}}]}",
		 mode, mode, mode);
	write_text(path, text);
}

static void write_config(const struct world *world, const char *mode)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "apiVersion: config.memtamer.io/v1alpha1\nmode: %s\nstore: { kind: file, path: %s.json }\n", mode,
		 mode);
	write_text(world->config, text);
}

static void start(struct world *world)
{
	struct config *config = NULL;
	struct err err = ERR_INIT;

	snprintf(world->folder, sizeof(world->folder), "/tmp/memtamer-test-XXXXXX");
	assert_non_null(mkdtemp(world->folder));
	snprintf(world->config, sizeof(world->config), "%s/memtamer.yaml", world->folder);
	for (size_t i = 0; i < STORES; i++)
		write_store(world, modes[i]);
	write_config(world, modes[0]);
	assert_int_equal(serve_init(&world->serve, &err), 0);
	assert_int_equal(config_load(world->config, &config, &err), 0);
	assert_int_equal(control_init(&world->control, &world->serve, world->config, config, &err), 0);
	control_check_store(&world->control, true);
}

static void stop(struct world *world)
{
	char path[128];

	control_release(&world->control);
	serve_release(&world->serve);
	for (size_t i = 0; i < STORES; i++) {
		snprintf(path, sizeof(path), "%s/%s.json", world->folder, modes[i]);
		unlink(path);
	}
	unlink(world->config);
	rmdir(world->folder);
}

/* What requests are decided by: both have the same name, also after the next look at the store. Which of the two. */
static size_t which_is_used(struct world *world)
{
	const struct state *state;
	size_t which;

	control_check_store(&world->control, true);
	state = current_state_acquire(world->serve.current);
	assert_non_null(state);
	for (which = 0; which < STORES; which++)
		if (streq(mode_names[state->config->policy.mode], modes[which]))
			break;
	assert_true(which < STORES);
	assert_non_null(snapshot_profile_by_name(state->snapshot, "ml", modes[which]));
	assert_int_equal(snapshot_profile_count(state->snapshot), 1);
	current_state_release(world->serve.current, state);
	return which;
}

/* Which configuration is used, when the nth allocation fails while the other one is loaded. */
static bool reload(struct world *world, void (*arm)(long nth), long nth, size_t *used)
{
	size_t wanted = 1 - *used;
	bool was_refused;

	write_config(world, modes[wanted]);
	control_forget(&world->control);
	arm(nth);
	control_check_config(&world->control);
	was_refused = alloc_fail_disarm();
	*used = which_is_used(world);
	assert_true(was_refused || *used == wanted);
	return was_refused;
}

static void test_a_reload_is_whole_or_not_at_all(void **state)
{
	static void (*const arms[])(long nth) = {alloc_fail_arm, alloc_fail_arm_from};
	struct world *world = calloc(1, sizeof(*world));
	size_t used = 0;

	(void)state;
	start(world);
	assert_int_equal(which_is_used(world), 0);
	for (size_t i = 0; i < ARRAY_LEN(arms); i++) {
		long nth = 1;

		while (reload(world, arms[i], nth, &used))
			nth++;
		assert_true(nth > 50);
	}
	stop(world);
	free(world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_reload_is_whole_or_not_at_all),
	};

	log_configure(LOG_LEVEL_COUNT_, LOG_LOGFMT); /* says the same error a hundred times */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
