/* SPDX-License-Identifier: Apache-2.0 */
/* Reviews of objects that make pods: what is said, what is denied, what passes in silence, and what was counted. */
#include "base/json.h"
#include "base/limits.h"
#include "serve/admission.h"
#include "support/test.h"

#include <errno.h>
#include <string.h>

/* JSON is written with single quotes. */
#define GPU	   "'resources':{'limits':{'nvidia.com/gpu':'1'}}"
#define POD	   "{'spec':{'containers':[{'name':'pytorch'," GPU "}]}}"
#define BAD_POD	   "{'spec':{'containers':7}}"
#define JOB(spec)  "{'apiVersion':'batch/v1','kind':'Job','metadata':{'name':'train'},'spec':" spec "}"
#define SPEC	   "{'template':" POD "}"
#define ROLE(name) "'" name "':{'replicas':2,'template':" POD "}"
#define PYTORCH(roles)                                                                                                 \
	"{'apiVersion':'kubeflow.org/v1','kind':'PyTorchJob','metadata':{'name':'bert'},'spec':"                       \
	"{'pytorchReplicaSpecs':{" roles "}}}"
#define TWO_CONTAINERS                                                                                                 \
	"{'spec':{'containers':[{'name':'pytorch'," GPU "},{'name':'extra','resources':{'limits':{'memory':"           \
	"'400m'}}}]}}"
#define OWNED                                                                                                          \
	"{'apiVersion':'batch/v1','kind':'Job','metadata':{'name':'a','ownerReferences':[{'kind':'CronJob','name':"    \
	"'a','uid':'1','controller':true}]},'spec':" SPEC "}"
#define WRAPPED(kind)                                                                                                  \
	"{'apiVersion':'workload.codeflare.dev/v1beta2','kind':'AppWrapper','spec':{'components':[{'template':" kind   \
	"}]}}"
#define PLAIN_POD                                                                                                      \
	"{'apiVersion':'v1','kind':'Pod','metadata':{'name':'p'},'spec':{'containers':[{'name':'pytorch'," GPU "}]}}"

struct fixture {
	struct admission_scratch scratch;
	struct metrics *metrics;
	struct client_log log;
	struct current_state *current;
	struct config_share *config;
	struct strbuf review, answer;
	struct json_object *response; /* of the last answer */
};

static void use_config(struct fixture *f, const char *text)
{
	CLEANUP(strbuf_release) struct strbuf yaml = STRBUF_INIT(4096);
	struct snapshot_builder *builder = snapshot_builder_new(NULL);
	struct config *config = NULL;
	struct err err = ERR_INIT;

	strbuf_addf(&yaml, "apiVersion: config.memtamer.io/v1alpha1\n%s\n", text);
	if (config_parse(strbuf_text(&yaml), yaml.len, "test", ".", &config, &err))
		fail_msg("%s: %s", err.where, err.msg);
	config_share_unref(f->config);
	f->config = config_share_new(config);
	assert_int_equal(current_state_replace(f->current, snapshot_builder_finish(builder, 1), f->config), 0);
	current_state_collect(f->current);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	admission_scratch_init(&f->scratch);
	f->metrics = metrics_new();
	f->current = current_state_new();
	f->review = (struct strbuf)STRBUF_INIT(LIMIT_REVIEW_BYTES);
	f->answer = (struct strbuf)STRBUF_INIT(LIMIT_RESPONSE_BYTES);
	use_config(f, "mode: raise");
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
	strbuf_release(&f->review);
	strbuf_release(&f->answer);
	json_object_put(f->response);
	free(f);
	return 0;
}

/* Post the review; the response is in f->response. */
static int post(struct fixture *f)
{
	const struct state *state = current_state_acquire(f->current);
	struct json_object *answer = NULL;
	struct err err = ERR_INIT;
	int r;

	json_object_put(f->response);
	f->response = NULL;
	strbuf_clear(&f->answer);
	r = admission_review(
		&admission_validate, &f->scratch,
		&(struct admission_world){.metrics = f->metrics, .log = &f->log, .state = state, .now_ms = 1000},
		strbuf_text(&f->review), f->review.len, &f->answer, &err);
	current_state_release(f->current, state);
	if (r)
		return r;
	assert_int_equal(json_parse(strbuf_text(&f->answer), f->answer.len, 32, &answer, &err), 0);
	f->response = json_object_get(json_member(answer, "response"));
	json_object_put(answer);
	assert_string_equal(json_object_get_string(json_member(f->response, "uid")), "u-1");
	assert_null(json_member(f->response, "patch"));
	return 0;
}

