/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "base/limits.h"
#include "evidence/prom_stream.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#define OK(result) "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[" result "]}}"

/* What arrived, as text: "{labels}time=value ...". */
struct seen {
	struct strbuf text;
};

static int on_series(void *context, struct json_object *labels, struct err *err)
{
	struct seen *seen = context;

	(void)err;
	return strbuf_addf(&seen->text, "%s", json_object_to_json_string_ext(labels, JSON_C_TO_STRING_PLAIN));
}

static int on_sample(void *context, int64_t time_ms, double value, struct err *err)
{
	struct seen *seen = context;

	(void)err;
	return strbuf_addf(&seen->text, " %" PRId64 "=%.15g", time_ms, value);
}

/* Feed the text in blocks of `block` bytes. Releases nothing. */
static int feed(struct prom_stream *stream, struct seen *seen, const char *text, size_t n, size_t block,
		struct err *err)
{
	struct prom_handler handler = {seen, on_series, on_sample};
	int r = 0;

	prom_stream_init(stream, &handler);
	for (size_t i = 0; i < n && !r; i += block)
		r = prom_stream_feed(stream, text + i, MIN(block, n - i), err);
	return r ? r : prom_stream_finish(stream, err);
}

struct row {
	const char *name, *text;
	int result;
	const char *seen; /* or a part of the error */
};

static const struct row rows[] = {
	{"instant vector", OK("{\"metric\":{\"pod\":\"a\"},\"value\":[1700000000.5,\"12\"]}"), 0,
	 "{\"pod\":\"a\"} 1700000000500=12"},
	{"matrix", OK("{\"metric\":{},\"values\":[[1,\"1\"],[2.25,\"2e3\"]]},{\"metric\":{\"a\":\"b\"},\"values\":[]}"),
	 0, "{} 1000=1 2250=2000{\"a\":\"b\"}"},
	{"no series", OK(""), 0, ""},
	{"blanks everywhere",
	 " { \"status\" : \"success\" ,\n\"data\" : { \"result\" : [ { \"metric\" : { \"a\" : \"b\" } , \"value\" : [ "
	 "1 , "
	 "\"2\" ] } ] } } \n",
	 0, "{\"a\":\"b\"} 1000=2"},
	{"exponents and signs", OK("{\"metric\":{},\"values\":[[1e3,\"-1.5E+3\"],[1.7e9,\"0.25e-2\"]]}"), 0,
	 "{} 1000000=-1500 1700000000000=0.0025"},
	{"not a number and infinities",
	 OK("{\"metric\":{},\"values\":[[1,\"NaN\"],[2,\"+Inf\"],[3,\"-Inf\"],[4,\"Inf\"]]}"), 0,
	 "{} 1000=nan 2000=inf 3000=-inf 4000=inf"},
	{"unknown members are passed over",
	 "{\"infos\":[\"x\",{\"y\":[[]]}],\"status\":\"success\",\"isPartial\":false,\"data\":{\"stats\":{\"a\":{\"b\":"
	 "null}},"
	 "\"resultType\":\"vector\",\"result\":[{\"new\":[1,2],\"metric\":{\"a\":\"b\"},\"histogram\":[1,{\"count\":"
	 "\"2\"}],"
	 "\"value\":[1,\"2\"],\"exemplars\":[[3,\"4\"]]}]}}",
	 0, "{\"a\":\"b\"} 1000=2"},
	{"escapes and brackets inside labels", OK("{\"metric\":{\"a\":\"}]\\\"\\\\\\u00e9{\"},\"value\":[1,\"2\"]}"), 0,
	 "{\"a\":\"}]\\\"\\\\\303\251{\"} 1000=2"},
	{"the same series twice",
	 OK("{\"metric\":{\"a\":\"b\"},\"value\":[1,\"2\"]},{\"metric\":{\"a\":\"b\"},\"value\":[1,\"3\"]}"), 0,
	 "{\"a\":\"b\"} 1000=2{\"a\":\"b\"} 1000=3"},
	{"nothing", "", -EPROTO, "empty"},
	{"a page", "<html><body>Bad Gateway</body></html>", -EPROTO, "not a JSON object"},
	{"an array", "[]", -EPROTO, "not a JSON object"},
	{"behind the end", OK("") "x", -EPROTO, "text behind"},
	{"two answers", OK("") OK(""), -EPROTO, "text behind"},
	{"no status", "{\"data\":{\"result\":[]}}", -EPROTO, "no status"},
	{"an unknown status", "{\"status\":\"maybe\"}", -EPROTO, "unknown status"},
	{"no result", "{\"status\":\"success\",\"data\":{}}", -EPROTO, "without a result"},
	{"result twice", "{\"status\":\"success\",\"data\":{\"result\":[],\"result\":[]}}", -EPROTO, "second array"},
	{"labels twice", OK("{\"metric\":{},\"metric\":{},\"value\":[1,\"2\"]}"), -EPROTO, "twice"},
	{"values before their labels", OK("{\"value\":[1,\"2\"],\"metric\":{}}"), -EPROTO, "before their labels"},
	{"a series without labels", OK("{}"), -EPROTO, "without labels"},
	{"labels within labels", OK("{\"metric\":{\"a\":{\"b\":\"c\"}},\"value\":[1,\"2\"]}"), -EPROTO, "flat object"},
	{"a scalar", "{\"status\":\"success\",\"data\":{\"resultType\":\"scalar\",\"result\":[1,\"2\"]}}", -EPROTO,
	 "expected an object"},
	{"a sample of one", OK("{\"metric\":{},\"value\":[1]}"), -EPROTO, "no pair"},
	{"a sample of three", OK("{\"metric\":{},\"value\":[1,\"2\",3]}"), -EPROTO, "no pair"},
	{"a sample the wrong way round", OK("{\"metric\":{},\"value\":[\"1\",2]}"), -EPROTO, "no pair"},
	{"a sample of null", OK("{\"metric\":{},\"value\":[1,null]}"), -EPROTO, "no pair"},
	{"a value that is text", OK("{\"metric\":{},\"value\":[1,\"2x\"]}"), -EPROTO, "no number"},
	{"a hexadecimal value", OK("{\"metric\":{},\"value\":[1,\"0x10\"]}"), -EPROTO, "no number"},
	{"an empty value", OK("{\"metric\":{},\"value\":[1,\"\"]}"), -EPROTO, "no number"},
	{"a bad escape", OK("{\"metric\":{\"a\":\"\\x\"},\"value\":[1,\"2\"]}"), -EPROTO, "flat object"},
	{"a control character", "{\"status\":\"succ\ness\"}", -EPROTO, "control character"},
	{"a comma too many", "{\"status\":\"success\",}", -EPROTO, "expected a string"},
	{"another escape outside of labels", "{\"status\":\"succ\\xess\"}", -EPROTO, "unknown escape"},
	{"status twice", "{\"status\":\"success\",\"status\":\"error\"}", -EPROTO, "duplicate key"},
	{"data twice", "{\"data\":{},\"status\":\"success\",\"data\":{\"result\":[]}}", -EPROTO, "duplicate key"},
	{"a result that is not in data", "{\"status\":\"success\",\"result\":[],\"x\":{\"result\":[]},\"data\":{}}",
	 -EPROTO, "without a result"},
	{"samples without a comma", OK("{\"metric\":{},\"values\":[[1,\"1\"][2,\"2\"]]}"), -EPROTO, "expected ']'"},
	{"series without a comma", OK("{\"metric\":{}}{\"metric\":{}}"), -EPROTO, "expected a comma"},
	{"brackets that do not match", "{\"x\":[}", -EPROTO, "do not match"},
};

