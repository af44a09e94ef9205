/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/kube_status.h"

#include <stdio.h>
#include <string.h>

#define STATUS_DEPTH 32

const char *const kube_condition_names[KUBE_CONDITION_COUNT_] = {
	[KUBE_OK] = "ok",
	[KUBE_NOT_FOUND] = "not-found",
	[KUBE_ALREADY_EXISTS] = "already-exists",
	[KUBE_CONFLICT] = "conflict",
	[KUBE_EXPIRED] = "expired",
	[KUBE_UNAUTHORIZED] = "unauthorized",
	[KUBE_FORBIDDEN] = "forbidden",
	[KUBE_INVALID] = "invalid",
	[KUBE_TOO_LARGE] = "too-large",
	[KUBE_TOO_MANY] = "too-many-requests",
	[KUBE_TIMEOUT] = "timeout",
	[KUBE_UNAVAILABLE] = "unavailable",
	[KUBE_REFUSED] = "refused",
};

/* Reasons of Status objects. Of each status the first row is for answers without a known reason. */
static const struct {
	const char *reason;
	long status;
	enum kube_condition condition;
} rows[] = {
	{"BadRequest", 400, KUBE_INVALID},
	{"Unauthorized", 401, KUBE_UNAUTHORIZED},
	{"Forbidden", 403, KUBE_FORBIDDEN},
	{"NotFound", 404, KUBE_NOT_FOUND},
	{"Conflict", 409, KUBE_CONFLICT},
	{"AlreadyExists", 409, KUBE_ALREADY_EXISTS},
	{"Gone", 410, KUBE_EXPIRED},
	{"Expired", 410, KUBE_EXPIRED},
	{"RequestEntityTooLarge", 413, KUBE_TOO_LARGE},
	{"Invalid", 422, KUBE_INVALID},
	{"TooManyRequests", 429, KUBE_TOO_MANY},
	{"InternalError", 500, KUBE_UNAVAILABLE},
	{"ServerTimeout", 500, KUBE_TIMEOUT},
	{"ServiceUnavailable", 503, KUBE_UNAVAILABLE},
	{"Timeout", 504, KUBE_TIMEOUT},
};

static int condition_of(const char *reason, int64_t status)
{
	for (size_t i = 0; i < ARRAY_LEN(rows) && reason; i++)
		if (streq(rows[i].reason, reason))
			return (int)rows[i].condition;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (rows[i].status == status)
			return (int)rows[i].condition;
	return status >= 500 ? KUBE_UNAVAILABLE : KUBE_REFUSED;
}

void kube_status_line(const char *words, size_t n, char *line, size_t size)
{
	n = str_to_line((struct str){words, n}, line, size);
	while (n > 0 && line[n - 1] == ' ')
		n--;
	line[n] = '\0';
}

static int set_condition(int condition, const char *words, size_t n, struct err *err)
{
	char line[400];

	kube_status_line(words, n, line, sizeof(line));
	if (err) {
		err->code = condition;
		snprintf(err->msg, sizeof(err->msg), "%s%s%s", kube_condition_names[condition], *line ? ": " : "",
			 line);
	}
	return condition;
}

static bool read_status(struct json_object *object, const char **ret_reason, const char **ret_message,
			int64_t *ret_code)
{
	const char *kind = NULL;

	return !json_get_string(object, "", "kind", &kind, NULL) && streq(kind, "Status") &&
	       json_get_string(object, "", "reason", ret_reason, NULL) >= 0 &&
	       json_get_string(object, "", "message", ret_message, NULL) >= 0 &&
	       json_get_int64(object, "", "code", ret_code, NULL) >= 0;
}

int kube_status_of_object(struct json_object *object, struct err *err)
{
	const char *reason = NULL, *message = "no reason given";
	int64_t code = 0;

	if (!read_status(object, &reason, &message, &code))
		return set_condition(KUBE_REFUSED, "an error that is no Status", strlen("an error that is no Status"),
				     err);
	return set_condition(condition_of(reason, code), message, strlen(message), err);
}

int kube_status_of_http(long status, const char *body, size_t n, struct err *err)
{
	CLEANUP(json_putp) struct json_object *object = NULL;
	const char *reason = NULL, *message = NULL;
	int64_t code = 0;
	char words[48];

	/* a body that was cut, or that a proxy wrote, is not JSON: only the HTTP status is used */
	if (n && !json_parse(body, n, STATUS_DEPTH, &object, NULL) && read_status(object, &reason, &message, &code) &&
	    message)
		return set_condition(condition_of(reason, status), message, strlen(message), err);
	if (n)
		return set_condition(condition_of(NULL, status), body, n, err);
	snprintf(words, sizeof(words), "HTTP status %ld", status);
	return set_condition(condition_of(NULL, status), words, strlen(words), err);
}
