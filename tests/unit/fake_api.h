/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* fake_api: an HTTP server for faults that a real API server cannot be made to show. It plays steps: a request takes
 * the first step that is left and fits; when none does, it is answered with 599 and counted as unexpected. */
#include <stddef.h>

enum fake_end {
	FAKE_WHOLE,  /* with Content-Length */
	FAKE_END,    /* chunked, ended as it should */
	FAKE_CUT,    /* chunked, the connection closes in the middle */
	FAKE_SILENT, /* no head, no body, until the client closes or fake_api_free */
	FAKE_HOLD,   /* chunked, open until the client closes or fake_api_free */
};

struct fake_step {
	const char *fits; /* part of the request's head ("GET /api/v1/pods?", "Bearer abc") */
	int status;	  /* 0: 200 */
	const char *headers;
	const char *body;
	enum fake_end end;
	size_t piece_bytes; /* the body is sent in pieces of so many bytes; 0: at once */
	size_t times;	    /* how often it can be taken; 0: once */
	const char *after;  /* the answer waits for a request with this text; NULL: it does not wait */
};

struct fake_api;

/** Listens on loopback. `steps` end with one without `fits` and are borrowed. */
struct fake_api *fake_api_start(const struct fake_step *steps);
/** The same with a function instead of steps, called under a mutex from any thread: fills `ret` (status, headers) and
 *  gives a body that is freed; NULL: none. */
typedef char *fake_answer_fn(void *context, const char *request, struct fake_step *ret);
struct fake_api *fake_api_start_with(fake_answer_fn *answer, void *context);
/** The mutex under which `answer` runs, for what it works on; may be taken again by who has it. */
void fake_api_lock(struct fake_api *self);
void fake_api_unlock(struct fake_api *self);
void fake_api_free(struct fake_api *self);
const char *fake_api_url(const struct fake_api *self);
/** How many requests (heads and bodies) so far held this text. */
size_t fake_api_count(struct fake_api *self, const char *text);
size_t fake_api_unexpected(struct fake_api *self);
/** The n-th request, from 0: copied into buf. */
void fake_api_request(struct fake_api *self, size_t n, char *buf, size_t size);