static void answers_in_blocks_of_any_size(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		size_t n = strlen(rows[i].text);

		test_row(rows[i].name);
		for (size_t block = 1; block <= n + 1; block++) {
			struct seen seen = {.text = STRBUF_INIT(64 * KIB)};
			struct prom_stream stream;
			struct err err = ERR_INIT;

			assert_int_equal(feed(&stream, &seen, rows[i].text, n, block, &err), rows[i].result);
			if (rows[i].result)
				assert_non_null(strstr(err.msg, rows[i].seen));
			else
				assert_string_equal(strbuf_text(&seen.text), rows[i].seen);
			prom_stream_release(&stream);
			strbuf_release(&seen.text);
		}
	}
}

static void every_cut_is_noticed(void **state)
{
	const char *text = OK("{\"metric\":{\"a\":\"b\\u0041\"},\"values\":[[1.5,\"2\"],[2.5,\"NaN\"]]}");

	(void)state;
	for (size_t n = 0; n < strlen(text); n++) {
		struct seen seen = {.text = STRBUF_INIT(64 * KIB)};
		struct prom_stream stream;
		struct err err = ERR_INIT;

		assert_int_equal(feed(&stream, &seen, text, n, 7, &err), -EPROTO);
		prom_stream_release(&stream);
		strbuf_release(&seen.text);
	}
}

