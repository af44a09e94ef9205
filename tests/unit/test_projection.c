/* SPDX-License-Identifier: Apache-2.0 */
#include "support/project.h"
#include "support/test.h"

#include "base/io.h"
#include "base/limits.h"
#include "k8s/review.h"
#include "base/json_scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What does not project is refused on the way to a pod, in the same words. */
static void check_refusal(const char *text, size_t n, int expected, const char *message)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(8 * MIB);
	struct err err = ERR_INIT;
	struct review review;
	struct k8s_pod pod;

	assert_int_equal(review_read_pod(text, n, &arena, &review, &pod, &err), expected);
	assert_string_equal(err.msg, message);
}

/* The pass never reads beyond the n bytes it was given: a copy of exact size shows it under AddressSanitizer. */
static int project_exact(const char *text, size_t n, struct strbuf *out, struct err *err)
{
	char *copy = malloc(n ? n : 1);
	int r;

	assert_non_null(copy);
	memcpy(copy, text, n);
	r = project_review(copy, n, out, err);
	if (r)
		check_refusal(copy, n, r, err->msg);
	free(copy);
	return r;
}

/* Rows are written with single quotes and without the envelope where that says nothing. */
static size_t unquote(const char *text, char *ret, size_t size)
{
	size_t n = strlen(text);

	assert_true(n < size);
	for (size_t i = 0; i <= n; i++)
		ret[i] = text[i] == '\'' ? '"' : text[i];
	return n;
}

#define POD(object)  "{'request':{'object':" object "}}"
#define META(labels) POD("{'metadata':{'labels':" labels "}}")

