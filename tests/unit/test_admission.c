/* SPDX-License-Identifier: Apache-2.0 */
/* Reviews in bytes, answers in bytes, and what was counted; and the state changing under reviews. */
#include "base/json.h"
#include "base/limits.h"
#include "serve/admission.h"
#include "support/test.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define POD                                                                                                            \
	"{\"metadata\":{\"name\":\"train-0\"},\"spec\":{\"containers\":[{\"name\":\"pytorch\",\"resources\":{"         \
	"\"limits\":"                                                                                                  \
	"{\"nvidia.com/gpu\":\"1\"}}}]}}"
#define OWNED_POD                                                                                                      \
	"{\"metadata\":{\"generateName\":\"a-\",\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\","   \
	"\"name\":\"a\",\"uid\":\"1\",\"controller\":true}]},\"spec\":{\"containers\":[{\"name\":\"pytorch\","         \
	"\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"1\"}}}]}}"
#define PLAIN_POD "{\"metadata\":{\"name\":\"web\"},\"spec\":{\"containers\":[{\"name\":\"web\"}]}}"
#define BAD_POD	  "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"containers\":[7]}}"
#define REVIEW(kind, sub, operation, dry_run, object)                                                                  \
	"{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":{\"uid\":\"u-1\",\"kind\":{" \
	"\"group\":\"\",\"version\":\"v1\",\"kind\":\"" kind "\"},\"subResource\":\"" sub "\",\"namespace\":\"ml\","   \
	"\"operation\":\"" operation "\",\"dryRun\":" dry_run ",\"object\":" object "}}"

struct fixture {
	struct admission_scratch scratch;
	struct metrics *metrics;
	struct client_log log;
	struct current_state *current;
	struct config_share *config;
};

static void publish(struct fixture *f)
{
	struct snapshot_builder *builder = snapshot_builder_new(NULL);
	struct snapshot *snapshot = snapshot_builder_finish(builder, 1);

	assert_int_equal(current_state_replace(f->current, snapshot, f->config), 0);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	admission_scratch_init(&f->scratch);
	f->metrics = metrics_new();
	f->current = current_state_new();
	f->config = config_share_new(config_new_default());
	publish(f);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	admission_scratch_release(&f->scratch);
	metrics_free(f->metrics);
	current_state_free(f->current);
	config_share_unref(f->config);
	free(f);
	return 0;
}

static int ask(struct fixture *f, struct admission_scratch *scratch, const char *review, struct strbuf *answer)
{
	struct admission_world world = {.metrics = f->metrics, .log = &f->log, .now_ms = 1000};
	struct err err = ERR_INIT;
	int r;

	strbuf_clear(answer);
	world.state = current_state_acquire(f->current);
	r = admission_review(&admission_mutate, scratch, &world, review, strlen(review), answer, &err);
	current_state_release(f->current, world.state);
	if (r < 0)
		assert_true(err.msg[0] != '\0');
	return r;
}

static double admissions(struct fixture *f, enum metric_result result, bool is_dry_run)
{
	double n = 0;

	for (size_t mode = 0; mode < MODE_COUNT_; mode++)
		n += metrics_value(f->metrics, METRIC_ADMISSIONS, result, mode, is_dry_run);
	return n;
}

static void test_answers(void **state)
{
	static const struct {
		const char *name, *review;
		enum metric_result result;
		const char *skip;
		bool is_dry_run, has_patch, has_warnings;
	} rows[] = {
		{"a training pod", REVIEW("Pod", "", "CREATE", "false", POD), RESULT_PATCHED, NULL, false, true, true},
		{"the same, dry run", REVIEW("Pod", "", "CREATE", "true", POD), RESULT_PATCHED, NULL, true, true, true},
		{"a controller's pod", REVIEW("Pod", "", "CREATE", "false", OWNED_POD), RESULT_PATCHED, NULL, false,
		 true, false},
		{"no training pod", REVIEW("Pod", "", "CREATE", "false", PLAIN_POD), RESULT_SKIPPED, "no-sign", false,
		 false, false},
		{"another kind", REVIEW("Node", "", "CREATE", "false", POD), RESULT_SKIPPED, "not-a-pod", false, false,
		 false},
		{"a sub-resource", REVIEW("Pod", "binding", "CREATE", "false", POD), RESULT_SKIPPED, "sub-resource",
		 false, false, false},
		{"update", REVIEW("Pod", "", "UPDATE", "false", POD), RESULT_SKIPPED, "not-create", false, false,
		 false},
		{"delete", REVIEW("Pod", "", "DELETE", "false", "null"), RESULT_SKIPPED, "not-create", false, false,
		 false},
		{"a pod that cannot be read", REVIEW("Pod", "", "CREATE", "false", BAD_POD), RESULT_ERROR, NULL, false,
		 false, false},
	};
	struct fixture *f = *state;
	CLEANUP(strbuf_release) struct strbuf answer = STRBUF_INIT(65536);

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		double before = admissions(f, rows[i].result, rows[i].is_dry_run);
		const char *text;

		test_row(rows[i].name);
		assert_int_equal(ask(f, &f->scratch, rows[i].review, &answer), 0);
		text = strbuf_text(&answer);
		assert_non_null(strstr(text, "\"uid\":\"u-1\",\"allowed\":true"));
		assert_int_equal(strstr(text, "\"patch\":") != NULL, rows[i].has_patch);
		assert_int_equal(strstr(text, "\"patchType\":") != NULL, rows[i].has_patch);
		assert_int_equal(strstr(text, "\"warnings\":") != NULL, rows[i].has_warnings);
		assert_true(admissions(f, rows[i].result, rows[i].is_dry_run) == before + 1);
		if (rows[i].skip)
			assert_true(metrics_value(f->metrics, METRIC_SKIPPED,
						  metrics_label(METRIC_SKIPPED, 0, rows[i].skip), 0, 0) >= 1);
	}
	assert_true(metrics_value(f->metrics, METRIC_ERRORS, ERROR_POD, 0, 0) == 1);
}

