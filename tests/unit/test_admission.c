/* SPDX-License-Identifier: Apache-2.0 */
/* Reviews in bytes, answers in bytes, and what was counted; and the state changing under reviews. */
#include "base/json.h"
#include "base/limits.h"
#include "k8s/kinds.h"
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
	struct holder *holder;
	struct config_share *config;
	bool may_wait, has_waited;
	int64_t now_ms;
	struct untold untold;
};

static void publish(struct fixture *f)
{
	struct snapshot_builder *builder = snapshot_builder_new(NULL);
	struct snapshot *snapshot = snapshot_builder_finish(builder, 1);

	assert_int_equal(holder_swap(f->holder, snapshot, f->config), 0);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	admission_scratch_init(&f->scratch);
	untold_init(&f->untold);
	f->now_ms = 1000;
	f->metrics = metrics_new();
	f->holder = holder_new();
	f->config = config_share_new(config_new_default());
	publish(f);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	admission_scratch_release(&f->scratch);
	untold_release(&f->untold);
	metrics_free(f->metrics);
	holder_free(f->holder);
	config_share_unref(f->config);
	free(f);
	return 0;
}

static int ask(struct fixture *f, struct admission_scratch *scratch, const char *review, struct strbuf *answer)
{
	struct admission_world world = {
		.metrics = f->metrics,
		.now_ms = f->now_ms,
		.may_wait = f->may_wait,
		.has_waited = f->has_waited,
		.untold = &f->untold,
	};
	struct err err = ERR_INIT;
	int r;

	strbuf_clear(answer);
	world.state = holder_acquire(f->holder);
	r = admission_review(scratch, &world, review, strlen(review), answer, &err);
	holder_release(f->holder, world.state);
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
	const struct admission_world world = {.metrics = f->metrics, .may_wait = true};
	struct err err = ERR_INIT;
	const char *review = REVIEW("Pod", "", "CREATE", "false", POD);

	assert_int_equal(admission_review(&f->scratch, &world, review, strlen(review), &answer, &err), -EAGAIN);
	assert_non_null(strstr(err.msg, "no snapshot"));
	assert_int_equal(answer.len, 0);
	assert_true(metrics_value(f->metrics, METRIC_ERRORS, ERROR_INTERNAL, 0, 0) == 0);
}

/* What is known of OWNED_POD's workload and of its Job. */
enum owner_state { UNHEARD, KNOWN, SUSPENDED };

static void publish_known(struct fixture *f, bool has_profile, bool are_jobs_told, enum owner_state owner_state)
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
	const struct owner_facts owner = {.uid = "1", .pods = 1, .ranks = 1, .is_suspended = owner_state == SUSPENDED};
	struct snapshot_builder *builder = snapshot_builder_new(NULL);

	if (has_profile)
		assert_int_equal(snapshot_builder_put_copy(builder, &profile), 0);
	if (owner_state != UNHEARD)
		assert_int_equal(snapshot_builder_put_owner(builder, &owner), 0);
	if (are_jobs_told)
		snapshot_builder_set_owner_kinds(builder, kind_bit(kind_find("batch", "Job")));
	assert_int_equal(holder_swap(f->holder, snapshot_builder_finish(builder, 1), f->config), 0);
}