static void projection_keeps_what_is_listed(void **state)
{
	static const struct {
		const char *name, *text, *expected;
	} rows[] = {
		{"nothing listed", "{'a':1,'b':{'c':[1,{'d':2}]}}", "{}"},
		{"white space", " {\n\t'request' : { 'uid' :\r'u' , 'x' : [ 1 , 2 ] } }\n ", "{'request':{'uid':'u'}}"},
		{"managedFields, status, tolerations",
		 POD("{'metadata':{'name':'n','managedFields':[{'a':{}}]},'spec':{'tolerations':[{}]},'status':{}}"),
		 POD("{'metadata':{'name':'n'},'spec':{}}")},
		{"oldObject and options", "{'request':{'oldObject':{'metadata':{'name':'n'}},'options':{},'uid':'u'}}",
		 "{'request':{'uid':'u'}}"},
		{"user name only", "{'request':{'userInfo':{'username':'u','groups':['g'],'extra':{'a':['b']}}}}",
		 "{'request':{'userInfo':{'username':'u'}}}"},
		{"any label", META("{'a':'b','c/d':'e'}"), META("{'a':'b','c/d':'e'}")},
		{"labels called like dropped paths", META("{'managedFields':'x','status':'y','metadata':'z'}"),
		 META("{'managedFields':'x','status':'y','metadata':'z'}")},
		{"kubectl's annotation, the map stays",
		 POD("{'metadata':{'annotations':{'kubectl.kubernetes.io/last-applied-configuration':'{}'}}}"),
		 POD("{'metadata':{'annotations':{}}}")},
		{"array indexes",
		 POD("{'spec':{'containers':[{'name':'a'},{'lifecycle':{}},{'name':'c','ports':[]}]}}"),
		 POD("{'spec':{'containers':[{'name':'a'},{},{'name':'c'}]}}")},
		{"environment",
		 POD("{'spec':{'containers':[{'env':[{'name':'HOME','value':'/"
		     "'},{'name':'RAY_USAGE_STATS_EXTRA_TAGS','value':'8'},"
		     "{'value':'late','name':'HOME'},{'value':'x'}]}]}}"),
		 POD("{'spec':{'containers':[{'env':[null,{'name':'RAY_USAGE_STATS_EXTRA_TAGS','value':'8'},null,{'"
		     "value':'x'}]}]}}")},
		{"presence of volumes",
		 POD("{'spec':{'volumes':[{'name':'a','emptyDir':{}},{'persistentVolumeClaim':{'claimName':'c'}}]}}"),
		 POD("{'spec':{'volumes':[{'name':'a','emptyDir':{}},{}]}}")},
		{"null members are absent", "{'request':{'uid':'u','object':null,'name':null}}",
		 "{'request':{'uid':'u'}}"},
		{"an escaped key is the key", POD("{'met\\u0061data':{'n\\u0061me':'n'}}"),
		 POD("{'metadata':{'name':'n'}}")},
		{"escapes", META("{'a\\n\\\\\\u00e9':'\\ud83d\\ude00\\t\\/'}"),
		 META("{'a\\n\\\\\xc3\xa9':'\xf0\x9f\x98\x80\\t/'}")},
		{"half a surrogate pair", META("{'a':'\\ud800','b':'\\udc00\\u0041','c':'\\ud800\\u0041'}"),
		 META("{'a':'\xef\xbf\xbd','b':'\xef\xbf\xbd"
		      "A','c':'\xef\xbf\xbd"
		      "A'}")},
		{"numbers as written",
		 POD("{'spec':{'containers':[{'resources':{'limits':{'memory':99999999999999999999999,"
		     "'cpu':-1.5e+400,'x':0}}}]}}"),
		 POD("{'spec':{'containers':[{'resources':{'limits':{'memory':99999999999999999999999,"
		     "'cpu':-1.5e+400,'x':0}}}]}}")},
		{"wrong types keep their type",
		 POD("{'metadata':7,'spec':{'containers':{'a':{'b':1}},'volumes':[1,'x',true]}}"),
		 POD("{'metadata':7,'spec':{'containers':{},'volumes':[1,'x',true]}}")},
		{"an object for a text", "{'request':{'uid':{'a':'b'}}}", "{'request':{'uid':{}}}"},
		{"a whole body of another type", "'x'", "'x'"},
		{"duplicates where nothing is listed", "{'request':{'x':1,'x':2,'options':{'a':1,'a':2},'uid':'u'}}",
		 "{'request':{'uid':'u'}}"},
		{"NUL in a key that is not listed", "{'request':{'uid\\u0000x':1,'uid':'u'}}",
		 "{'request':{'uid':'u'}}"},
		{"quotes and brackets in dropped strings",
		 "{'request':{'options':{'a':'}]\\\\','b':['\\'{',{'c':'\\\\'}]},'uid':'u'}}",
		 "{'request':{'uid':'u'}}"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(64 * KIB);
		char text[2048], expected[2048];
		struct err err = ERR_INIT;
		size_t n = unquote(rows[i].text, text, sizeof(text));

		test_row(rows[i].name);
		unquote(rows[i].expected, expected, sizeof(expected));
		if (project_exact(text, n, &out, &err))
			fail_msg("%s", err.msg);
		assert_string_equal(strbuf_text(&out), expected);
		/* What is left projects to itself. */
		memcpy(expected, strbuf_text(&out), out.len + 1);
		assert_int_equal(project_exact(expected, out.len, &out, &err), 0);
		assert_string_equal(strbuf_text(&out), expected);
	}
}

/* Dropped values of every length around the 64 bytes that are looked at together, with escapes at every place. */
static void projection_skips_blocks(void **state)
{
	static const char *const pieces[] = {"a", "\\\"", "\\\\", "}", "[", ","};

	(void)state;
	for (size_t piece = 0; piece < ARRAY_LEN(pieces); piece++)
		for (size_t n = 0; n < 200; n++) {
			CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(KIB), out = STRBUF_INIT(KIB);
			struct err err = ERR_INIT;

			strbuf_adds(&text, "{\"request\":{\"options\":[{\"k\":\"");
			for (size_t i = 0; i < n; i++)
				strbuf_addc(&text, 'x');
			strbuf_adds(&text, pieces[piece]);
			strbuf_adds(&text, pieces[piece]);
			strbuf_adds(&text, "\",\"l\":[{},[]]}],\"uid\":\"u\"}}");
			if (project_exact(text.text, text.len, &out, &err))
				fail_msg("%s: %s", err.msg, text.text);
			assert_string_equal(strbuf_text(&out), "{\"request\":{\"uid\":\"u\"}}");
		}
}

static void projection_refuses(void **state)
{
	static const struct {
		const char *name, *text;
		size_t at; /* byte */
	} rows[] = {
		{"empty", "", 0},
		{"blank", "  ", 2},
		{"byte order mark", "\xef\xbb\xbf{}", 0},
		{"trailing garbage", "{} x", 3},
		{"two values", "{}{}", 2},
		{"duplicate", "{'request':{'uid':'a','uid':'b'}}", 22},
		{"duplicate, escaped", "{'request':{'uid':'a','u\\u0069d':'b'}}", 22},
		{"duplicate after null", "{'request':{'uid':null,'uid':'b'}}", 23},
		{"duplicate object", "{'request':{},'request':{}}", 14},
		{"duplicate label", META("{'a':'b','a':'c'}"), 52},
		{"duplicate label, escaped", META("{'a':'b','\\u0061':'c'}"), 52},
		{"duplicate resource",
		 POD("{'spec':{'containers':[{'resources':{'limits':{'memory':1,'memory':2}}}]}}"), 79},
		{"NUL in a label's key", META("{'a\\u0000b':'c'}"), 44},
		{"NUL in a label's value", META("{'a':'\\u0000'}"), 48},
		{"NUL in a value", "{'request':{'uid':'a\\u0000b'}}", 18},
		{"control character", "{'request':{'uid':'a\nb'}}", 20},
		{"control character in a dropped string", "{'options':{'a':'b\nc'}}", 18},
		{"control character in a dropped key", "{'options':{'a\tb':1}}", 14},
		{"unknown escape", "{'request':{'uid':'\\x'}}", 19},
		{"bad \\u escape", "{'request':{'uid':'\\u12g4'}}", 19},
		{"invalid UTF-8", "{'request':{'uid':'\xff'}}", 19},
		{"too long UTF-8", "{'request':{'uid':'\xc0\xaf'}}", 19},
		{"too long UTF-8 of three", "{'request':{'uid':'\xe0\x80\xaf'}}", 19},
		{"surrogate in UTF-8", "{'request':{'uid':'\xed\xa0\x80'}}", 19},
		{"beyond Unicode", "{'request':{'uid':'\xf4\x90\x80\x80'}}", 19},
		{"cut UTF-8", "{'request':{'uid':'\xe2\x82'}}", 19},
		{"NaN", "{'request':{'dryRun':NaN}}", 21},
		{"Infinity", "{'request':{'dryRun':-Infinity}}", 21},
		{"leading zero", "{'request':{'dryRun':01}}", 21},
		{"bare point", "{'request':{'dryRun':1.}}", 21},
		{"bare exponent", "{'request':{'dryRun':1e}}", 21},
		{"capital", "{'request':{'dryRun':True}}", 21},
		{"longer word", "{'request':{'dryRun':truely}}", 25},
		{"comment", "{/**/}", 1},
		{"trailing comma", "{'request':{'uid':'u',}}", 22},
		{"missing comma", "{'request':{'uid':'u' 'name':'n'}}", 22},
		{"missing colon", "{'request' {}}", 11},
		{"key is a number", "{1:2}", 1},
		{"trailing comma in an array", POD("{'spec':{'containers':[{},]}}"), 47},
		{"wrong bracket", POD("{'spec':{'containers':[{}}}}"), 46},
		{"raw NUL byte at the end", "{}\0", 2},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(64 * KIB);
		char text[1024], place[32];
		struct err err = ERR_INIT;
		size_t n = unquote(rows[i].text, text, sizeof(text));

		test_row(rows[i].name);
		if (strstarts(rows[i].name, "raw NUL"))
			n++;
		assert_int_equal(project_exact(text, n, &out, &err), -EINVAL);
		snprintf(place, sizeof(place), "byte %zu", rows[i].at);
		if (!strstr(err.msg, place))
			fail_msg("%s, expected %s", err.msg, place);
	}
}

static void projection_truncated_at_every_byte(void **state)
{
	static const char text[] =
		"{\"apiVersion\":\"v1\",\"x\":{\"y\":[1,{\"z\":\"\\\"\"}]},\"request\":{\"uid\":\"u\\u00e9\","
		"\"dryRun\":false,\"object\":{\"spec\":{\"containers\":[{\"name\":\"\xc3\xa9\","
		"\"tty\":true,\"resources\":{\"limits\":{\"cpu\":1.5e3}}}]}}}}";

	(void)state;
	for (size_t n = 0; n < sizeof(text) - 1; n++) {
		CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(KIB);
		struct err err = ERR_INIT;

		if (project_exact(text, n, &out, &err) != -EINVAL)
			fail_msg("%zu bytes pass: %.*s", n, (int)n, text);
	}
	{
		CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(KIB);
		struct err err = ERR_INIT;

		assert_int_equal(project_exact(text, sizeof(text) - 1, &out, &err), 0);
	}
}

/* head, `n` times unit, tail */
static void check_large(const char *name, const char *head, const char *unit, size_t n, const char *tail, int expected)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(8 * MIB), out = STRBUF_INIT(PROJECTED_BYTES);
	struct err err = ERR_INIT;

	test_row(name);
	strbuf_adds(&text, head);
	for (size_t i = 0; i < n; i++)
		strbuf_adds(&text, unit);
	strbuf_adds(&text, tail);
	assert_int_equal(text.status, 0);
	if (project_review(text.text, text.len, &out, &err) != expected)
		fail_msg("%s: %s", name, err.msg);
}

