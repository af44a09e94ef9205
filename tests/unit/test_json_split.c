/* SPDX-License-Identifier: Apache-2.0 */
#include "support/cost.h"
#include "support/test.h"

#include "base/json_split.h"
#include "base/limits.h"

#include <errno.h>
#include <stdlib.h>

/* Items as text: "offset:item;", "offset:-;" for one over a cap. */
static int take_item(void *context, const struct json_item *item, struct err *err)
{
	struct strbuf *taken = context;

	(void)err;
	strbuf_addf(taken, "%zu:", item->from);
	if (item->text)
		strbuf_add(taken, item->text, item->n);
	else
		strbuf_addc(taken, '-');
	return strbuf_addc(taken, ';');
}

#define RULE(...)                                                                                                      \
	{                                                                                                              \
		.path = {__VA_ARGS__}, .max_item_bytes = 64, .max_item_depth = 4, .max_item_tokens = 8,                \
		.max_envelope_bytes = 256, .take_item = take_item                                                      \
	}
static const struct json_split_rule list = RULE("items"), answer = RULE("data", "result");

static int split(const struct json_split_rule *rule, const char *text, size_t n, size_t block, struct strbuf *taken,
		 struct strbuf *envelope, struct err *err)
{
	struct json_split self;
	int r = 0;

	strbuf_clear(taken);
	strbuf_clear(envelope);
	json_split_init(&self, rule, taken);
	for (size_t i = 0; i < n && !r; i += block) {
		/* A copy of exact size shows reads beyond it under AddressSanitizer. */
		char *copy = malloc(MIN(block, n - i));

		assert_non_null(copy);
		memcpy(copy, text + i, MIN(block, n - i));
		r = json_split_feed(&self, copy, MIN(block, n - i), err);
		free(copy);
	}
	if (!r)
		r = json_split_finish(&self, err);
	if (!r)
		strbuf_add(envelope, self.envelope.text, self.envelope.len);
	json_split_release(&self);
	return r;
}

struct row {
	const char *name;
	const struct json_split_rule *rule;
	const char *text; /* with single quotes */
	int code;
	const char *items, *rest; /* rest: the envelope, or the error */
};

static const struct row rows[] = {
	{"no items", &list, "{'items':[]}", 0, "", "{'items':[]}"},
	{"no array", &list, "{'kind':'List'}", 0, "", "{'kind':'List'}"},
	{"items", &list, "{'items':[{'a':1},{'b':[]}],'x':'y'}", 0, "10:{'a':1};18:{'b':[]};", "{'items':[],'x':'y'}"},
	{"white space", &list, " { 'items' :\n[ {} ,\t{ } ]\r} ", 0, "15:{};20:{ };", "{ 'items' :\n[]\r}"},
	{"an array for an array", &list, "{'a':[{'items':[{}]}],'b':{'items':[{}]}}", 0, "",
	 "{'a':[{'items':[{}]}],'b':{'items':[{}]}}"},
	{"the key as a value", &list, "{'a':'items','b':[{}]}", 0, "", "{'a':'items','b':[{}]}"},
	{"the key behind an object", &list, "{'items':{'a':[{}]},'b':[{}]}", 0, "", "{'items':{'a':[{}]},'b':[{}]}"},
	{"another key that ends alike", &list, "{'\\'items':[{}]}", 0, "", "{'\\'items':[{}]}"},
	{"quotes and brackets in strings", &list, "{'items':[{'a':'}]{\\'\\\\'},{}]}", 0,
	 "10:{'a':'}]{\\'\\\\'};26:{};", "{'items':[]}"},
	{"a path of two", &answer, "{'status':{},'data':{'a':[1],'result':[{}]}}", 0, "39:{};",
	 "{'status':{},'data':{'a':[1],'result':[]}}"},
	{"half of a path", &answer, "{'result':[{}],'x':{'result':[{}]},'data':{'y':{'result':[{}]}}}", 0, "",
	 "{'result':[{}],'x':{'result':[{}]},'data':{'y':{'result':[{}]}}}"},
	{"a path twice", &answer, "{'data':{'x':1},'data':{'result':[{}]}}", 0, "34:{};",
	 "{'data':{'x':1},'data':{'result':[]}}"},
	{"an array on the path", &answer, "{'data':[{'result':[{}]}]}", 0, "", "{'data':[{'result':[{}]}]}"},
	{"longest item", &list, "{'items':[{'a':'0123456789012345678901234567890123456789012345678901234'}]}", 0,
	 "10:{'a':'0123456789012345678901234567890123456789012345678901234'};", "{'items':[]}"},
	{"too long an item", &list,
	 "{'items':[{'a':'01234567890123456789012345678901234567890123456789012345678'},{}]}", 0, "10:-;78:{};",
	 "{'items':[]}"},
	{"deepest item", &list, "{'items':[{'a':[[[]]]},{}]}", 0, "10:{'a':[[[]]]};23:{};", "{'items':[]}"},
	{"too deep an item", &list, "{'items':[{'a':[[[[]]]]},{}]}", 0, "10:-;25:{};", "{'items':[]}"},
	{"too many tokens", &list, "{'items':[{'a':[1,2,3,4,5,6,7,8]},{}]}", 0, "10:-;34:{};", "{'items':[]}"},
	{"nothing", &list, "", -EINVAL, "", "the text is empty at byte 0"},
	{"white space alone", &list, "  ", -EINVAL, "", "JSON text ends early at byte 2"},
	{"an array", &list, "[]", -EINVAL, "", "not a JSON object at byte 0"},
	{"text", &list, " items", -EINVAL, "", "not a JSON object at byte 1"},
	{"cut between items", &list, "{'items':[{}", -EINVAL, "10:{};", "JSON text ends early at byte 12"},
	{"cut in an item", &list, "{'items':[{", -EINVAL, "", "JSON text ends early at byte 11"},
	{"cut behind items", &list, "{'items':[]", -EINVAL, "", "JSON text ends early at byte 11"},
	{"text behind", &list, "{'items':[]} x", -EINVAL, "", "text behind the JSON value at byte 13"},
	{"two objects", &list, "{}{}", -EINVAL, "", "text behind the JSON value at byte 2"},
	{"items twice", &list, "{'items':[{}],'items':[{}]}", -EINVAL, "10:{};", "a second array of items at byte 22"},
	{"a number among items", &list, "{'items':[{},1]}", -EINVAL, "10:{};", "expected an object at byte 13"},
	{"a comma at the end", &list, "{'items':[{},]}", -EINVAL, "10:{};", "expected an object at byte 13"},
	{"a comma at the start", &list, "{'items':[,{}]}", -EINVAL, "", "expected an object at byte 10"},
	{"no comma", &list, "{'items':[{}{}]}", -EINVAL, "10:{};",
	 "expected a comma or the end of the items at byte 12"},
	{"brackets of an item", &list, "{'items':[{},{'a':[}]}", -EINVAL, "10:{};", "brackets do not match at byte 19"},
	{"brackets of the envelope", &list, "{'a':[}", -EINVAL, "", "brackets do not match at byte 6"},
	{"control character in an item", &list, "{'items':[{'a':'\n'}]}", -EINVAL, "",
	 "control character in a string at byte 16"},
	{"control character in the envelope", &list, "{'a':'\n'}", -EINVAL, "",
	 "control character in a string at byte 6"},
};