static void ask(struct fixture *f, const char *group, const char *kind, const char *head, const char *object,
		const char *old)
{
	strbuf_clear(&f->review);
	strbuf_addf(&f->review,
		    "{'apiVersion':'admission.k8s.io/v1','kind':'AdmissionReview','request':{'uid':'u-1','kind':{"
		    "'group':'%s','version':'v1','kind':'%s'},'namespace':'ml',%s,'object':%s,'oldObject':%s}}",
		    group, kind, head, object, old);
	for (char *p = f->review.text; *p; p++)
		if (*p == '\'')
			*p = '"';
	assert_int_equal(post(f), 0);
}

static bool is_allowed(const struct fixture *f)
{
	return json_object_get_boolean(json_member(f->response, "allowed"));
}

static size_t n_warnings(const struct fixture *f)
{
	struct json_object *warnings = json_member(f->response, "warnings");

	return warnings ? json_object_array_length(warnings) : 0;
}

static const char *warning(const struct fixture *f, size_t i)
{
	return json_object_get_string(json_object_array_get_idx(json_member(f->response, "warnings"), i));
}

static size_t n_warnings_with(const struct fixture *f, const char *words)
{
	size_t n = 0;

	for (size_t i = 0; i < n_warnings(f); i++)
		n += strstr(warning(f, i), words) != NULL;
	return n;
}

static double answers(const struct fixture *f, enum metric_result result, bool is_dry_run)
{
	double n = 0;

	for (size_t mode = 0; mode < MODE_COUNT_; mode++)
		n += metrics_value(f->metrics, METRIC_VALIDATIONS, result, mode, is_dry_run);
	return n;
}

#define CREATE "'operation':'CREATE'"
#define UPDATE "'operation':'UPDATE'"

static void test_what_is_looked_at(void **state)
{
	static const struct {
		const char *name, *group, *kind, *head, *object, *old;
		enum metric_result result;
		const char *skip;
		bool is_dry_run;
	} rows[] = {
		{"a new Job", "batch", "Job", CREATE, JOB(SPEC), "null", RESULT_WARNED, NULL, false},
		{"dry run", "batch", "Job", CREATE ",'dryRun':true", JOB(SPEC), "null", RESULT_WARNED, NULL, true},
		{"a changed spec", "batch", "Job", UPDATE, JOB(SPEC), JOB("{'suspend':true,'template':" POD "}"),
		 RESULT_WARNED, NULL, false},
		{"the same spec", "batch", "Job", UPDATE, JOB(SPEC), JOB(SPEC), RESULT_SKIPPED, "spec-unchanged",
		 false},
		{"made by a controller", "batch", "Job", CREATE, OWNED, "null", RESULT_SKIPPED, "controlled", false},
		{"deleted", "batch", "Job", "'operation':'DELETE'", "null", JOB(SPEC), RESULT_SKIPPED,
		 "not-create-or-update", false},
		{"connected", "batch", "Job", "'operation':'CONNECT'", JOB(SPEC), "null", RESULT_SKIPPED,
		 "not-create-or-update", false},
		{"its status", "batch", "Job", UPDATE ",'subResource':'status'", JOB(SPEC), JOB("{}"), RESULT_SKIPPED,
		 "sub-resource", false},
		{"a Pod", "", "Pod", CREATE, PLAIN_POD, "null", RESULT_SKIPPED, "not-a-workload", false},
		{"an unknown kind", "example.com", "Sandbox", CREATE, JOB(SPEC), "null", RESULT_SKIPPED,
		 "not-a-workload", false},
		{"a kind without templates", "trainer.kubeflow.org", "TrainJob", CREATE,
		 "{'apiVersion':'trainer.kubeflow.org/v1alpha1','kind':'TrainJob','spec':{}}", "null", RESULT_SKIPPED,
		 "no-template", false},
		{"an object without templates", "batch", "Job", CREATE, JOB("{}"), "null", RESULT_SKIPPED,
		 "no-template", false},
		{"no training", "batch", "Job", CREATE, JOB("{'template':{'spec':{'containers':[{'name':'a'}]}}}"),
		 "null", RESULT_SKIPPED, "no-sign", false},
		{"serving", "apps", "Deployment", CREATE,
		 "{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'name':'a'},'spec':" SPEC "}", "null",
		 RESULT_SKIPPED, "serving", false},
		{"inside an AppWrapper", "workload.codeflare.dev", "AppWrapper", CREATE, WRAPPED(JOB(SPEC)), "null",
		 RESULT_WARNED, NULL, false},
		{"a template that cannot be read", "batch", "Job", CREATE, JOB("{'template':" BAD_POD "}"), "null",
		 RESULT_ERROR, NULL, false},
		{"one of two templates cannot be read", "kubeflow.org", "PyTorchJob", CREATE,
		 PYTORCH(ROLE("Master") ",'Worker':{'template':" BAD_POD "}"), "null", RESULT_WARNED, NULL, false},
		{"an object of a wrong type", "batch", "Job", CREATE, "[]", "null", RESULT_ERROR, NULL, false},
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		double before = answers(f, rows[i].result, rows[i].is_dry_run), skipped = 0;
		size_t label = metrics_label(METRIC_VALIDATION_SKIPPED, 0, rows[i].skip);

		test_row(rows[i].name);
		skipped = metrics_value(f->metrics, METRIC_VALIDATION_SKIPPED, label, 0, 0);
		ask(f, rows[i].group, rows[i].kind, rows[i].head, rows[i].object, rows[i].old);
		assert_true(is_allowed(f));
		assert_true(answers(f, rows[i].result, rows[i].is_dry_run) == before + 1);
		assert_int_equal(n_warnings(f) > 0, rows[i].result == RESULT_WARNED);
		assert_true(metrics_value(f->metrics, METRIC_VALIDATION_SKIPPED, label, 0, 0) ==
			    skipped + (rows[i].skip != NULL));
	}
	assert_true(metrics_value(f->metrics, METRIC_VALIDATION_ERRORS, ERROR_POD, 0, 0) == 3);
	/* the pods' own families are not touched */
	assert_true(metrics_value(f->metrics, METRIC_SKIPPED, metrics_label(METRIC_SKIPPED, 0, "no-sign"), 0, 0) == 0);
}