#define DROPPED "{\"options\":"
#define LABELS	"{\"request\":{\"object\":{\"metadata\":{\"labels\":{\"\":\"\""
#define ARGS	"{\"request\":{\"object\":{\"spec\":{\"containers\":[{\"args\":["

static void projection_is_bounded(void **state)
{
	(void)state;
	check_large("100k [, dropped", DROPPED, "[", 100000, "", -E2BIG);
	check_large("100k [, whole body", "", "[", 100000, "", -E2BIG);
	check_large("100k [, listed", ARGS, "[", 100000, "", -E2BIG);
	check_large("100k {\"a\":", "", "{\"a\":", 100000, "", -E2BIG);
	check_large("deepest that passes, dropped", DROPPED, "[", LIMIT_REVIEW_DEPTH - 1, "", -EINVAL); /* ends early */
	check_large("one deeper", DROPPED, "[", LIMIT_REVIEW_DEPTH, "", -E2BIG);
	check_large("deepest that passes, listed", "", "[", LIMIT_REVIEW_DEPTH, "", -EINVAL);
	check_large("one deeper, listed", "", "[", LIMIT_REVIEW_DEPTH + 1, "", -E2BIG);
	check_large("3 MiB of {}, dropped", DROPPED "[{}", ",{}", MIB, "]}", -E2BIG);
	check_large("1 MiB of {}, dropped", DROPPED "[{}", ",{}", MIB / 3, "]}", 0);
	check_large("3 MiB of {}, listed", ARGS "{}", ",{}", MIB, "]}]}}}}", -E2BIG);
	check_large("3 MiB of [], listed", ARGS "[]", ",[]", MIB, "]}]}}}}", -E2BIG);
	check_large("3 MiB of 1, listed", ARGS "1", ",1", MIB, "]}]}}}}", -E2BIG);
	check_large("3 MiB string, dropped", DROPPED "\"", "abc", MIB, "\"}", 0);
	check_large("4 MiB of escapes, dropped", DROPPED "[\"", "\\\\\\\"", MIB, "\"]}", 0);
	check_large("4 MiB of escapes, one odd", DROPPED "[\"\\", "\\\\\\\"", MIB, "\"]}", -EINVAL);
	check_large("3 MiB string, listed", ARGS "\"", "abc", MIB, "\"]}]}}}}", -E2BIG);
	check_large("3 MiB number, listed", ARGS "1", "234", MIB, "]}]}}}}", -E2BIG);
	check_large("one label 100k times", LABELS, ",\"a\":\"b\"", 100000, "}}}}}", -EINVAL);
}

