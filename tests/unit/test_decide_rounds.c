/* SPDX-License-Identifier: Apache-2.0 */
/* What the annotation says after a later round of a pod's admission, in which memtamer raises the limit from 600Mi to
 * 712Mi: the first value before, what stays of earlier rounds, and nothing that a copied or forged annotation claims.
 */
#include "decide_fixture.h"

#include "k8s/keys.h"
#include "policy/annotation.h"

#include <stdio.h>

#define ENTRY(c, r, f, from, to, rule)                                                                                 \
	"{\"c\":\"" c "\",\"r\":\"" r "\",\"f\":\"" f "\"" from ",\"to\":\"" to "\",\"rule\":\"" rule "\"}"
#define FROM(value)	  ",\"from\":\"" value "\""
#define LIMIT(from, to)	  ENTRY("main", "memory", "limit", from, to, "peak+buffer")
#define REQUEST(from, to) ENTRY("main", "memory", "request", from, to, "median")
/* Added by us, and changed by another webhook since. */
#define CHANGED LIMIT("", "700Mi")
#define OURS	"u"
#define RAISED	"limit 600>712 peak+buffer;"
#define LONG	"0123456789abcdefghijklmnopqrstuvwxyz"

static const struct recommendation rec = {.runs = 9,
					  .whole_runs = 9,
					  .confidence = CONFIDENCE_HIGH,
					  .median_bytes = 500 * MI,
					  .p95_bytes = 600 * MI,
					  .peak_bytes = 611 * MI,
					  .request_bytes = 500 * MI,
					  .limit_bytes = 712 * MI,
					  .buffer_permille = 160};

struct row {
	const char *name, *of; /* NULL: absent, as older versions wrote it */
	const char *set, *after;
};

/* "request none>500 median;limit 600>712 peak+buffer;" in Mi; other resources by name. */
static void print_set(const struct decision *decision, char *ret, size_t size)
{
	size_t n = 0;

	*ret = '\0';
	for (size_t i = 0; i < decision->n_set; i++) {
		const struct size_change *one = &decision->set[i];
		char from[32] = "none";

		if (one->has_from)
			snprintf(from, sizeof(from), "%lld", (long long)(one->from_bytes / MI));
		n += (size_t)snprintf(ret + n, size - n, "%s%s %s>%lld %s;", one->resource == K8S_MEMORY ? "" : "disk ",
				      one->field == SIZE_LIMIT ? "limit" : "request", from,
				      (long long)(one->to_bytes / MI), one->rule);
		assert_true(n < size);
	}
}

/* What is written can be read again, whatever an annotation before had in its texts. */
static void check_written(struct decide_fixture *f, size_t n)
{
	CLEANUP(strbuf_release) struct strbuf patch = STRBUF_INIT(MIB);
	struct json_object *ops, *last;
	struct annotation_set set;

	assert_int_equal(render_patch(&f->input, &f->decision, &f->arena, &patch), 0);
	assert_int_equal(json_parse(strbuf_text(&patch), patch.len, 32, &ops, NULL), 0);
	last = json_object_array_get_idx(ops, json_object_array_length(ops) - 1);
	assert_int_equal(annotation_parse(json_object_get_string(json_member(last, "value")), &f->arena, &set), 0);
	assert_true(set.is_whole);
	assert_int_equal(set.n, n);
	json_object_put(ops);
}

static void check_row(const struct row *row)
{
	CLEANUP(strbuf_release) struct strbuf pod = STRBUF_INIT(MIB), text = STRBUF_INIT(MIB);
	struct decide_fixture f;
	char after[600];

	strbuf_adds(&text, "{\"v\":1,");
	if (row->of)
		strbuf_addf(&text, "\"of\":\"%s\",", row->of);
	strbuf_addf(&text, "\"mode\":\"raise\",\"rev\":3,\"set\":[%s]}", row->set);
	strbuf_adds(&pod, "{\"metadata\":{\"generateName\":\"train-\",\"labels\":{\"memtamer.io/training\":\"true\"},"
			  "\"annotations\":{\"" KEY_DECISION "\":");
	strbuf_add_json_string(&pod, strbuf_text(&text));
	strbuf_adds(&pod, "},\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":\"train\","
			  "\"uid\":\"" OURS "\",\"controller\":true}]},\"spec\":{\"containers\":[{\"name\":\"main\","
			  "\"resources\":{\"requests\":{\"memory\":\"500Mi\",\"ephemeral-storage\":\"1Gi\"},"
			  "\"limits\":{\"memory\":\"600Mi\"}}}]}}");
	fixture_init(&f, strbuf_text(&pod), fixture_snapshot(&rec, 0, false));
	fixture_decide(&f);
	print_set(&f.decision, after, sizeof(after));
	if (strcmp(after, row->after) != 0)
		fail_msg("%s: %s", row->name, after);
	check_written(&f, f.decision.n_set);
	fixture_release(&f);
}

static void test_what_stays_of_an_earlier_round(void **state)
{
	static const struct row rows[] = {
		{"a first round", OURS, "", RAISED},
		{"another webhook has changed what was added", OURS, LIMIT("", "700Mi"), "limit none>712 peak+buffer;"},
		{"the value before the first round counts", OURS, LIMIT(FROM("300Mi"), "700Mi"),
		 "limit 300>712 peak+buffer;"},
		{"what is not set again stays", OURS, REQUEST("", "500Mi") "," CHANGED,
		 "request none>500 median;limit none>712 peak+buffer;"},
		{"also where another webhook has changed it", OURS, REQUEST(FROM("100Mi"), "450Mi"),
		 "request 100>450 replaced;" RAISED},
		{"also on disk", OURS,
		 ENTRY("main", "ephemeral-storage", "request", "", "1Gi", "no-history") "," CHANGED,
		 "limit none>712 peak+buffer;disk request none>1024 no-history;"},
		{"of two about one value the last", OURS, LIMIT(FROM("1Mi"), "700Mi") "," LIMIT(FROM("2Mi"), "700Mi"),
		 "limit 2>712 peak+buffer;"},
		{"a container that is not there", OURS, ENTRY("other", "memory", "limit", "", "1Gi", "oom"), RAISED},
		{"copied from another owner's pod", "v", REQUEST("", "500Mi") "," CHANGED, RAISED},
		{"without an owner only what the pod has", NULL, REQUEST(FROM("100Mi"), "500Mi") "," CHANGED,
		 "request 100>500 median;" RAISED},
		{"a text that is too long", OURS, ENTRY("main", "memory", "request", "", "500Mi", LONG) "," CHANGED,
		 "request none>500 0123456789abcdefghij...;limit none>712 peak+buffer;"},
		{"a text that would end the string", OURS,
		 ENTRY("main", "memory", "request", "", "500Mi", "\\\",\\\"x\\n") "," CHANGED,
		 "request none>500 \",\"x?;limit none>712 peak+buffer;"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check_row(&rows[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_what_stays_of_an_earlier_round)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