static void test_common_words_are_said_once(void **state)
{
	struct fixture *f = *state;

	ask(f, "kubeflow.org", "PyTorchJob", CREATE,
	    PYTORCH(ROLE("Master") "," ROLE("Worker") ",'Evaluator':{'template':" TWO_CONTAINERS "}"), "null");
	assert_int_equal(n_warnings_with(f, "container \"pytorch\" of master, worker, evaluator: no memory limit"), 1);
	assert_int_equal(n_warnings_with(f, "no memory limit"), 1);
	assert_int_equal(n_warnings_with(f, "container \"extra\" of evaluator: "), 1);
	assert_true(n_warnings_with(f, "; will be ") > 0);
	/* the most important first, over all templates: one of the last */
	assert_non_null(strstr(warning(f, 0), "thousandths"));
	assert_non_null(strstr(warning(f, 1), "BestEffort"));
}

static void test_many_roles(void **state)
{
	struct fixture *f = *state;

	ask(f, "kubeflow.org", "PyTorchJob", CREATE,
	    PYTORCH(ROLE("Master") "," ROLE("Worker") "," ROLE("Evaluator") "," ROLE("Chief") "," ROLE("PS")), "null");
	/* where the sentence is long, their number has to do */
	assert_int_equal(n_warnings_with(f, "of master, worker, evaluator +2: ") + n_warnings_with(f, "of 5 roles: "),
			 n_warnings(f));
	assert_int_equal(n_warnings_with(f, "..."), 0);
}

static void test_ten_warnings_of_120_characters(void **state)
{
	CLEANUP(strbuf_release) struct strbuf roles = STRBUF_INIT(64 * KIB);
	CLEANUP(strbuf_release) struct strbuf object = STRBUF_INIT(64 * KIB);
	struct fixture *f = *state;

	for (int i = 0; i < 20; i++)
		strbuf_addf(&roles,
			    "%s'role-with-quite-a-long-name-%d':{'template':{'spec':{'containers':[{'name':"
			    "'container-with-a-long-name-%d'," GPU "}]}}}",
			    i ? "," : "", i, i);
	strbuf_addf(&object, "{'apiVersion':'kubeflow.org/v1','kind':'PyTorchJob','spec':{'pytorchReplicaSpecs':{%s}}}",
		    strbuf_text(&roles));
	ask(f, "kubeflow.org", "PyTorchJob", CREATE, strbuf_text(&object), "null");
	assert_int_equal(n_warnings(f), LIMIT_WARNINGS);
	for (size_t i = 0; i < n_warnings(f); i++) {
		const char *line = warning(f, i);

		assert_true(strlen(line) <= LIMIT_WARNING_CHARS);
		for (; *line; line++)
			assert_true(*line >= ' ' && *line <= '~');
	}
}