/* Many labels are told apart, and the one that comes again is found among them. */
static void projection_many_labels(void **state)
{
	for (int again = 0; again < 2; again++) {
		CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(MIB), out = STRBUF_INIT(PROJECTED_BYTES);
		struct err err = ERR_INIT;

		strbuf_adds(&text, "{\"request\":{\"object\":{\"metadata\":{\"labels\":{\"\":\"\"");
		for (int i = 0; i < 5000; i++)
			strbuf_addf(&text, ",\"k%d\":\"v\"", i);
		if (again)
			strbuf_adds(&text, ",\"k3\\u0031\":\"v\"");
		strbuf_adds(&text, "}}}}}");
		assert_int_equal(project_review(text.text, text.len, &out, &err), again ? -EINVAL : 0);
	}
	(void)state;
}

static void read_file(const char *name, struct strbuf *buf)
{
	char path[512];
	struct err err = ERR_INIT;

	snprintf(path, sizeof(path), "%s/support/data/%s", TEST_SOURCE_DIR, name);
	if (io_read_file(path, buf, &err))
		fail_msg("%s", err.msg);
}

/* Pods compare by what decoding makes of them. */
static void assert_same_pod(const struct k8s_pod *a, const struct k8s_pod *b)
{
	assert_string_equal(a->name, b->name);
	assert_int_equal(a->labels.n, b->labels.n);
	assert_int_equal(a->annotations.n, b->annotations.n);
	assert_int_equal(a->n_owners, b->n_owners);
	assert_int_equal(a->n_volumes, b->n_volumes);
	assert_int_equal(a->n_containers, b->n_containers);
	for (size_t i = 0; i < a->n_containers; i++) {
		const struct k8s_container *x = &a->containers[i], *y = &b->containers[i];

		assert_string_equal(x->name, y->name);
		assert_string_equal(x->image, y->image);
		assert_int_equal(x->n_args, y->n_args);
		assert_string_equal(x->ray_tags, y->ray_tags);
		assert_string_equal(x->restart_policy, y->restart_policy);
		assert_int_equal(x->has_restart_rule, y->has_restart_rule);
		assert_int_equal(x->n_mounts, y->n_mounts);
		assert_int_equal(x->resources.n_extended, y->resources.n_extended);
		for (int r = 0; r < K8S_RESOURCE_COUNT_; r++)
			assert_int_equal(x->resources.limits[r].value, y->resources.limits[r].value);
	}
}

