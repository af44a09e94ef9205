/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/state.h"

#include "base/timefmt.h"
#include "model/profile.h"

#include <errno.h>

void collector_state_release(struct collector_state *self)
{
	pod_table_release(&self->table);
	caps_release(&self->caps);
	*self = (struct collector_state)COLLECTOR_STATE_INIT;
}

int collector_state_encode(const struct collector_state *self, struct strbuf *buf)
{
	char watermark[TIME_TEXT_BYTES], from[TIME_TEXT_BYTES];

	strbuf_addf(buf,
		    "{\"apiVersion\":\"" PROFILE_API_VERSION
		    "\",\"kind\":\"CollectorState\",\"watermark\":\"%s\",\"historyFrom\":\"%s\",\"caps\":",
		    time_render(self->watermark_ms, watermark), time_render(self->history_from_ms, from));
	caps_encode(&self->caps, buf);
	strbuf_adds(buf, ",\"table\":");
	pod_table_encode(&self->table, buf);
	return strbuf_adds(buf, "}\n");
}

static int get_time(struct json_object *object, const char *key, int64_t *ret, struct err *err)
{
	const char *text = "";
	int r = json_get_string(object, "state", key, &text, err);

	if (r < 0)
		return r;
	return r || time_parse(text, strlen(text), ret) ? err_set(err, -EINVAL, "state.%s: no time", key) : 0;
}

int collector_state_decode(const char *text, size_t n, struct collector_state *ret, struct err *err)
{
	CLEANUP(json_putp) struct json_object *root = NULL;
	struct json_object *table = NULL;
	const char *kind = "";
	int r;

	if (n == 0)
		return 0;
	r = json_parse(text, n, 8, &root, err);
	r = r < 0 ? r : json_get_string(root, "state", "kind", &kind, err);
	if (r < 0)
		return r;
	if (!streq(kind, "CollectorState"))
		return err_set(err, -EINVAL, "this is no state of the collector");
	r = get_time(root, "watermark", &ret->watermark_ms, err);
	r = r ? r : get_time(root, "historyFrom", &ret->history_from_ms, err);
	r = r ? r : caps_decode(root, &ret->caps, err);
	r = r ? r : json_get_object(root, "state", "table", &table, err);
	if (r)
		return r < 0 ? r : err_set(err, -EINVAL, "state.table: missing");
	return pod_table_decode(table, &ret->table, err);
}
