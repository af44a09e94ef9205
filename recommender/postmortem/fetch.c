/* SPDX-License-Identifier: Apache-2.0 */
/* What the other files of a postmortem need for a request. */
#include "postmortem/postmortem_internal.h"

#include "base/utf8.h"
#include "kube/kube_client.h"

#include <stdarg.h>
#include <stdio.h>

const char *postmortem_name(struct postmortem *self, const char *fmt, ...)
{
	char text[KIB];
	const char *copy;
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	utf8_clean(text);
	copy = arena_strdup(&self->arena, text);
	return copy ? copy : "";
}

bool postmortem_may_succeed(int code)
{
	return code < 0 || code == KUBE_TIMEOUT || code == KUBE_TOO_MANY || code == KUBE_UNAVAILABLE;
}

struct origin postmortem_origin(const struct ended_pod *pod)
{
	return (struct origin){
		.group = pod ? pod->group : 0, .rank = pod ? pod->rank : RANK_NONE, .limit_bytes = FIGURE_NONE};
}

const char *postmortem_reason(int code, const struct err *err)
{
	if (code == KUBE_FORBIDDEN)
		return "no right to read it";
	if (code == KUBE_NOT_FOUND)
		return "it does not exist any more";
	return strstr(err->msg, "previous terminated container") ? "it does not exist any more" : err->msg;
}

int postmortem_get(struct postmortem *self, const char *path, struct json_object **ret, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf body = STRBUF_INIT(LIMIT_TRIAGE_LIST_BYTES);
	int r = self->source->fetch(self->source->context, path, LIMIT_TRIAGE_LIST_BYTES, false, &body, err);

	return r ? r : json_parse(strbuf_text(&body), body.len, LIMIT_REVIEW_DEPTH, ret, err);
}