static void pod_by_json(const struct strbuf *text, struct arena *arena, struct k8s_pod *ret)
{
	CLEANUP(json_putp) struct json_object *tree = NULL;
	struct err err = ERR_INIT;

	assert_int_equal(json_parse(text->text, text->len, LIMIT_REVIEW_DEPTH, &tree, &err), 0);
	assert_int_equal(k8s_pod_decode(json_member(json_member(tree, "request"), "object"), arena, ret, &err), 0);
}

/* The review of a real training pod: straight to a pod, by projection and json-c, and by json-c alone. */
static void projection_of_a_real_review(void **state)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT(MIB);
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(PROJECTED_BYTES);
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(MIB);
	struct review review;
	struct k8s_pod direct, projected, full;
	struct err err = ERR_INIT;
	(void)state;
	read_file("review-11k.json", &text);
	assert_true(text.len > 11000 && text.len < 13000);
	if (review_read_pod(text.text, text.len, &arena, &review, &direct, &err))
		fail_msg("%s", err.msg);
	assert_string_equal(review.uid, "705ab4f5-6393-11e8-b7cc-42010a800002");
	assert_string_equal(review.user, "system:serviceaccount:kubeflow:training-operator");
	assert_string_equal(k8s_pod_controller(&direct)->kind, "PyTorchJob");
	assert_int_equal(direct.containers[0].resources.limits[K8S_MEMORY].value, (int64_t)192 << 30);

	assert_int_equal(project_review(text.text, text.len, &out, &err), 0);
	assert_true(out.len < text.len / 3);
	pod_by_json(&out, &arena, &projected);
	assert_same_pod(&direct, &projected);
	pod_by_json(&text, &arena, &full);
	assert_same_pod(&direct, &full);
}