static void test_unreadable(void **state)
{
	static const char *const reviews[] = {"", "hello", "[]", "{\"apiVersion\":\"admission.k8s.io/v1\"}"};
	struct fixture *f = *state;
	CLEANUP(strbuf_release) struct strbuf answer = STRBUF_INIT(65536);

	for (size_t i = 0; i < ARRAY_LEN(reviews); i++) {
		test_row(reviews[i]);
		assert_int_equal(ask(f, &f->scratch, reviews[i], &answer), -EINVAL);
		assert_int_equal(answer.len, 0);
	}
	assert_true(metrics_value(f->metrics, METRIC_ERRORS, ERROR_UNREADABLE, 0, 0) == ARRAY_LEN(reviews));
}

static void test_before_the_first_state(void **state)
{
	struct fixture *f = *state;
	CLEANUP(strbuf_release) struct strbuf answer = STRBUF_INIT(65536);
	const struct admission_world world = {.metrics = f->metrics, .log = &f->log};
	struct err err = ERR_INIT;
	const char *review = REVIEW("Pod", "", "CREATE", "false", POD);

	assert_int_equal(
		admission_review(&admission_mutate, &f->scratch, &world, review, strlen(review), &answer, &err),
		-EAGAIN);
	assert_non_null(strstr(err.msg, "no snapshot"));
	assert_int_equal(answer.len, 0);
	assert_true(metrics_value(f->metrics, METRIC_ERRORS, ERROR_INTERNAL, 0, 0) == 0);
}

static void publish_profile(struct fixture *f, const struct owner_facts *owner)
{
	const char *aliases[] = {"Job/a"};
	const struct profile profile = {.namespace_name = "ml",
					.name = "a-0123456789",
					.workload = "Job/a",
					.role = "",
					.container = "pytorch",
					.aliases = aliases,
					.n_aliases = 1,
					.parent = {.limit_bytes = GIB, .confidence = CONFIDENCE_HIGH, .runs = 5}};
	struct snapshot_builder *builder = snapshot_builder_new(NULL);

	assert_int_equal(snapshot_builder_put_copy(builder, &profile), 0);
	if (owner)
		assert_int_equal(snapshot_builder_put_owner(builder, owner), 0);
	assert_int_equal(current_state_replace(f->current, snapshot_builder_finish(builder, 1), f->config), 0);
}

/* The watch may not have brought the owner yet: the pod is sized at once, as one whose owner was created now. */
static void test_a_pod_is_answered_whatever_is_known_of_its_owner(void **state)
{
	static const struct owner_facts known = {.uid = "1", .pods = 1, .ranks = 1},
					child = {.uid = "1", .parent_uid = "2"};
	static const struct {
		const char *name;
		const struct owner_facts *owner;
	} rows[] = {{"nothing", NULL}, {"all", &known}, {"not its own owner", &child}};
	struct fixture *f = *state;
	CLEANUP(strbuf_release) struct strbuf answer = STRBUF_INIT(65536);

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		test_row(rows[i].name);
		publish_profile(f, rows[i].owner);
		assert_int_equal(ask(f, &f->scratch, REVIEW("Pod", "", "CREATE", "false", OWNED_POD), &answer), 0);
		assert_non_null(strstr(strbuf_text(&answer), "\"patch\":"));
		assert_true(admissions(f, RESULT_PATCHED, false) == (double)i + 1);
	}
}

