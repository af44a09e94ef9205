/* SPDX-License-Identifier: Apache-2.0 */
/* Mode raise: which limits and requests are raised to the recommendation, and what is stronger. */
#include "decide_fixture.h"

#include <stdio.h>

/* Sizes in Mi; 0: not set. */
struct row {
	const char *name;
	int64_t limit, request; /* of the manifest */
	int64_t want_limit, want_request;
	const char *check;		     /* the finding about the limit; NULL: none */
	int64_t proven, pin, ceiling, quota; /* quota: what is left of limits.memory */
	const char *cap;		     /* modeCap of the profile; NULL: none */
	bool is_queued, is_guaranteed;
	enum mode mode; /* MODE_OFF: raise */
};

static const struct recommendation base = {.runs = 9,
					   .whole_runs = 9,
					   .confidence = CONFIDENCE_HIGH,
					   .median_bytes = 500 * MI,
					   .p95_bytes = 600 * MI,
					   .peak_bytes = 611 * MI,
					   .request_bytes = 500 * MI,
					   .limit_bytes = 712 * MI,
					   .buffer_permille = 160};

/* A quota that counts the only pod of the Job. */
static void put_quota(struct snapshot_builder *builder, int64_t hard_bytes)
{
	const struct owner_facts owner = {.uid = "u", .pods = 1, .ranks = 1};
	struct k8s_quota quota = {.namespace_name = "team-a", .name = "q", .pods.hard = K8S_NO_BOUND};

	for (int f = 0; f < K8S_QUOTA_FIELDS_; f++)
		for (int r = 0; r < K8S_RESOURCE_COUNT_; r++)
			quota.amounts[f][r].hard = K8S_NO_BOUND;
	quota.amounts[K8S_QUOTA_LIMITS][K8S_MEMORY].hard = hard_bytes;
	assert_int_equal(snapshot_builder_put_quota(builder, &quota), 0);
	assert_int_equal(snapshot_builder_put_owner(builder, &owner), 0);
}

static struct snapshot *snapshot_of(const struct row *row)
{
	struct profile_spec spec = profile_spec_none;
	struct snapshot_builder *builder = snapshot_builder_new(NULL);
	struct recommendation rec = base;
	struct profile *profile;
	struct profile draft;

	if (row->proven) {
		rec.proven_bytes = row->proven * MI;
		rec.limit_bytes = GI;
	}
	profile = fixture_profile(&rec);
	draft = *profile;
	spec.pin_limit_bytes = row->pin * MI;
	spec.ceiling_bytes = row->ceiling * MI;
	snprintf(spec.mode_cap, sizeof(spec.mode_cap), "%s", row->cap ? row->cap : "");
	draft.spec = &spec;
	assert_int_equal(snapshot_builder_put(builder, profile_dup(&draft)), 0);
	profile_free(profile);
	if (row->quota)
		put_quota(builder, row->quota * MI);
	return snapshot_builder_finish(builder, 0);
}

static const char *limit_check(const struct decide_fixture *f)
{
	for (size_t i = 0; i < f->decision.n_findings; i++) {
		const char *name = check_table[f->decision.findings[i].check].name;

		if (strncmp(name, "memory-limit-", 13) == 0)
			return name;
	}
	return NULL;
}

static int64_t final_request(const struct decide_fixture *f)
{
	for (size_t i = 0; i < f->decision.n_sizes; i++)
		if (f->decision.sizes[i].resource == K8S_MEMORY && f->decision.sizes[i].field == SIZE_REQUEST)
			return f->decision.sizes[i].to_bytes;
	return f->pod.containers[0].resources.requests[K8S_MEMORY].value;
}