static void review_read_pod_rows(void **state)
{
#define ENVELOPE(rest) "{'apiVersion':'admission.k8s.io/v1','request':{'uid':'u'" rest "}}"
#define IS_POD	       ",'kind':{'group':'','version':'v1','kind':'Pod'}"
	static const struct {
		const char *name, *text;
		int r;
		const char *uid, *where;
	} rows[] = {
		{"pod", ENVELOPE(IS_POD ",'object':{'spec':{'containers':[{'name':'a'}]}}"), 0, "u", ""},
		{"delete", ENVELOPE(IS_POD ",'object':null"), REVIEW_NO_POD, "u", ""},
		{"another kind", ENVELOPE(",'kind':{'group':'batch','kind':'Job'},'object':{}"), REVIEW_NO_POD, "u",
		 ""},
		{"a Pod of another group", ENVELOPE(",'kind':{'group':'x.io','kind':'Pod'},'object':{}"), REVIEW_NO_POD,
		 "u", ""},
		{"a bad pod has a uid", ENVELOPE(IS_POD ",'object':{'spec':{'containers':[{'name':1}]}}"), -EINVAL, "u",
		 "request.object.spec.containers[0].name"},
		{"a broken body may have a uid", ENVELOPE(",'name':'a','name':'b'"), -EINVAL, "u", ""},
		{"no uid", "{'apiVersion':'admission.k8s.io/v1','request':{}}", -EINVAL, "", "request.uid"},
		{"broken before the uid", "{'request':{'name':'a','name':'b','uid':'u'}}", -EINVAL, "", ""},
		{"no review", "{'apiVersion':'v1','kind':'Pod'}", -EINVAL, "", "apiVersion"},
		{"no JSON", "hello", -EINVAL, "", ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(arena_release) struct arena arena = ARENA_INIT(MIB);
		struct err err = ERR_INIT;
		struct review review;
		struct k8s_pod pod;
		char text[1024];
		size_t n = unquote(rows[i].text, text, sizeof(text));

		test_row(rows[i].name);
		assert_int_equal(review_read_pod(text, n, &arena, &review, &pod, &err), rows[i].r);
		assert_string_equal(review.uid, rows[i].uid);
		assert_string_equal(err.where, rows[i].where);
	}
}

static void review_read_pod_has_a_cap(void **state)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(MIB);
	struct k8s_pod pod;
	size_t cap;
	int r = -1;

	(void)state;
	read_file("review-11k.json", &text);
	for (cap = 0; cap < MIB && r; cap += 1024) {
		CLEANUP(arena_release) struct arena arena = ARENA_INIT(cap);
		struct err err = ERR_INIT;
		struct review review;

		r = review_read_pod(text.text, text.len, &arena, &review, &pod, &err);
		assert_true(r == 0 || r == -ENOMEM);
	}
	assert_int_equal(r, 0);
	assert_true(cap < 64 * KIB);
}

/* Vectors and words see the same. */
static void scan_vectors_and_words_agree(void **state)
{
	static const char alphabet[] = "\"\\{}[],:a \n\x1f\x20\x7f\x80\xff{;|~^_\x01";
	uint64_t x = 88172645463325252u;

	(void)state;
	for (int round = 0; round < 2000; round++) {
		struct scan_masks a, b;
		char block[SCAN_BLOCK];
		size_t n;

		for (size_t i = 0; i < sizeof(block); i++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			block[i] = round % 2 ? (char)x : alphabet[x % sizeof(alphabet)];
			if (round % 4 == 0 && x & 0x700)
				block[i] = 'x';
		}
		scan_block(block, &a);
		scan_block_portable(block, &b);
		assert_memory_equal(&a, &b, sizeof(a));
		for (size_t i = 0; i < SCAN_BLOCK; i++) {
			assert_int_equal(a.quote >> i & 1, block[i] == '"');
			assert_int_equal(a.backslash >> i & 1, block[i] == '\\');
			assert_int_equal(a.control >> i & 1, (unsigned char)block[i] < 0x20);
			assert_int_equal(a.open >> i & 1, block[i] == '{' || block[i] == '[');
			assert_int_equal(a.close >> i & 1, block[i] == '}' || block[i] == ']');
			assert_int_equal(a.comma >> i & 1, block[i] == ',');
		}
		n = (size_t)round % (SCAN_BLOCK + 1);
		assert_int_equal(scan_plain(block, n), scan_plain_portable(block, n));
		for (size_t i = 0; i < scan_plain(block, n); i++)
			assert_true(block[i] != '"' && block[i] != '\\' && (signed char)block[i] >= 0x20);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(projection_keeps_what_is_listed),
		cmocka_unit_test(projection_skips_blocks),
		cmocka_unit_test(projection_refuses),
		cmocka_unit_test(projection_truncated_at_every_byte),
		cmocka_unit_test(projection_is_bounded),
		cmocka_unit_test(projection_many_labels),
		cmocka_unit_test(projection_of_a_real_review),
		cmocka_unit_test(review_read_pod_rows),
		cmocka_unit_test(review_read_pod_has_a_cap),
		cmocka_unit_test(scan_vectors_and_words_agree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