static const char *message(const struct fixture *f)
{
	return json_object_get_string(json_member(json_member(f->response, "status"), "message"));
}

static void test_denials(void **state)
{
	struct fixture *f = *state;

	use_config(f, "mode: fill\nchecks: { memory-limit-missing: deny }");
	ask(f, "kubeflow.org", "PyTorchJob", CREATE, PYTORCH(ROLE("Master") "," ROLE("Worker")), "null");
	assert_false(is_allowed(f));
	assert_non_null(strstr(message(f), "memtamer: container \"pytorch\" of master, worker: no memory limit"));
	assert_non_null(strstr(message(f), "[memory-limit-missing]"));
	assert_int_equal(n_warnings_with(f, "no memory limit"), 0);
	assert_true(n_warnings(f) > 0);
	assert_true(answers(f, RESULT_DENIED, false) == 1);
	assert_true(metrics_value(f->metrics, METRIC_VALIDATION_FINDINGS, CHECK_MEMORY_LIMIT_MISSING, ACTION_DENY, 0) ==
		    2);

	ask(f, "batch", "Job", CREATE ",'dryRun':true", JOB(SPEC), "null");
	assert_false(is_allowed(f));
	ask(f, "batch", "Job", UPDATE, JOB(SPEC), JOB("{}"));
	assert_false(is_allowed(f));
}

static void test_what_is_never_denied(void **state)
{
	struct fixture *f = *state;

	use_config(f, "mode: fill\nchecks: { memory-limit-missing: deny }");
	ask(f, "batch", "Job", UPDATE, JOB(SPEC), JOB(SPEC));
	assert_true(is_allowed(f));
	ask(f, "batch", "Job", CREATE, OWNED, "null");
	assert_true(is_allowed(f));
	ask(f, "workload.codeflare.dev", "AppWrapper", CREATE, WRAPPED(PLAIN_POD), "null");
	assert_true(is_allowed(f));
	assert_int_equal(n_warnings_with(f, "no memory limit"), 1);
	use_config(f, "mode: observe\nchecks: { memory-limit-missing: deny }");
	ask(f, "batch", "Job", CREATE, JOB(SPEC), "null");
	assert_true(is_allowed(f));
	assert_int_equal(n_warnings_with(f, "no memory limit"), 1);
}

static void test_queue_marks_of_the_object(void **state)
{
	struct fixture *f = *state;

	ask(f, "batch", "Job", CREATE,
	    "{'apiVersion':'batch/v1','kind':'Job','metadata':{'name':'a','labels':{'kueue.x-k8s.io/queue-name':'q'}},"
	    "'spec':" SPEC "}",
	    "null");
	assert_true(n_warnings_with(f, "a queue counts it") > 0);
	assert_int_equal(n_warnings_with(f, "; will be "), 0);
	ask(f, "batch", "Job", CREATE, JOB(SPEC), "null");
	assert_int_equal(n_warnings_with(f, "a queue counts it"), 0);
}

/* Head of a review of a PyTorchJob, up to its specification by role. */
static void begin(struct fixture *f)
{
	strbuf_clear(&f->review);
	strbuf_adds(&f->review, "{\"apiVersion\":\"admission.k8s.io/"
				"v1\",\"request\":{\"uid\":\"u-1\",\"operation\":\"CREATE\",\"kind\":{"
				"\"group\":\"kubeflow.org\",\"kind\":\"PyTorchJob\"},\"object\":{\"apiVersion\":"
				"\"kubeflow.org/v1\",\"kind\":"
				"\"PyTorchJob\",\"spec\":{\"pytorchReplicaSpecs\":");
}

static void fill_empty_objects(struct strbuf *buf)
{
	strbuf_adds(buf, "{\"a\":{\"template\":{\"spec\":{\"containers\":[");
	while (buf->len < LIMIT_REVIEW_BYTES - 64)
		strbuf_adds(buf, "{},");
	strbuf_adds(buf, "{}]}}}}}}}}");
}

