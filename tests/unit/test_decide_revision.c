/* SPDX-License-Identifier: Apache-2.0 */
/* One size for all pods of a root owner: whether its owner was heard of or not yet must not show. */
#include "decide_fixture.h"

#include "base/timefmt.h"

#define T0 ((int64_t)1793607300000)

static const char pod_text[] =
	"{\"metadata\":{\"generateName\":\"train-\",\"labels\":{\"memtamer.io/training\":\"true\","
	"\"batch.kubernetes.io/job-name\":\"train\"},\"ownerReferences\":[{\"apiVersion\":\"batch/"
	"v1\",\"kind\":\"Job\","
	"\"name\":\"train\",\"uid\":\"u\",\"controller\":true}]},"
	"\"spec\":{\"containers\":[{\"name\":\"main\",\"image\":\"i:1\"}]}}";

/* A profile that changed from 10Gi to 20Gi at `changed_ms`; the Job is known when `created_ms` is not 0. */
static struct snapshot *changed_snapshot(int64_t changed_ms, int64_t created_ms, int64_t now_ms)
{
	const struct recommendation rec = {.runs = 9,
					   .whole_runs = 9,
					   .confidence = CONFIDENCE_HIGH,
					   .median_bytes = 8 * GI,
					   .p95_bytes = 9 * GI,
					   .peak_bytes = 20 * GI,
					   .request_bytes = 8 * GI,
					   .limit_bytes = 20 * GI,
					   .over_request_permille = 1000};
	const struct owner_facts owner = {.uid = "u", .created_ms = created_ms};
	struct snapshot_builder *builder = snapshot_builder_new(NULL);
	struct profile *profile = fixture_profile(&rec);
	struct profile draft = *profile;
	struct recommendation previous = rec;

	assert_non_null(builder);
	previous.peak_bytes = previous.limit_bytes = 10 * GI;
	draft.variants = &previous;
	draft.n_previous = 1;
	draft.updated_ms = changed_ms;
	assert_int_equal(snapshot_builder_put(builder, profile_dup(&draft)), 0);
	profile_free(profile);
	if (created_ms)
		assert_int_equal(snapshot_builder_put_owner(builder, &owner), 0);
	return snapshot_builder_finish(builder, now_ms);
}

static int64_t limit_at(int64_t changed_ms, int64_t created_ms, int64_t now_ms)
{
	struct decide_fixture f;
	int64_t ret;

	fixture_init(&f, pod_text, changed_snapshot(changed_ms, created_ms, now_ms));
	f.policy.mode = MODE_ENFORCE;
	f.input.now_ms = now_ms;
	fixture_decide(&f);
	ret = fixture_final_limit(&f);
	fixture_release(&f);
	return ret;
}

/* metav1.Time has whole seconds: what is made at 16.7 s was made at 16 s, also for the pod that comes before that news.
 */
static void an_owner_made_now_is_like_one_known(void **state)
{
	int n_old = 0, n_new = 0;

	(void)state;
	for (int64_t fraction = 0; fraction < TIME_SECOND_MS; fraction += 90)
		for (int64_t after = -1500; after <= 1500; after += 70) {
			int64_t changed_ms = T0 + fraction, now_ms = changed_ms + PROFILE_EFFECT_DELAY_MS + after;
			int64_t created_ms = now_ms / TIME_SECOND_MS * TIME_SECOND_MS;
			int64_t unheard = limit_at(changed_ms, 0, now_ms);

			assert_int_equal(unheard, limit_at(changed_ms, created_ms, now_ms));
			n_old += unheard == 10 * GI;
			n_new += unheard == 20 * GI;
		}
	assert_true(n_old > 100 && n_new > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_owner_made_now_is_like_one_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