/* A review of a training pod with one annotation, whose text is `n` times `unit`. */
static const char *annotated_review(const char *key, const char *unit, size_t n, struct strbuf *buf)
{
	strbuf_clear(buf);
	strbuf_addf(buf,
		    "{\"apiVersion\":\"admission.k8s.io/v1\",\"request\":{\"uid\":\"u-1\",\"kind\":{\"version\":\"v1\","
		    "\"kind\":\"Pod\"},\"namespace\":\"ml\",\"operation\":\"CREATE\",\"object\":{\"metadata\":{"
		    "\"name\":\"train-0\",\"annotations\":{\"%s\":\"",
		    key);
	for (size_t i = 0; i < n; i++)
		strbuf_adds(buf, unit);
	strbuf_adds(buf, "\"}},\"spec\":{\"containers\":[{\"name\":\"pytorch\",\"resources\":{\"limits\":{"
			 "\"nvidia.com/gpu\":\"1\"}}}]}}}}");
	assert_int_equal(buf->status, 0);
	return strbuf_text(buf);
}

/* The API server rejects a pod whose annotations are longer than 256 KiB in all; ours takes less than 1 KiB. */
static void test_annotations_without_room(void **state)
{
	static const char kubectl[] = "kubectl.kubernetes.io/last-applied-configuration";
	static const struct {
		const char *name, *key, *unit;
		size_t unit_bytes;
	} rows[] = {
		{"plain", "notes", "x", 1},
		{"not kept", kubectl, "x", 1},
		{"not kept, escaped", kubectl, "\\\"", 1},
		{"not kept, by number", kubectl, "\\u00fc\\ud83d\\ude00", 6},
	};
	struct fixture *f = *state;
	CLEANUP(strbuf_release) struct strbuf answer = STRBUF_INIT(65536), review = STRBUF_INIT(LIMIT_REVIEW_BYTES);

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const size_t room = (LIMIT_ANNOTATIONS_BYTES - strlen(rows[i].key)) / rows[i].unit_bytes;
		const size_t ours = 1024 / rows[i].unit_bytes;
		const char *text;

		test_row(rows[i].name);
		text = annotated_review(rows[i].key, rows[i].unit, room - ours, &review);
		assert_int_equal(ask(f, &f->scratch, text, &answer), 0);
		assert_non_null(strstr(strbuf_text(&answer), "\"patch\":"));
		text = annotated_review(rows[i].key, rows[i].unit, room - 1, &review);
		assert_int_equal(ask(f, &f->scratch, text, &answer), 0);
		assert_string_equal(
			strbuf_text(&answer),
			"{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"response\":{"
			"\"uid\":\"u-1\",\"allowed\":true,\"auditAnnotations\":{\"skip\":\"annotations-full\"}"
			"}}\n");
		assert_true(metrics_value(f->metrics, METRIC_SKIPPED,
					  metrics_label(METRIC_SKIPPED, 0, "annotations-full"), 0, 0) == (double)i + 1);
	}
}

struct asker {
	struct fixture *fixture;
	atomic_bool *stop;
	atomic_uint *answers;
};

static void *ask_main(void *context)
{
	struct asker *asker = context;
	CLEANUP(strbuf_release) struct strbuf answer = STRBUF_INIT(65536);
	struct admission_scratch scratch;

	admission_scratch_init(&scratch);
	while (!atomic_load(asker->stop)) {
		assert_int_equal(ask(asker->fixture, &scratch, REVIEW("Pod", "", "CREATE", "false", POD), &answer), 0);
		atomic_fetch_add(asker->answers, 1);
	}
	admission_scratch_release(&scratch);
	return NULL;
}

static void test_state_changes_under_reviews(void **state)
{
	struct fixture *f = *state;
	atomic_bool stop = false;
	atomic_uint answers = 0;
	struct asker asker = {f, &stop, &answers};
	size_t freed = 0, swaps = 0;
	pthread_t threads[2];

	for (size_t i = 0; i < ARRAY_LEN(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, ask_main, &asker), 0);
	while (atomic_load(&answers) < 500) {
		publish(f);
		swaps++;
		freed += current_state_collect(f->current);
	}
	atomic_store(&stop, true);
	for (size_t i = 0; i < ARRAY_LEN(threads); i++)
		pthread_join(threads[i], NULL);
	freed += current_state_collect(f->current);
	assert_int_equal(freed, swaps); /* all but the current one */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_answers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_unreadable, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_pod_is_answered_whatever_is_known_of_its_owner, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_annotations_without_room, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_before_the_first_state, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_state_changes_under_reviews, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