static void fill_templates(struct strbuf *buf)
{
	strbuf_addc(buf, '{');
	for (int i = 0; buf->len < LIMIT_REVIEW_BYTES - 256; i++)
		strbuf_addf(buf,
			    "\"r%d\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\",\"stdin\":false}]}}},",
			    i);
	strbuf_adds(buf, "\"x\":{}}}}}}");
}

/* As many templates as are read. */
static void fill_pods(struct strbuf *buf, int n_containers)
{
	strbuf_addc(buf, '{');
	for (int i = 0; i < LIMIT_POD_CONTAINERS; i++) {
		strbuf_addf(buf, "%s\"r%d\":{\"template\":{\"spec\":{\"containers\":[", i ? "," : "", i);
		for (int k = 0; k < n_containers; k++)
			strbuf_addf(buf, "%s{\"name\":\"c%d-%d\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":1}}}",
				    k ? "," : "", i, k);
		strbuf_adds(buf, "]}}}");
	}
	strbuf_adds(buf, "}}}}}");
}

static void fill_large_pods(struct strbuf *buf)
{
	fill_pods(buf, 64);
}

static void fill_small_pods(struct strbuf *buf)
{
	fill_pods(buf, 4);
}

static void fill_text(struct strbuf *buf)
{
	strbuf_adds(buf, "{\"a\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"");
	while (buf->len < LIMIT_REVIEW_BYTES - 64)
		strbuf_adds(buf, "aaaaaaaaaaaaaaaa");
	strbuf_adds(buf, "\"}]}}}}}}}}");
}

static void fill_nesting(struct strbuf *buf)
{
	for (int i = 0; i < 100000; i++)
		strbuf_adds(buf, "{\"a\":");
}

static void fill_wrappers(struct strbuf *buf)
{
	strbuf_adds(buf, "{}}");
	for (int i = 0; i < 18; i++)
		strbuf_adds(buf, ",\"items\":[{\"apiVersion\":\"v1\",\"kind\":\"List\"");
	for (int i = 0; i < 18; i++)
		strbuf_adds(buf, "}]");
	strbuf_adds(buf, "}}}");
}

/* Whatever comes, an answer goes out that allows, and memory stays within the arena. */
static void test_hostile_bodies(void **state)
{
	static const struct {
		const char *name;
		void (*fill)(struct strbuf *buf);
		int result;
		enum metric_result counted;
	} rows[] = {
		{"two million empty containers", fill_empty_objects, 0, RESULT_ERROR},
		{"a hundred thousand templates", fill_templates, 0, RESULT_ERROR},
		{"more than fits", fill_large_pods, 0, RESULT_ERROR},
		{"many templates of some containers", fill_small_pods, 0, RESULT_WARNED},
		{"one long name", fill_text, 0, RESULT_ERROR},
		{"nested deeply", fill_nesting, 0, RESULT_ERROR},
		{"Lists in Lists", fill_wrappers, 0, RESULT_SKIPPED},
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		double before = answers(f, rows[i].counted, false);

		test_row(rows[i].name);
		begin(f);
		rows[i].fill(&f->review);
		assert_int_equal(f->review.status, 0);
		assert_int_equal(post(f), rows[i].result);
		assert_true(is_allowed(f));
		assert_true(answers(f, rows[i].counted, false) == before + 1);
		assert_true(f->scratch.arena.used_bytes <= f->scratch.arena.max_bytes);
	}
}

static void test_unreadable(void **state)
{
	static const char *const reviews[] = {"", "hello", "[]", "{\"apiVersion\":\"admission.k8s.io/v1\"}"};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_LEN(reviews); i++) {
		test_row(reviews[i]);
		strbuf_clear(&f->review);
		strbuf_adds(&f->review, reviews[i]);
		assert_int_equal(post(f), -EINVAL);
	}
	assert_true(metrics_value(f->metrics, METRIC_VALIDATION_ERRORS, ERROR_UNREADABLE, 0, 0) == ARRAY_LEN(reviews));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_what_is_looked_at, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_common_words_are_said_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_many_roles, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_ten_warnings_of_120_characters, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_denials, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_what_is_never_denied, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_queue_marks_of_the_object, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_hostile_bodies, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_unreadable, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