static void unquote(const char *text, char *ret, size_t size)
{
	size_t n = strlen(text);

	assert_true(n < size);
	for (size_t i = 0; i <= n; i++)
		ret[i] = text[i] == '\'' ? '"' : text[i];
}

static void items_are_the_same_however_the_bytes_are_cut(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_release) struct strbuf taken = STRBUF_INIT(KIB), rest = STRBUF_INIT(KIB);
		char text[256], items[256], expected[256];
		size_t n;

		test_row(rows[i].name);
		unquote(rows[i].text, text, sizeof(text));
		unquote(rows[i].items, items, sizeof(items));
		unquote(rows[i].rest, expected, sizeof(expected));
		n = strlen(text);
		for (size_t block = 1; block <= n + 1; block++) {
			struct err err = ERR_INIT;

			assert_int_equal(split(rows[i].rule, text, n, block, &taken, &rest, &err), rows[i].code);
			assert_string_equal(strbuf_text(&taken), items);
			assert_string_equal(rows[i].code ? err.msg : strbuf_text(&rest), expected);
		}
	}
}

/* head, as often as fits into 64 KiB `unit`; the caps of the API server's lists. */
static void cost_is_linear_and_envelopes_are_capped(void **state)
{
	static const struct json_split_rule large = {.path = {"data", "result"},
						     .max_item_bytes = 16 * KIB,
						     .max_item_depth = 64,
						     .max_item_tokens = 100000,
						     .max_envelope_bytes = 256 * KIB,
						     .take_item = take_item};
	static const struct {
		const char *name, *head, *unit;
		size_t max_bytes;
		int code;
	} bodies[] = {
		{"empty items", "{\"data\":{\"result\":[{}", ",{}", 200 * KIB, -EINVAL},
		{"white space", "{\"data\":{\"result\":[{}", "  ", MIB, -EINVAL},
		{"an item without an end", "{\"data\":{\"result\":[{\"a\":\"", "abc", MIB, -EINVAL},
		{"brackets of an item", "{\"data\":{\"result\":[{\"a\":[", "[", MIB, -EINVAL},
		{"keys of the path", "{\"data\":{", "\"result\":1,", 200 * KIB, -EINVAL},
		{"paths", "{", "\"data\":{\"result\":{}},", 200 * KIB, -EINVAL},
		{"strings", "{", "\"data\",", 200 * KIB, -EINVAL},
		{"arrays behind a key", "{\"data\":{\"result\"", " [],", 200 * KIB, -EINVAL},
		{"a long envelope", "{\"x\":\"", "abc", MIB, -E2BIG},
		{"a deep envelope", "{\"x\":", "[", MIB, -E2BIG},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
		CLEANUP(strbuf_release)
		struct strbuf text = STRBUF_INIT(2 * MIB), taken = STRBUF_INIT(8 * MIB), rest = STRBUF_INIT(MIB);
		struct err err = ERR_INIT;

		test_row(bodies[i].name);
		strbuf_adds(&text, bodies[i].head);
		while (text.len < bodies[i].max_bytes)
			strbuf_adds(&text, bodies[i].unit);
		cost_begin();
		assert_int_equal(split(&large, text.text, text.len, 4 * KIB, &taken, &rest, &err), bodies[i].code);
		if (cost_steps() > COST_BYTE_STEPS * text.len)
			fail_msg("%llu steps for %zu bytes", (unsigned long long)cost_steps(), text.len);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(items_are_the_same_however_the_bytes_are_cut),
		cmocka_unit_test(cost_is_linear_and_envelopes_are_capped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