static void check_row(const struct row *row)
{
	struct decide_fixture f;
	const char *cpu = row->is_guaranteed ? "\"cpu\":1," : "", *check;
	char pod[900];

	snprintf(pod, sizeof(pod),
		 "{\"metadata\":{\"generateName\":\"train-\",\"labels\":{\"memtamer.io/training\":\"true\"%s},"
		 "\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":\"train\",\"uid\":\"u\","
		 "\"controller\":true}]},\"spec\":{\"containers\":[{\"name\":\"main\",\"resources\":{\"requests\":{%s"
		 "\"memory\":\"%lldMi\"},\"limits\":{%s\"memory\":\"%lldMi\"}}}]}}",
		 row->is_queued ? ",\"kueue.x-k8s.io/queue-name\":\"q\"" : "", cpu, (long long)row->request, cpu,
		 (long long)row->limit);
	fixture_init(&f, pod, snapshot_of(row));
	f.policy.mode = row->mode ? row->mode : MODE_RAISE;
	fixture_decide(&f);
	check = limit_check(&f);
	if (fixture_final_limit(&f) != row->want_limit * MI || final_request(&f) != row->want_request * MI)
		fail_msg("%s: limit %lldMi, request %lldMi", row->name, (long long)(fixture_final_limit(&f) / MI),
			 (long long)(final_request(&f) / MI));
	if (strcmp(check ? check : "", row->check ? row->check : "") != 0)
		fail_msg("%s: finding %s", row->name, check ? check : "none");
	fixture_release(&f);
}

static const char below_peak[] = "memory-limit-below-peak", near_peak[] = "memory-limit-near-peak";

static void test_what_is_raised(void **state)
{
	static const struct row rows[] = {
		{"below the peak", 600, 500, 712, 500, .check = below_peak},
		{"just above the peak", 612, 500, 712, 500, .check = near_peak},
		{"near the peak", 620, 500, 712, 500, .check = near_peak},
		{"a tenth below", 640, 500, 712, 500, .check = near_peak},
		{"within sizing.changeThreshold", 641, 500, 641, 500, .check = NULL},
		{"almost the recommendation", 700, 500, 700, 500, .check = NULL},
		{"after a kill, at it", 512, 500, 1024, 500, .check = below_peak, .proven = 512},
		{"after a kill, above it", 768, 500, 1024, 500, .check = near_peak, .proven = 512},
		{"after a kill, however near", 1000, 500, 1024, 500, .check = near_peak, .proven = 512},
		{"after a kill, in mode enforce", 768, 500, 1024, 500, .check = near_peak, .proven = 512,
		 .mode = MODE_ENFORCE},
		{"after a kill, in mode fill", 768, 500, 768, 500, .check = near_peak, .proven = 512,
		 .mode = MODE_FILL},
		{"request just below the median", 712, 460, 712, 460, .check = NULL},
		{"request a tenth below the median", 712, 449, 712, 500, .check = NULL},
		{"Guaranteed moves both", 640, 640, 712, 712, .check = near_peak, .is_guaranteed = true},
		{"Guaranteed within sizing.changeThreshold", 700, 700, 700, 700, .check = NULL, .is_guaranteed = true},
		{"the pin is stronger", 650, 500, 650, 500, .check = NULL, .pin = 650},
		{"the ceiling is stronger", 620, 500, 650, 500, .check = near_peak, .proven = 512, .ceiling = 650},
		{"at the ceiling", 650, 500, 650, 500, .check = NULL, .proven = 512, .ceiling = 650},
		{"a queue's limit beside its request", 620, 500, 712, 500, .check = near_peak, .is_queued = true},
		{"the pin is stronger than a kill", 512, 500, 512, 500, .check = below_peak, .proven = 512, .pin = 512},
		{"modeCap is stronger than a kill", 512, 500, 512, 500, .check = below_peak, .proven = 512,
		 .cap = "fill"},
		{"a queue is stronger than a kill", 512, 512, 512, 512, .check = below_peak, .proven = 512,
		 .is_queued = true, .is_guaranteed = true},
		{"a quota is stronger than a kill", 512, 500, 800, 500, .check = below_peak, .proven = 512,
		 .quota = 800},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check_row(&rows[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_what_is_raised)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
