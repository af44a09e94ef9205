/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/state.h"

#include "base/json_write.h"
#include "base/timefmt.h"
#include "model/profile.h"
#include "runs/pod_table.h"

#include <errno.h>
#include <string.h>

void collector_state_release(struct collector_state *self)
{
	strbuf_release(&self->table);
	caps_release(&self->caps);
	*self = (struct collector_state)COLLECTOR_STATE_INIT;
}

void collector_state_read_again(struct collector_state *self, int64_t from_ms, int64_t oldest_ms)
{
	if (from_ms < oldest_ms)
		self->history_from_ms = from_ms = oldest_ms;
	from_ms -= from_ms % TIME_DAY_MS;
	strbuf_clear(&self->table);
	self->watermark_ms = self->open_from_ms = MIN(from_ms, self->watermark_ms);
}

int collector_state_encode(const struct collector_state *self, struct strbuf *buf)
{
	char watermark[TIME_TEXT_BYTES], from[TIME_TEXT_BYTES], open_from[TIME_TEXT_BYTES];

	strbuf_addf(buf,
		    "{\"apiVersion\":\"" PROFILE_API_VERSION
		    "\",\"kind\":\"CollectorState\",\"watermark\":\"%s\",\"historyFrom\":\"%s\",\"openFrom\":\"%s\","
		    "\"tableFormat\":%d,\"caps\":",
		    time_render(self->watermark_ms, watermark), time_render(self->history_from_ms, from),
		    time_render(self->open_from_ms, open_from), POD_TABLE_FORMAT);
	caps_encode(&self->caps, buf);
	gaps_encode(&self->gaps, buf);
	if (self->warned_since_ms)
		json_write_time(buf, "warnedSince", self->warned_since_ms);
	if (self->warned_from_ms)
		json_write_time(buf, "warnedFrom", self->warned_from_ms);
	if (self->part_ms) {
		json_write_int(buf, "partMs", self->part_ms);
		json_write_time(buf, "partSince", self->part_since_ms);
	}
	if (self->stuck_cycles) {
		json_write_time(buf, "stuckAt", self->stuck_at_ms);
		json_write_int(buf, "stuckCycles", self->stuck_cycles);
	}
	strbuf_adds(buf, "}\n");
	return strbuf_add(buf, strbuf_text(&self->table), self->table.len);
}

static int get_time(struct json_object *object, const char *key, int64_t *ret, struct err *err)
{
	const char *text = "";
	int r = json_get_string(object, "state", key, &text, err);

	if (r < 0)
		return r;
	return r || time_parse(text, strlen(text), ret) ? err_set(err, -EINVAL, "state.%s: no time", key) : 0;
}

static int get_optional_time(struct json_object *object, const char *key, int64_t *ret, struct err *err)
{
	return json_member(object, key) ? get_time(object, key, ret, err) : 0;
}

/* Of the table of version 0.1: when the oldest of its pods was there. */
static int get_old_start(struct json_object *root, int64_t *ret, struct err *err)
{
	struct json_object *table = NULL, *pods = NULL;
	int r = json_get_object(root, "state", "table", &table, err);

	r = r ? r : json_get_array(table, "table", "pods", &pods, err);
	for (size_t i = 0; !r && i < json_object_array_length(pods); i++) {
		struct json_object *pod = json_object_array_get_idx(pods, i);
		int64_t start_ms = 0, seen_ms = 0;

		r = json_get_int64(pod, "pods", "start_ms", &start_ms, err);
		r = r < 0 ? r : json_get_int64(pod, "pods", "seen_from_ms", &seen_ms, err);
		r = MIN(r, 0);
		*ret = MIN(*ret, start_ms ? start_ms : seen_ms);
	}
	return r > 0 ? err_set(err, -EINVAL, "state.table: missing") : r;
}

static int decode_head(struct json_object *root, struct collector_state *ret, int64_t *ret_format, struct err *err)
{
	const char *kind = "";
	int r = json_get_string(root, "state", "kind", &kind, err);

	if (r < 0)
		return r;
	if (!streq(kind, "CollectorState"))
		return err_set(err, -EINVAL, "this is no state of the collector");
	r = get_time(root, "watermark", &ret->watermark_ms, err);
	r = r ? r : get_time(root, "historyFrom", &ret->history_from_ms, err);
	r = r ? r : caps_decode(root, &ret->caps, err);
	r = r ? r : gaps_decode(root, &ret->gaps, err);
	r = r ? r : get_optional_time(root, "warnedSince", &ret->warned_since_ms, err);
	r = r ? r : get_optional_time(root, "warnedFrom", &ret->warned_from_ms, err);
	r = r ? r : get_optional_time(root, "partSince", &ret->part_since_ms, err);
	r = r ? r : get_optional_time(root, "stuckAt", &ret->stuck_at_ms, err);
	r = r ? r : json_get_int64(root, "state", "partMs", &ret->part_ms, err);
	r = r < 0 ? r : json_get_int64(root, "state", "stuckCycles", &ret->stuck_cycles, err);
	r = r < 0 ? r : json_get_int64(root, "state", "tableFormat", ret_format, err);
	ret->open_from_ms = ret->watermark_ms;
	if (r)
		return r < 0 ? r : get_old_start(root, &ret->open_from_ms, err);
	return get_time(root, "openFrom", &ret->open_from_ms, err);
}

int collector_state_decode(const char *text, size_t n, struct collector_state *ret, struct err *err)
{
	CLEANUP(json_putp) struct json_object *root = NULL;
	const char *end = memchr(text, '\n', n);
	size_t n_head = end ? (size_t)(end - text) + 1 : n;
	int64_t format = 0;
	int r;

	if (n == 0)
		return 0;
	r = json_parse(text, n_head, 8, &root, err);
	/* The JSON of version 0.1 has several lines. */
	if (r == -EINVAL && n_head < n) {
		n_head = n;
		r = json_parse(text, n, 8, &root, err);
	}
	if (r)
		return r;
	r = decode_head(root, ret, &format, err);
	if (!r && format == POD_TABLE_FORMAT && strbuf_add(&ret->table, text + n_head, n - n_head))
		r = err_set(err, ret->table.status, "no memory left");
	return r;
}
