/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* caps_fixture: an engine on a cluster that is told of harmed jobs, and an API server that can refuse what it writes.
 */
#include "support/test.h"

#include "base/timefmt.h"
#include "engine/engine.h"
#include "engine/state.h"
#include "fake_evidence.h"
#include "fake_objects.h"
#include "kube/kube_client.h"
#include "kube/kube_server.h"

#define NOW_MS (FAKE_EPOCH_MS + 6 * FAKE_DAY_MS + 3 * TIME_HOUR_MS)
#define MI     FAKE_MIB
#define DECISION                                                                                                       \
	"{\"v\":1,\"mode\":\"enforce\",\"rev\":7,\"runs\":9,\"set\":[{\"c\":\"main\",\"r\":\"memory\",\"f\":"          \
	"\"limit\",\"from\":\"200Mi\",\"to\":\"100Mi\",\"rule\":\"peak+buffer\"}]}"

struct place {
	struct fake_objects *objects;
	struct kube_server server;
	struct kube_client *client;
	struct config *config;
	struct fake_reader reader;
	struct store *store;
	struct engine engine;
	struct engine_result last;
	int64_t now_ms;
	/* Jobs that are told of: killed at a limit that we had lowered. */
	const char *namespace_name;
	int first, n;
	int told_caps, told_harms, told_sets;
	/* What the API server does. */
	bool refuses_caps, refuses_profiles, refuses_state, has_person;
	int n_between;
};

static inline void tell_job(const struct place *place, int i, struct evidence_batch *batch)
{
	char name[32], uid[32], job[32];
	struct pod_container *container;
	struct pod *pod;

	snprintf(name, sizeof(name), "train%c-x", 'a' + i);
	snprintf(uid, sizeof(uid), "u%s%d", place->namespace_name, i);
	snprintf(job, sizeof(job), "train%cbert", 'a' + i);
	pod = evidence_pod_put(batch, place->namespace_name, name, uid);
	pod->owner_kind = "Job";
	pod->owner_name = pod_set_text(&batch->pods, job);
	pod->root_kind = pod->root_name = "";
	pod->decision = DECISION;
	pod->start_ms = place->now_ms - 30 * TIME_MINUTE_MS + i * 1000;
	pod->completion_ms = place->now_ms - 10 * TIME_MINUTE_MS + i * 1000;
	pod->is_owner_known = pod->is_training = pod->is_watched = true;
	pod->ends = END_FAILED;
	container = pod_container_put(&batch->pods, pod, "main");
	container->image = "i";
	container->limit_bytes = container->request_bytes = 100 * MI;
	container->ends = END_OOM_KILLED;
	run_add_killed_limit(container->killed_limits, &container->n_killed_limits, 100 * MI);
}

static inline int tell(void *context, bool only_news, struct evidence_batch *batch)
{
	const struct place *place = context;

	(void)only_news;
	for (int i = place->first; i < place->first + place->n; i++)
		tell_job(place, i, batch);
	return 0;
}

static inline void is_written(void *context, int64_t now_ms)
{
	(void)context;
	(void)now_ms;
}

static inline void note(void *context, const struct notice *notice)
{
	struct place *place = context;

	place->told_caps += notice->kind == NOTICE_CAP;
	place->told_harms += notice->kind == NOTICE_HARM;
	place->told_sets += notice->kind == NOTICE_SET;
}

static inline void put_cap(struct fake_objects *objects, const char *cap)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "{\"apiVersion\":\"memtamer.io/"
		 "v1alpha1\",\"kind\":\"MemoryProfile\",\"metadata\":{\"namespace\":\"ml\","
		 "\"name\":\"" PROFILE_OF_NAMESPACE "\"},\"spec\":{\"modeCap\":\"%s\"}}",
		 cap);
	fake_objects_put(objects, "memoryprofiles", text);
}