static void errors_and_warnings_are_told(void **state)
{
	static const char text[] =
		"{\"status\":\"error\",\"errorType\":\"execution\",\"error\":\"too \\\"many\\\" samples\","
		"\"warnings\":[\"store a: \\u0041\",\"store b\"],\"data\":null}";
	struct seen seen = {.text = STRBUF_INIT(64 * KIB)};
	struct prom_stream stream;
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(feed(&stream, &seen, text, strlen(text), 5, &err), 0);
	assert_int_equal(stream.status, PROM_STATUS_ERROR);
	assert_string_equal(strbuf_text(&stream.error_type), "execution");
	assert_string_equal(strbuf_text(&stream.error), "too \"many\" samples");
	assert_int_equal(stream.n_warnings, 2);
	assert_string_equal(strbuf_text(&stream.warnings), "store a: A\nstore b");
	prom_stream_release(&stream);
	strbuf_release(&seen.text);
}

static void caps_hold(void **state)
{
	static const char before[] = "{\"status\":\"success\",\"data\":{\"result\":[{\"metric\":{\"a\":\"";
	char *long_label = malloc(LIMIT_PROM_LABELSET_BYTES + 1);
	struct prom_handler none = {0};
	struct prom_stream stream;
	struct err err = ERR_INIT;
	int r;

	(void)state;
	assert_non_null(long_label);
	memset(long_label, 'x', LIMIT_PROM_LABELSET_BYTES);
	prom_stream_init(&stream, &none);
	assert_int_equal(prom_stream_feed(&stream, before, strlen(before), &err), 0);
	r = prom_stream_feed(&stream, long_label, LIMIT_PROM_LABELSET_BYTES, &err);
	r = r ? r : prom_stream_feed(&stream, "\"},\"value\":[1,\"1\"]}", 19, &err);
	assert_int_equal(r, -E2BIG);
	prom_stream_release(&stream);
	free(long_label);

	prom_stream_init(&stream, &none);
	r = prom_stream_feed(&stream, "{\"x\":", 5, &err);
	for (int i = 0; i < 100 && !r; i++)
		r = prom_stream_feed(&stream, "[", 1, &err);
	assert_int_equal(r, -E2BIG);
	assert_int_equal(prom_stream_feed(&stream, "]", 1, &err), -E2BIG); /* sticky */
	prom_stream_release(&stream);
}

static int stop(void *context, int64_t time_ms, double value, struct err *err)
{
	(void)context;
	(void)time_ms;
	(void)value;
	return err_set(err, 42, "enough");
}

static void a_callback_can_stop_it(void **state)
{
	static const char text[] = OK("{\"metric\":{},\"value\":[1,\"2\"]}");
	struct prom_handler handler = {.sample = stop};
	struct prom_stream stream;
	struct err err = ERR_INIT;

	(void)state;
	prom_stream_init(&stream, &handler);
	assert_int_equal(prom_stream_feed(&stream, text, strlen(text), &err), 42);
	assert_string_equal(err.msg, "enough");
	prom_stream_release(&stream);
}

static void memory_does_not_grow_with_series(void **state)
{
	static const char series[] = "{\"metric\":{\"pod\":\"a-long-enough-name\"},\"values\":[[1,\"2\"],[2,\"3\"]]},";
	struct prom_handler none = {0};
	struct prom_stream stream;
	struct err err = ERR_INIT;

	(void)state;
	prom_stream_init(&stream, &none);
	assert_int_equal(prom_stream_feed(&stream, "{\"status\":\"success\",\"data\":{\"result\":[", 38, &err), 0);
	for (int i = 0; i < 10000; i++)
		assert_int_equal(prom_stream_feed(&stream, series, strlen(series), &err), 0);
	assert_int_equal(prom_stream_feed(&stream, series, strlen(series) - 1, &err), 0);
	assert_int_equal(prom_stream_feed(&stream, "]}}", 3, &err), 0);
	assert_int_equal(prom_stream_finish(&stream, &err), 0);
	assert_int_equal(stream.n_series, 10001);
	assert_int_equal(stream.n_samples, 20002);
	assert_true(stream.split.item.capacity < 4096 && stream.split.envelope.capacity < 4096);
	prom_stream_release(&stream);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_in_blocks_of_any_size), cmocka_unit_test(every_cut_is_noticed),
		cmocka_unit_test(errors_and_warnings_are_told),	 cmocka_unit_test(caps_hold),
		cmocka_unit_test(a_callback_can_stop_it),	 cmocka_unit_test(memory_does_not_grow_with_series),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
