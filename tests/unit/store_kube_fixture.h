/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* store_kube_fixture: a store on a cluster that is played (fake_objects.h), workloads to write into it, what it holds
 * as text, and a server's answer in place of one of its own. */
#include "support/test.h"

#include "base/limits.h"
#include "base/timefmt.h"
#include "fake_objects.h"
#include "kube/kube_client.h"
#include "kube/kube_server.h"
#include "store/store.h"

#include <string.h>

#define PROFILES  "memoryprofiles"
#define HISTORIES "memoryhistories"
#define GROUP	  "/apis/memtamer.io/v1alpha1/"

/* The beginning of an object's text. */
#define HEAD(kind, namespace, name)                                                                                    \
	"{\"apiVersion\":\"memtamer.io/v1alpha1\",\"kind\":\"" kind                                                    \
	"\",\"metadata\":{\"namespace\":\"" namespace "\",\"name\":\"" name "\"},"

/* ---- a cluster with a store on it ---- */

struct world {
	struct fake_objects *objects;
	struct kube_server config;
	struct kube_client *client;
	struct store *store;
	char told[4096]; /* of objects that were passed over */
	size_t n_told;
	char conflicts[1024];
	struct err err;
};

static inline void on_bad(void *context, const struct err *why)
{
	struct world *world = context;
	size_t n = strlen(world->told);

	snprintf(world->told + n, sizeof(world->told) - n, "%s: %s\n", why->where, why->msg);
	world->n_told++;
}

static inline void on_conflict(void *context, const struct store_name *name)
{
	struct world *world = context;
	size_t n = strlen(world->conflicts);

	snprintf(world->conflicts + n, sizeof(world->conflicts) - n, "%s/%s ", name->namespace_name, name->name);
}

static inline void start(struct world *world)
{
	const struct kube_client_config config = {.user_agent = "tester"};

	*world = (struct world){.objects = fake_objects_start()};
	world->config.url = fake_objects_url(world->objects);
	assert_int_equal(kube_client_new(&world->config, &config, &world->client, NULL), 0);
	assert_int_equal(store_open_kube(world->client, "memtamer", true, &world->store, NULL), 0);
	store_set_bad(world->store, on_bad, world);
}

static inline void stop(struct world *world)
{
	store_close(world->store);
	kube_client_free(world->client);
	fake_objects_free(world->objects);
}

static inline size_t count(struct world *world, const char *head)
{
	return fake_objects_count(world->objects, head);
}

static inline size_t writes(struct world *world)
{
	return count(world, "POST") + count(world, "PUT") + count(world, "PATCH") + count(world, "DELETE");
}

/* ---- objects ---- */

static inline struct profile *make_profile(int i, int64_t limit_bytes, int64_t updated_ms)
{
	char name[40], key[32];
	const char *aliases[] = {key, "Job/other"}, *reasons[] = {"because"};
	const struct recommendation variants[] = {
		{.variant = "0123456789", .request_bytes = 2 << 20, .limit_bytes = limit_bytes / 2, .runs = 3}};
	const struct profile draft = {.namespace_name = i % 2 ? "ml" : "research",
				      .name = name,
				      .workload = key,
				      .role = "worker",
				      .container = "pytorch",
				      .aliases = aliases,
				      .n_aliases = 2,
				      .reasons = reasons,
				      .n_reasons = 1,
				      .revision = 1,
				      .updated_ms = updated_ms,
				      .parent = {.request_bytes = 8 << 20, .limit_bytes = limit_bytes, .runs = 7},
				      .variants = variants,
				      .n_variants = 1};
	struct profile *profile;

	snprintf(name, sizeof(name), "bert-%05d", i);
	snprintf(key, sizeof(key), "Job/bert-%05d", i);
	profile = profile_dup(&draft);
	assert_non_null(profile);
	return profile;
}

static inline struct history *make_history(int i, int n_runs)
{
	struct run run = {.mode = -1, .source = "query", .duration_ms = 60000, .outcome = OUTCOME_COMPLETED};
	struct history *history;
	char name[40];

	snprintf(name, sizeof(name), "bert-%05d", i);
	history = history_new(i % 2 ? "ml" : "research", name);
	assert_non_null(history);
	for (int k = 0; k < n_runs; k++) {
		snprintf(run.uid, sizeof(run.uid), "%d", k);
		snprintf(run.name, sizeof(run.name), "a \"quoted\" {name}, run [%d]\\", k);
		run.start_ms = 1793607300000 + k * TIME_HOUR_MS;
		run.peak_bytes = 91912000001;
		assert_int_equal(history_add_run(history, &run), 0);
	}
	return history;
}

enum { MANY = 40 };

/* Workloads [from, to) with `n_runs` runs each, and a shape. */
static inline int commit(struct store *store, int from, int to, int n_runs, struct world *world)
{
	const size_t n = (size_t)(to - from);
	struct profile *profiles[MANY];
	struct history *histories[MANY];
	const struct node_shape shape = {.name = "8x-h100",
					 .resource = "nvidia.com/gpu",
					 .accelerators = 8,
					 .memory_bytes = (int64_t)GIB * (900 + n_runs)};
	const struct store_change change = {.profiles = (const struct profile *const *)profiles,
					    .n_profiles = n,
					    .histories = histories,
					    .n_histories = n,
					    .shapes = &shape,
					    .n_shapes = 1,
					    .conflict = world ? on_conflict : NULL,
					    .context = world};
	int r;

	for (size_t i = 0; i < n; i++) {
		profiles[i] = make_profile(from + (int)i, (12 << 20) + n_runs, 1793607300000);
		histories[i] = make_history(from + (int)i, n_runs);
	}
	r = store_commit(store, &change, world ? &world->err : NULL);
	for (size_t i = 0; i < n; i++) {
		profile_free(profiles[i]);
		history_free(histories[i]);
	}
	return r;
}

/* ---- everything that a store holds, as text ---- */

static inline int see_profile(void *context, struct profile *take_profile, struct err *err)
{
	(void)err;
	profile_encode(take_profile, context);
	profile_free(take_profile);
	return strbuf_addc(context, '\n');
}

static inline int see_history(void *context, struct history *take_history, struct err *err)
{
	(void)err;
	history_encode(take_history, context);
	history_free(take_history);
	return strbuf_addc(context, '\n');
}

static inline int see_shape(void *context, const struct node_shape *shape, struct err *err)
{
	(void)err;
	node_shape_encode(shape, context);
	return strbuf_addc(context, '\n');
}

static inline int dump(struct store *store, struct strbuf *ret, struct err *err)
{
	const struct store_visitor visitor = {
		.context = ret, .profile = see_profile, .history = see_history, .shape = see_shape};

	strbuf_clear(ret);
	return store_visit(store, &visitor, err);
}

static inline size_t lines(const struct strbuf *text)
{
	size_t n = 0;

	for (const char *p = strbuf_text(text); *p; p++)
		n += *p == '\n';
	return n;
}

/* ---- faults ---- */

/* One row of what a server says to one kind of request. */
struct fault {
	const char *name, *method, *part; /* of the path */
	int status;
	const char *reason, *message;
	int want;		 /* of the commit */
	const char *where, *msg; /* in its error */
	int seen;
};

static inline int play_fault(void *context, struct fake_objects *self, const char *method, const char *path,
			     const char **ret_reason, const char **ret_message)
{
	struct fault *fault = context;

	(void)self;
	if (!streq(method, fault->method) || !strstr(path, fault->part))
		return 0;
	fault->seen++;
	*ret_reason = fault->reason;
	*ret_message = fault->message;
	return fault->status;
}
