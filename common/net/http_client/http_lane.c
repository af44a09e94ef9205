/* SPDX-License-Identifier: Apache-2.0 */
/* http_lane: which requests share a connection. A lane is a connection cache (a libcurl share handle), so a request
 * with a lane's number can only use the lane's connection. libcurl 7.88 alone opens one more connection for each
 * transfer once a connection has no free stream, and does not let a probe choose its connection. */
#include "base/timefmt.h"
#include "http_client/http_internal.h"

#include <errno.h>
#include <string.h>

/* HTTP/2 is negotiated over TLS. Without both, requests of a lane are like any others. */
bool lanes_are_possible(const struct http_client *self)
{
	return !self->config.unix_socket && strstarts(self->config.base_url, "https://") &&
	       curl_version_info(CURLVERSION_NOW)->features & CURL_VERSION_HTTP2;
}

static struct lane *lane_of(struct http_client *self, unsigned int number)
{
	return self->has_lanes && number > 0 && number <= HTTP_LANES ? &self->lanes[number - 1] : NULL;
}

struct lane *lane_enter(struct http_client *self, unsigned int number)
{
	struct lane *lane = lane_of(self, number);

	/* silence is counted from here, because nothing could arrive before */
	if (lane && lane->n_requests++ == 0)
		lane->heard_ms = time_monotonic_ms();
	return lane;
}

void lane_leave(struct lane *lane)
{
	if (lane)
		lane->n_requests--;
}

static CURLSH *new_share(void)
{
	CURLSH *share = curl_share_init();

	if (!share || !curl_share_setopt(share, CURLSHOPT_SHARE, CURL_LOCK_DATA_CONNECT))
		return share;
	curl_share_cleanup(share);
	return NULL;
}

int lane_attach(struct slot *slot, struct err *err)
{
	struct lane *lane = slot->job->lane;

	if (!lane)
		return 0;
	if (!lane->share)
		lane->share = new_share();
	/* other transfers wait until the first one knows the server's HTTP version, instead of connecting themselves */
	if (!lane->share || curl_easy_setopt(slot->easy, CURLOPT_SHARE, lane->share) ||
	    curl_easy_setopt(slot->easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS) ||
	    curl_easy_setopt(slot->easy, CURLOPT_PIPEWAIT, 1L))
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

void lane_detach(struct slot *slot)
{
	if (slot->easy && slot->job->lane)
		curl_easy_setopt(slot->easy, CURLOPT_SHARE, NULL);
}

void lane_heard(const struct slot *slot)
{
	if (slot->job->lane)
		slot->job->lane->heard_ms = time_monotonic_ms();
}

/* No transfer uses these connections any more, so they can be closed. */
void lanes_close_broken(struct http_client *self)
{
	for (size_t i = 0; i < HTTP_LANES; i++) {
		struct lane *lane = &self->lanes[i];

		if (!lane->is_broken)
			continue;
		lane->is_broken = false;
		curl_share_cleanup(TAKE_PTR(lane->share));
	}
}

void lanes_release(struct http_client *self)
{
	for (size_t i = 0; i < HTTP_LANES; i++)
		curl_share_cleanup(TAKE_PTR(self->lanes[i].share));
}

size_t http_client_lane_requests(struct http_client *self, unsigned int number)
{
	const struct lane *lane = lane_of(self, number);

	return lane ? lane->n_requests : 0;
}

int64_t http_client_lane_heard_ms(struct http_client *self, unsigned int number)
{
	const struct lane *lane = lane_of(self, number);

	return lane ? lane->heard_ms : 0;
}

void http_client_break_lane(struct http_client *self, unsigned int number, const struct err *why)
{
	struct lane *lane = lane_of(self, number);

	if (!lane || !lane->share)
		return;
	lane->is_broken = self->has_marked_jobs = true;
	lane->why = *why;
}
