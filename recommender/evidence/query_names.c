/* SPDX-License-Identifier: Apache-2.0 */
/* Names of metrics, labels and their values, from the index. */
#include "evidence/query_internal.h"

#include "base/strmap.h"
#include "base/timefmt.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A range that is not longer than this is not split. */
#define NAMES_MIN_MS TIME_DAY_MS
/* How long the range that was answered is remembered. */
#define NAMES_KEPT_MS TIME_DAY_MS

/* A request for names: of labels, or of their values. */
struct names_request {
	const char *path, *match;
	int64_t from_ms, to_ms;
};

static int add_names_form(const struct names_request *names, struct strbuf *url)
{
	CLEANUP(strbuf_release) struct strbuf form = STRBUF_INIT(4 * LIMIT_PROM_QUERY_BYTES);
	char text[32];

	http_form_add(&form, "match[]", names->match);
	snprintf(text, sizeof(text), "%" PRId64, names->from_ms / 1000);
	http_form_add(&form, "start", text);
	snprintf(text, sizeof(text), "%" PRId64, names->to_ms / 1000);
	http_form_add(&form, "end", text);
	strbuf_addf(url, "%s?%s", names->path, strbuf_text(&form));
	return form.status ? form.status : url->status;
}

/* The condition of a failed request. */
static int names_condition(int r, long status, const struct strbuf *body)
{
	const struct http_result result = {.outcome = status		? HTTP_STATUS
						      : r == -ETIMEDOUT ? HTTP_TIMED_OUT
						      : r == -ECANCELED ? HTTP_CANCELLED
									: HTTP_BROKEN,
					   .status = status,
					   .error_body = strbuf_text(body)};

	return r == -ENOMEM ? r : query_condition(&result);
}

/* The answer {"status": "success", "data": ["...", ...]} is small enough to be parsed as a tree. */
static int ask_names(struct query_reader *self, const struct names_request *names, struct json_object **ret_root,
		     struct json_object **ret_names, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf url = STRBUF_INIT(4 * LIMIT_PROM_QUERY_BYTES);
	CLEANUP(strbuf_release) struct strbuf body = STRBUF_INIT(LIMIT_PROM_METADATA_BYTES);
	struct http_request request = {.timeout_ms = self->config.prometheus->timeout_ms};
	long status = 0;
	int r;

	if (add_names_form(names, &url))
		return err_set(err, -ENOMEM, "no memory left for a query");
	request.path = strbuf_text(&url);
	self->base.n_queries++;
	r = http_client_fetch(self->client, &request, self->deadline_ms, &body, &status, err);
	if (r)
		return names_condition(r, status, &body);
	if (json_parse(strbuf_text(&body), body.len, 4, ret_root, NULL)) {
		const char *start = strbuf_text(&body);

		return err_set(err, EVIDENCE_UNREACHABLE, "%s: not an answer of Prometheus: it begins with \"%.40s\"",
			       names->path, start + strspn(start, " \r\n\t"));
	}
	if (json_get_array(*ret_root, names->path, "data", ret_names, err))
		return err_set(err, EVIDENCE_UNREACHABLE, "%s: an answer without data", names->path);
	return 0;
}

/* @return 0: the name is new and known from now on; 1: it was known, or is none; -ENOMEM. */
static int note_name(struct strmap *known, struct json_object *name)
{
	const char *text = json_object_get_string(name);

	if (!text || strmap_has(known, text))
		return 1;
	return strmap_put(known, text, name) ? -ENOMEM : 0;
}

/* Adds the names that `to` does not have. */
static int add_names(struct json_object *to, struct json_object *from, struct err *err)
{
	struct strmap known = STRMAP_INIT;
	int r = 0;

	for (size_t i = 0; i < json_object_array_length(to) && r >= 0; i++)
		r = note_name(&known, json_object_array_get_idx(to, i));
	for (size_t i = 0; i < json_object_array_length(from) && r >= 0; i++) {
		struct json_object *name = json_object_array_get_idx(from, i);

		r = note_name(&known, name);
		if (r == 0 && json_object_array_add(to, json_object_get(name)))
			r = -ENOMEM;
	}
	strmap_release(&known);
	return r < 0 ? err_set(err, r, "no memory left for names") : 0;
}

static int read_names(struct query_reader *self, const struct names_request *names, struct json_object **ret_root,
		      struct json_object **ret_names, struct err *err);

static int read_halves(struct query_reader *self, const struct names_request *names, struct json_object **ret_root,
		       struct json_object **ret_names, struct err *err)
{
	CLEANUP(json_putp) struct json_object *root = NULL;
	struct names_request early = *names, late = *names;
	struct json_object *others = NULL;
	int r;

	early.to_ms = late.from_ms = names->from_ms + (names->to_ms - names->from_ms) / 2;
	r = read_names(self, &early, &root, &others, err);
	r = r ? r : read_names(self, &late, ret_root, ret_names, err);
	return r ? r : add_names(*ret_names, others, err);
}

/* Asks for a shorter range if Prometheus refuses a longer one, and remembers that. */
static int read_names(struct query_reader *self, const struct names_request *names, struct json_object **ret_root,
		      struct json_object **ret_names, struct err *err)
{
	int64_t length_ms = names->to_ms - names->from_ms;
	int r;

	if (self->names_below_ms && length_ms >= self->names_below_ms)
		return read_halves(self, names, ret_root, ret_names, err);
	r = ask_names(self, names, ret_root, ret_names, err);
	if (r != EVIDENCE_TOO_HEAVY)
		return r;
	if (length_ms <= NAMES_MIN_MS)
		return EVIDENCE_UNREACHABLE;
	self->names_below_ms = length_ms;
	return read_halves(self, names, ret_root, ret_names, err);
}

int query_names(struct query_reader *self, const char *path, const char *match, int64_t from_ms, int64_t to_ms,
		struct json_object **ret_root, struct json_object **ret_names, struct err *err)
{
	const struct names_request names = {path, match, from_ms, to_ms};

	return read_names(self, &names, ret_root, ret_names, err);
}

void query_forget_names(struct query_reader *self, int64_t now_ms)
{
	if (now_ms - self->names_since_ms < NAMES_KEPT_MS && now_ms >= self->names_since_ms)
		return;
	self->names_since_ms = now_ms;
	self->names_below_ms = 0;
}