/* Histories are listed to count harm, after it was asked which caps stand: a person is just then at work. */
static inline int answer(void *context, struct fake_objects *self, const char *method, const char *path,
			 const char **ret_reason, const char **ret_message)
{
	const struct place *place = context;
	const char *histories = strstr(path, "/memoryhistories");

	*ret_reason = "Forbidden";
	*ret_message = "not allowed";
	if (place->has_person && streq(method, "GET") && histories && !strchr(histories + 1, '/'))
		put_cap(self, "off");
	if (place->refuses_caps && streq(method, "GET") && strstr(path, "/ml/memoryprofiles/" PROFILE_OF_NAMESPACE))
		return 403;
	if (place->refuses_profiles && streq(method, "PUT") && strstr(path, "/memoryprofiles/"))
		return 403;
	if (place->refuses_state && !streq(method, "GET") && strstr(path, "/configmaps"))
		return 403;
	return 0;
}

static inline void open_engine(struct place *place)
{
	assert_int_equal(store_open_kube(place->client, "memtamer", true, &place->store, NULL), 0);
	place->engine = (struct engine){.config = place->config,
					.reader = &place->reader.base,
					.store = place->store,
					.pods = tell,
					.pods_done = is_written,
					.pods_context = place,
					.notice = note,
					.notice_context = place};
}

static inline void close_engine(struct place *place)
{
	engine_release(&place->engine);
	store_close(place->store);
}

static inline int cycle(struct place *place)
{
	struct err err = ERR_INIT;
	int r = engine_cycle(&place->engine, place->now_ms, &place->last, &err);

	if (r)
		print_message("  %d: %s: %s\n", r, err.where, err.msg);
	return r;
}

/* The quick cycles come after a whole one, which has read all profiles. */
static inline void setup(struct place *place)
{
	*place = (struct place){.objects = fake_objects_start(),
				.config = config_new_default(),
				.namespace_name = "ml",
				.now_ms = NOW_MS};
	assert_non_null(place->config);
	place->config->store.kind = STORE_KUBE;
	place->config->prometheus.history_ms = 2 * FAKE_DAY_MS;
	fake_reader_init(&place->reader, NULL, 0);
	fake_objects_hook(place->objects, answer, place);
	place->server.url = fake_objects_url(place->objects);
	assert_int_equal(kube_client_new(&place->server, &(struct kube_client_config){0}, &place->client, NULL), 0);
	open_engine(place);
	assert_int_equal(cycle(place), 0);
}

static inline void teardown(struct place *place)
{
	close_engine(place);
	kube_client_free(place->client);
	fake_objects_free(place->objects);
	config_free(place->config);
}

static inline int quick(struct place *place)
{
	return engine_quick(&place->engine, place->now_ms, &place->last, NULL);
}

/* Jobs first..first+n-1 of a namespace were harmed, and the quick cycle after it. */
static inline int quick_harm(struct place *place, const char *namespace_name, int first, int n)
{
	place->namespace_name = namespace_name;
	place->first = first;
	place->n = n;
	return quick(place);
}

/* And the whole cycle after that, which checks caps. */
static inline int harm(struct place *place, const char *namespace_name, int first, int n)
{
	assert_int_equal(quick_harm(place, namespace_name, first, n), 0);
	place->n = 0;
	return cycle(place);
}

static inline const char *cap_of(struct place *place, const char *namespace_name)
{
	struct json_object *object = fake_objects_get(place->objects, "memoryprofiles", namespace_name,
						      PROFILE_OF_NAMESPACE);
	const char *cap = "";

	if (object)
		(void)!json_get_string(json_member(object, "spec"), "", "modeCap", &cap, NULL);
	return cap;
}

static inline void lift(struct place *place, const char *namespace_name)
{
	assert_int_equal(store_release_mode_cap(place->store, namespace_name, PROFILE_OF_NAMESPACE, "observe", NULL),
			 0);
}

/* Caps that the collector's state says are set. */
static inline int remembered(struct place *place)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(LIMIT_COLLECTOR_BYTES);
	struct collector_state state = COLLECTOR_STATE_INIT;
	int n = 0;

	assert_int_equal(store_state_load(place->store, &text, NULL), 0);
	assert_int_equal(collector_state_decode(strbuf_text(&text), text.len, &state, NULL), 0);
	for (size_t i = 0; i < state.caps.items.n; i++)
		n += state.caps.items.items[i].is_set;
	collector_state_release(&state);
	return n;
}