static void test_news_of_an_owner_is_awaited(void **state)
{
	static const struct {
		const char *name, *pod;
		bool has_profile, are_jobs_told;
		enum owner_state owner;
		bool waits;
	} rows[] = {
		{"on its way", OWNED_POD, true, true, UNHEARD, true},
		{"known", OWNED_POD, true, true, KNOWN, false},
		{"let go a moment ago", OWNED_POD, true, true, SUSPENDED, true},
		{"nobody tells of Jobs", OWNED_POD, true, false, UNHEARD, false},
		{"nobody tells of Jobs any more", OWNED_POD, true, false, SUSPENDED, false},
		{"nothing to set", OWNED_POD, false, true, UNHEARD, false},
		{"no owner", POD, true, true, UNHEARD, false},
	};
	struct fixture *f = *state;
	CLEANUP(strbuf_release) struct strbuf answer = STRBUF_INIT(65536);
	double told = 0, in_vain = 0;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		double before = admissions(f, RESULT_PATCHED, false) + admissions(f, RESULT_UNCHANGED, false);
		char review[2048];

		test_row(rows[i].name);
		snprintf(review, sizeof(review), REVIEW("Pod", "", "CREATE", "false", "%s"), rows[i].pod);
		publish_known(f, rows[i].has_profile, rows[i].are_jobs_told, rows[i].owner);
		f->may_wait = true;
		f->has_waited = false;
		assert_int_equal(ask(f, &f->scratch, review, &answer), rows[i].waits ? ADMISSION_WAITS : 0);
		assert_int_equal(answer.len == 0, rows[i].waits);
		/* it is answered in any case once it may wait no longer, and counted once */
		f->may_wait = !rows[i].waits;
		f->has_waited = true;
		assert_int_equal(ask(f, &f->scratch, review, &answer), 0);
		assert_true(admissions(f, RESULT_PATCHED, false) + admissions(f, RESULT_UNCHANGED, false) ==
			    before + (rows[i].waits ? 1 : 2));
		told += !rows[i].waits;
		in_vain += rows[i].waits;
		assert_true(metrics_value(f->metrics, METRIC_WAITS, WAIT_TOLD, 0, 0) == told);
		assert_true(metrics_value(f->metrics, METRIC_WAITS, WAIT_IN_VAIN, 0, 0) == in_vain);
	}
}

/* The first pods of an owner wait while its news may be late; later ones not for what never comes. */
static void test_an_owner_is_given_up(void **state)
{
	struct fixture *f = *state;
	CLEANUP(strbuf_release) struct strbuf answer = STRBUF_INIT(65536);
	const char *review = REVIEW("Pod", "", "CREATE", "false", OWNED_POD);

	publish_known(f, true, true, UNHEARD);
	f->may_wait = true;
	assert_int_equal(ask(f, &f->scratch, review, &answer), ADMISSION_WAITS);
	f->may_wait = false;
	f->has_waited = true;
	assert_int_equal(ask(f, &f->scratch, review, &answer), 0);
	f->may_wait = true;
	f->has_waited = false;
	f->now_ms += UNTOLD_PATIENCE_MS - 1;
	assert_int_equal(ask(f, &f->scratch, review, &answer), ADMISSION_WAITS);
	f->now_ms++;
	assert_int_equal(ask(f, &f->scratch, review, &answer), 0);
	assert_true(metrics_value(f->metrics, METRIC_WAITS, WAIT_IN_VAIN, 0, 0) == 1);
	/* a minute later it may have been suspended, and gone on: its pods are held as before the first vain wait */
	f->now_ms += UNTOLD_MEMORY_MS;
	assert_false(untold_is_given_up(&f->untold, "1", f->now_ms));
	untold_add(&f->untold, "1", f->now_ms);
	assert_false(untold_is_given_up(&f->untold, "1", f->now_ms + UNTOLD_PATIENCE_MS - 1));
	f->now_ms += UNTOLD_PATIENCE_MS;
	assert_true(untold_is_given_up(&f->untold, "1", f->now_ms));
	/* of another owner nothing is known */
	assert_false(untold_is_given_up(&f->untold, "2", f->now_ms));
	/* the oldest is forgotten, and one that is known keeps its time */
	for (int i = 0; i < UNTOLD_MAX; i++) {
		char uid[16];

		snprintf(uid, sizeof(uid), "u%d", i % (UNTOLD_MAX - 1));
		untold_add(&f->untold, uid, f->now_ms + i);
	}
	assert_true(untold_is_given_up(&f->untold, "1", f->now_ms));
	assert_true(untold_is_given_up(&f->untold, "u0", f->now_ms + UNTOLD_PATIENCE_MS));
	untold_add(&f->untold, "more", f->now_ms);
	assert_false(untold_is_given_up(&f->untold, "1", f->now_ms));
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
		freed += holder_collect(f->holder);
	}
	atomic_store(&stop, true);
	for (size_t i = 0; i < ARRAY_LEN(threads); i++)
		pthread_join(threads[i], NULL);
	freed += holder_collect(f->holder);
	assert_int_equal(freed, swaps); /* all but the current one */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_answers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_unreadable, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_news_of_an_owner_is_awaited, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_an_owner_is_given_up, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_before_the_first_state, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_state_changes_under_reviews, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
