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

/* The first row that fits. A row without reason is for answers that give none, or one that is not here. */
static const struct {
	const char *reason;
	long status;
	enum kube_condition condition;
} rows[] = {
	{"AlreadyExists", 0, KUBE_ALREADY_EXISTS},
	{"Conflict", 0, KUBE_CONFLICT},
	{"NotFound", 0, KUBE_NOT_FOUND},
	{"Expired", 0, KUBE_EXPIRED},
	{"Gone", 0, KUBE_EXPIRED},
	{"Unauthorized", 0, KUBE_UNAUTHORIZED},
	{"Forbidden", 0, KUBE_FORBIDDEN},
	{"Invalid", 0, KUBE_INVALID},
	{"BadRequest", 0, KUBE_INVALID},
	{"RequestEntityTooLarge", 0, KUBE_TOO_LARGE},
	{"TooManyRequests", 0, KUBE_TOO_MANY},
	{"Timeout", 0, KUBE_TIMEOUT},
	{"ServerTimeout", 0, KUBE_TIMEOUT},
	{"ServiceUnavailable", 0, KUBE_UNAVAILABLE},
	{"InternalError", 0, KUBE_UNAVAILABLE},
	{NULL, 400, KUBE_INVALID},
	{NULL, 401, KUBE_UNAUTHORIZED},
	{NULL, 403, KUBE_FORBIDDEN},
	{NULL, 404, KUBE_NOT_FOUND},
	{NULL, 409, KUBE_CONFLICT},
	{NULL, 410, KUBE_EXPIRED},
	{NULL, 413, KUBE_TOO_LARGE},
	{NULL, 422, KUBE_INVALID},
	{NULL, 429, KUBE_TOO_MANY},
	{NULL, 504, KUBE_TIMEOUT},
};

static int condition_of(const char *reason, int64_t status)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (rows[i].reason ? streq(rows[i].reason, reason) : rows[i].status == status)
			return (int)rows[i].condition;
	return status >= 500 ? KUBE_UNAVAILABLE : KUBE_REFUSED;
}

/* One printable line. */
static int tell(int condition, const char *words, size_t n, struct err *err)
{
	char line[400];

	n = MIN(n, sizeof(line) - 1);
	for (size_t i = 0; i < n; i++)
		line[i] = (unsigned char)words[i] < ' ' || words[i] == 0x7f ? ' ' : words[i];
	while (n > 0 && line[n - 1] == ' ')
		n--;
	line[n] = '\0';
	if (err) {
		err->code = condition;
		snprintf(err->msg, sizeof(err->msg), "%s%s%s", kube_condition_names[condition], n ? ": " : "", line);
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
		return tell(KUBE_REFUSED, "an error that is no Status", strlen("an error that is no Status"), err);
	return tell(condition_of(reason, code), message, strlen(message), err);
}

int kube_status_of_http(long status, const char *body, size_t n, struct err *err)
{
	CLEANUP(json_putp) struct json_object *object = NULL;
	const char *reason = NULL, *message = NULL;
	int64_t code = 0;
	char words[48];

	/* a body that was cut, or that a proxy wrote, is no JSON: the HTTP status says enough */
	if (n && !json_parse(body, n, STATUS_DEPTH, &object, NULL) && read_status(object, &reason, &message, &code) &&
	    message)
		return tell(condition_of(reason, status), message, strlen(message), err);
	if (n)
		return tell(condition_of(NULL, status), body, n, err);
	snprintf(words, sizeof(words), "HTTP status %ld", status);
	return tell(condition_of(NULL, status), words, strlen(words), err);
}
