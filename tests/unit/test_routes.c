/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/routes.h"
#include "support/test.h"

#define REVIEW "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":{\"uid\":\"u-1\"}}"

static const struct http_server_route *route_of(const char *path)
{
	const struct http_server_route *route = serve_routes;

	while (route->path && !streq(route->path, path))
		route++;
	assert_non_null(route->path);
	return route;
}

static void a_request_without_answer_says_why(void **state)
{
	static const struct {
		const char *name, *path, *body;
		size_t max_answer_bytes;
		unsigned int status;
		const char *text;
	} rows[] = {
		{"no snapshot", "/mutate", REVIEW, 4096, 503, "no answer: there is no snapshot yet\n"},
		{"an answer that does not fit", "/probe", REVIEW, 64, 503, "no answer: the answer does not fit\n"},
		{"no review", "/probe", "{", 4096, 400, "JSON text ends early at byte 1\n"},
	};
	struct err err = ERR_INIT;
	struct serve serve;

	(void)state;
	assert_int_equal(serve_init(&serve, &err), 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct http_server_request request = {
			.path = rows[i].path, .body = rows[i].body, .body_bytes = strlen(rows[i].body)};
		struct http_server_response response = {.body = STRBUF_INIT(rows[i].max_answer_bytes)};

		test_row(rows[i].name);
		route_of(rows[i].path)->handle(&serve, &request, &response);
		assert_int_equal(response.status, rows[i].status);
		assert_string_equal(response.content_type, "text/plain; charset=utf-8");
		assert_string_equal(strbuf_text(&response.body), rows[i].text);
		strbuf_release(&response.body);
	}
	serve_release(&serve);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_without_answer_says_why),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
