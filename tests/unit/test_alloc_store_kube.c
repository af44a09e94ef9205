/* SPDX-License-Identifier: Apache-2.0 */
/* Memory runs out while a cluster is read and written: an error, nothing leaked, and what is there is whole. The server
 * has threads, and so memory, of its own. */
#include "support/alloc_fail.h"
#include "support/test.h"

#include "fake_objects.h"
#include "kube/kube_client.h"
#include "kube/kube_server.h"
#include "store/store.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#define GI ((int64_t)1 << 30)

static struct fake_objects *objects;

/* A client and a store of its own for each try. */
struct place {
	struct kube_server config;
	struct kube_client *client;
	struct store *store;
};

static void place_release(struct place *self)
{
	store_close(self->store);
	kube_client_free(self->client);
}

static int place_open(struct place *self)
{
	const struct kube_client_config config = {.user_agent = "tester"};
	int r;

	self->config.url = fake_objects_url(objects);
	r = kube_client_new(&self->config, &config, &self->client, NULL);
	return r ? r : store_open_kube(self->client, "memtamer", true, &self->store, NULL);
}

/* libcurl has words of its own for memory that is out: to us each failure is one. */
static int result_of(int r)
{
	return r < 0 ? -ENOMEM : r;
}

static int see_profile(void *context, struct profile *take_profile, struct err *err)
{
	int r = profile_encode(take_profile, context);

	(void)err;
	profile_free(take_profile);
	return r;
}

static int see_history(void *context, struct history *take_history, struct err *err)
{
	int r = history_encode(take_history, context);

	(void)err;
	history_free(take_history);
	return r;
}

static int see_shape(void *context, const struct node_shape *shape, struct err *err)
{
	(void)err;
	return strbuf_adds(context, shape->name);
}

static int visit(struct store *store, struct strbuf *ret)
{
	const struct store_visitor visitor = {
		.context = ret, .profile = see_profile, .history = see_history, .shape = see_shape};

	return store_visit(store, &visitor, NULL);
}

static int commit(struct store *store)
{
	static const char *const aliases[] = {"Job/bert"};
	const struct profile draft = {.namespace_name = "ml",
				      .name = "bert",
				      .workload = "Job/bert",
				      .role = "",
				      .container = "pytorch",
				      .aliases = aliases,
				      .n_aliases = 1,
				      .parent = {.request_bytes = GI, .limit_bytes = 2 * GI, .runs = 3}};
	CLEANUP(profile_freep) struct profile *profile = profile_dup(&draft);
	CLEANUP(history_freep) struct history *history = history_new("ml", "bert");
	const struct node_shape shape = {.name = "a", .resource = "nvidia.com/gpu", .accelerators = 8};
	const struct store_change change = {.profiles = (const struct profile *[]){profile},
					    .n_profiles = 1,
					    .histories = (struct history *[]){history},
					    .n_histories = 1,
					    .shapes = &shape,
					    .n_shapes = 1};

	return profile && history ? store_commit(store, &change, NULL) : -ENOMEM;
}

/* Visited first: what a try before this one wrote is there. */
static int write_all(void *context, struct strbuf *ret)
{
	CLEANUP(strbuf_release) struct strbuf seen = STRBUF_INIT(1 << 20);
	CLEANUP(place_release) struct place place = {.client = NULL};
	int r = place_open(&place);

	(void)context;
	if (!r)
		r = visit(place.store, &seen);
	if (!r)
		r = commit(place.store);
	if (!r)
		r = visit(place.store, ret);
	return result_of(r);
}

/* Answers come in any order. */
struct answers {
	struct strbuf profile, history;
};

static int keep_profile(void *context, struct profile *take_profile, struct err *err)
{
	return see_profile(&((struct answers *)context)->profile, take_profile, err);
}

static int keep_history(void *context, struct history *take_history, struct err *err)
{
	return see_history(&((struct answers *)context)->history, take_history, err);
}

static int read_named(void *context, struct strbuf *ret)
{
	const struct store_name names[] = {{"ml", "bert"}, {"ml", "nobody"}};
	struct answers answers = {.profile = STRBUF_INIT(100000), .history = STRBUF_INIT(100000)};
	const struct store_visitor visitor = {.context = &answers, .profile = keep_profile, .history = keep_history};
	CLEANUP(place_release) struct place place = {.client = NULL};
	int r = place_open(&place);

	(void)context;
	if (!r)
		r = store_visit_named(place.store, &visitor, names, 2, NULL);
	if (!r)
		r = strbuf_addf(ret, "%s %s", strbuf_text(&answers.profile), strbuf_text(&answers.history));
	strbuf_release(&answers.profile);
	strbuf_release(&answers.history);
	return result_of(r);
}

static int save_and_load(void *context, struct strbuf *ret)
{
	CLEANUP(strbuf_release) struct strbuf before = STRBUF_INIT(1 << 20);
	CLEANUP(place_release) struct place place = {.client = NULL};
	int r = place_open(&place);

	(void)context;
	if (!r)
		r = store_state_load(place.store, &before, NULL);
	if (r >= 0)
		r = store_state_save(place.store, "{\"watermark\":1}", 15, NULL);
	if (!r)
		r = store_state_load(place.store, ret, NULL);
	return result_of(r);
}

static void stores_survive(void **state)
{
	(void)state;
	assert_true(alloc_fail_each("visit, commit, visit", write_all, NULL) > 30);
	assert_true(alloc_fail_each("visit_named", read_named, NULL) > 10);
	assert_true(alloc_fail_each("state", save_and_load, NULL) > 30);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(stores_survive)};
	int r;

	signal(SIGPIPE, SIG_IGN);
	objects = fake_objects_start();
	r = cmocka_run_group_tests(tests, NULL, NULL);
	fake_objects_free(objects);
	return r;
}
