/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* prom_stream: Prometheus' answers to instant and range queries, parsed while they arrive. Memory: one series and what
 * stands around the series; it does not grow with their number. Blocks may be cut anywhere.
 *
 * Unknown members are skipped (infos, stats, histograms); a member that we read and that comes twice, and values before
 * their labels, are refused. Labels of one series are handed to json-c as one object of at most
 * LIMIT_PROM_LABELSET_BYTES. Cost: linear in the bytes. Threads: a stream belongs to one thread. */
#include "base/err.h"
#include "base/json.h"
#include "base/json_split.h"

/** What is done with what arrives. A callback that returns non-zero stops the stream with that value. */
struct prom_handler {
	void *context;
	/** A series begins; `labels` is borrowed until the next one begins or the stream is released. May be NULL. */
	int (*series)(void *context, struct json_object *labels, struct err *err);
	/** A sample of the series that began last, in the answer's order. NaN and infinities are passed on. May be
	 * NULL. */
	int (*sample)(void *context, int64_t time_ms, double value, struct err *err);
};

enum prom_status { PROM_STATUS_ABSENT, PROM_STATUS_SUCCESS, PROM_STATUS_ERROR };

struct prom_stream {
	/* What was found; valid after prom_stream_finish. */
	enum prom_status status;
	struct strbuf error_type, error;
	struct strbuf warnings; /* one a line */
	size_t n_warnings;
	size_t n_series, n_samples;

	/* Private. */
	struct prom_handler handler;
	struct json_split split;
	int failed;		     /* sticky */
	int stopped;		     /* what a callback returned */
	struct json_object *current; /* labels of the series that began last */
};

/** The stream must stay where it is. */
void prom_stream_init(struct prom_stream *self, const struct prom_handler *handler);
void prom_stream_release(struct prom_stream *self);
/** Parse the next block. @return 0; -EPROTO what arrives is no such answer; -E2BIG over a cap; -ENOMEM; what a callback
 *  returned. Sticky. */
int prom_stream_feed(struct prom_stream *self, const char *bytes, size_t n, struct err *err) ATTR_NODISCARD;
/** No more will come. @return 0 when the answer was whole (status may be PROM_STATUS_ERROR); -EPROTO when not. */
int prom_stream_finish(struct prom_stream *self, struct err *err) ATTR_NODISCARD;
