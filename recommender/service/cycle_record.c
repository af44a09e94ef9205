/* SPDX-License-Identifier: Apache-2.0 */
#include "service/cycle_record.h"

#include "base/limits.h"
#include "base/timefmt.h"

#include <errno.h>
#include <stdlib.h>

static char *without_times(const struct cycle_status *status)
{
	struct strbuf text = STRBUF_INIT(LIMIT_STATUS_BYTES);
	struct cycle_status timeless = *status;

	timeless.time_ms = timeless.duration_ms = 0;
	(void)cycle_status_encode(&timeless, &text);
	return strbuf_detach(&text);
}

int cycle_record_leave(struct cycle_record *self, struct store *store, const struct cycle_status *status,
		       int64_t now_ms, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(LIMIT_STATUS_BYTES);
	CLEANUP(freep) char *said = without_times(status);
	int r;

	if (!said || cycle_status_encode(status, &text))
		return err_set(err, -ENOMEM, "out of memory");
	if (self->said && streq(self->said, said) && now_ms - self->said_ms < CYCLE_RECORD_MS)
		return 1;
	r = store_status_save(store, strbuf_text(&text), text.len, err);
	if (r)
		return r;
	free(self->said);
	self->said = TAKE_PTR(said);
	self->said_ms = now_ms;
	return 0;
}

void cycle_record_release(struct cycle_record *self)
{
	free(self->said);
	*self = (struct cycle_record){.said = NULL};
}
