/* SPDX-License-Identifier: Apache-2.0 */
/* What Prometheus knows of the last hours of a pod's containers: how close they came to their limit, whether the
 * kernel killed a task of them, and which errors their GPUs had. */
#include "postmortem/postmortem_internal.h"

#include "base/timefmt.h"
#include "evidence/query.h"
#include "evidence/query_life.h"
#include "evidence/query_xids.h"
#include "model/run.h"
#include "postmortem/object.h"

#include <stdio.h>

#define LIFE_MS	   (6 * TIME_HOUR_MS)	 /* at most so much of it is read */
#define NEAR_MS	   (10 * TIME_MINUTE_MS) /* a kill so long before the end may be its reason */
#define TEXT_BYTES KIB

/* ---- which containers, and when ---- */

/* A container that failed; if none has, each main container that ran: a child of it may have been killed. */
static bool is_wanted(const struct ended_pod *pod, const struct ended_container *item)
{
	if (ended_pod_has_failed(pod))
		return item->has_failed;
	return item->place == PLACE_MAIN && (item->has_ended || item->is_running);
}

static int64_t started_ms(const struct ended_container *item)
{
	if (!item->has_ended)
		return object_time_ms(item->status, "state.running.startedAt");
	return object_time_ms(item->status,
			      item->is_previous ? "lastState.terminated.startedAt" : "state.terminated.startedAt");
}

/* Kubernetes cuts times to seconds. @return false: it is not known when it ran. */
static bool find_life(const struct ended_pod *pod, const struct ended_container *item, struct evidence_life *ret)
{
	int64_t end_ms = item->has_ended ? item->finished_ms + TIME_SECOND_MS : time_now_ms();
	int64_t start_ms = started_ms(item) ? started_ms(item) : pod->created_ms;

	*ret = (struct evidence_life){.namespace_name = pod->namespace,
				      .pod = pod->name,
				      .uid = pod->uid,
				      .container = item->name,
				      .wants_curve = true,
				      .start_ms = MAX(start_ms, end_ms - LIFE_MS),
				      .end_ms = end_ms};
	return (!item->has_ended || item->finished_ms) && ret->start_ms > 0 && ret->start_ms < end_ms;
}

/* ---- facts ---- */

static bool is_far_below(const struct evidence_life *life, int64_t limit_bytes)
{
	return run_is_far_below(life->samples, life->end_ms - life->start_ms,
				MAX(life->peak_bytes, life->peak_rss_bytes), limit_bytes);
}

/* Where the limit is that the container may have reached; SCOPE_NODE: none, or it was far below. */
static enum scope scope_of(const struct ended_pod *pod, const struct ended_container *item,
			   const struct evidence_life *life, int64_t limit_bytes)
{
	if (limit_bytes == FIGURE_NONE || is_far_below(life, limit_bytes))
		return SCOPE_NODE;
	return item->limit_bytes != FIGURE_NONE || pod->limit_bytes == FIGURE_NONE ? SCOPE_CONTAINER : SCOPE_POD;
}

static void render_peak(const struct ended_container *item, const struct evidence_life *life, int64_t limit_bytes,
			char buf[TEXT_BYTES])
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(TEXT_BYTES);
	int64_t minutes = (life->end_ms - life->start_ms) / TIME_MINUTE_MS;
	char time[TIME_TEXT_BYTES];

	strbuf_addf(&text, "container %.253s: used at most %s", item->name, FIGURE_TEXT(life->peak_bytes));
	if (limit_bytes > 0)
		strbuf_addf(&text, ", %lld %% of the memory limit of %s,",
			    (long long)((__int128)life->peak_bytes * 100 / limit_bytes), FIGURE_TEXT(limit_bytes));
	strbuf_addf(&text, " in the %s %s (working set, %lld sample%s",
		    duration_render(MAX(minutes, 1) * TIME_MINUTE_MS, time),
		    item->has_ended ? "before its end" : "until now", (long long)life->samples, PLURAL(life->samples));
	if (life->peak_rss_bytes)
		strbuf_addf(&text, "; rss at most %s%s", FIGURE_TEXT(life->peak_rss_bytes),
			    life->peak_rss_bytes < life->peak_bytes / 2
				    ? ", so it was mostly page cache or shared memory"
				    : "");
	strbuf_adds(&text, ")");
	snprintf(buf, TEXT_BYTES, "%s", strbuf_text(&text));
}

static void render_kills(const struct ended_container *item, const struct evidence_life *life, char buf[TEXT_BYTES])
{
	char from[TIME_TEXT_BYTES], to[TIME_TEXT_BYTES];
	int64_t from_ms = life->killed_from_ms / TIME_SECOND_MS * TIME_SECOND_MS;
	int64_t to_ms = life->killed_to_ms / TIME_SECOND_MS * TIME_SECOND_MS;

	snprintf(buf, TEXT_BYTES,
		 "container %.253s: container_oom_events_total is %lld, and rose last between %s and %s", item->name,
		 (long long)life->kills, time_render(from_ms, from), time_render(to_ms, to));
}

static void take_life(struct facts *facts, const struct ended_pod *pod, const struct ended_container *item,
		      const struct evidence_life *life)
{
	int64_t limit_bytes = item->limit_bytes != FIGURE_NONE ? item->limit_bytes : pod->limit_bytes;
	struct reading reading;
	char text[TEXT_BYTES];

	reading_init(&reading);
	reading.value = item->has_ended ? item->exit_code : -1;
	reading.scope = scope_of(pod, item, life, limit_bytes);
	reading_copy(reading.name, sizeof(reading.name), item->name, "");
	if (limit_bytes != FIGURE_NONE)
		figures_set(&reading.figures, FIGURE_LIMIT, limit_bytes);
	if (life->peak_bytes) {
		figures_set(&reading.figures, FIGURE_USAGE, life->peak_bytes);
		if (life->peak_rss_bytes)
			figures_set(&reading.figures, FIGURE_CGROUP_ANON, life->peak_rss_bytes);
		reading.is_exact = life->counted_ms && !life->kills;
		render_peak(item, life, limit_bytes, text);
		facts_add(facts, SIGNAL_PEAK, &reading, text);
		reading.is_exact = false;
	}
	if (life->kills) {
		reading.is_caught = item->has_ended && life->killed_to_ms < life->end_ms - NEAR_MS;
		render_kills(item, life, text);
		facts_add(facts, SIGNAL_OOM_COUNTED, &reading, text);
	}
}

/* An error that a GPU had from the beginning may be older than the container, as the metric keeps the last one. */
static void take_xid(struct triage *triage, const struct ended_pod *pod, const struct ended_container *item,
		     const struct evidence_xid *xid)
{
	char from[TIME_TEXT_BYTES], to[TIME_TEXT_BYTES], text[TEXT_BYTES];
	struct reading reading;

	if (xid->is_before) {
		triage_note(&triage->unseen,
			    "GPU %s of pod/%s container %s had XID %lld in Prometheus from the beginning, so it may be "
			    "older than the container: dmesg -T | grep -i xid on the node.",
			    xid->gpu, pod->name, item->name, (long long)xid->number);
		return;
	}
	reading_init(&reading);
	reading.value = xid->number;
	snprintf(text, sizeof(text), "container %.253s: DCGM_FI_DEV_XID_ERRORS of GPU %s became %lld between %s and %s",
		 item->name, xid->gpu, (long long)xid->number,
		 time_render(xid->from_ms / TIME_SECOND_MS * TIME_SECOND_MS, from),
		 time_render(xid->to_ms / TIME_SECOND_MS * TIME_SECOND_MS, to));
	facts_add(&triage->facts, SIGNAL_XID, &reading, text);
}

/* ---- the curve ---- */

#define QUARTERS 4

/* The use at the end of each quarter, of what was measured. @return how many measured steps there are. */
static size_t read_quarters(const struct evidence_life *life, int64_t ret[QUARTERS + 1])
{
	int64_t measured[LIFE_STEPS + 1];
	size_t n = 0;

	for (size_t i = 0; i <= LIFE_STEPS; i++)
		if (life->curve_bytes[i] > 0)
			measured[n++] = life->curve_bytes[i];
	for (size_t i = 0; n && i <= QUARTERS; i++)
		ret[i] = measured[(n - 1) * i / QUARTERS];
	return n;
}

/* Whether the use rose in each quarter by a twentieth of the limit, from below its half to nearly all of it. A run that
 * has read its data and then trains does not. */
static bool is_climb(const struct evidence_life *life, int64_t limit, int64_t quarters[QUARTERS + 1])
{
	if (limit <= 0 || read_quarters(life, quarters) <= QUARTERS || quarters[0] > limit / 2 ||
	    quarters[QUARTERS] < limit / 10 * 9)
		return false;
	for (size_t i = 0; i < QUARTERS; i++)
		if (quarters[i + 1] - quarters[i] < limit / 20)
			return false;
	return true;
}

static void take_curve(struct facts *facts, const struct ended_pod *pod, const struct ended_container *item,
		       const struct evidence_life *life)
{
	int64_t limit = item->limit_bytes != FIGURE_NONE ? item->limit_bytes : pod->limit_bytes;
	int64_t quarters[QUARTERS + 1];
	struct reading reading;
	char text[TEXT_BYTES];

	if (!item->has_ended || !is_climb(life, limit, quarters))
		return;
	reading_init(&reading);
	reading_copy(reading.name, sizeof(reading.name), item->name, "");
	figures_set(&reading.figures, FIGURE_LIMIT, limit);
	snprintf(text, sizeof(text),
		 "container %.253s: its use rose from its start to its end: %s, %s, %s, %s, %s of the memory limit of "
		 "%s",
		 item->name, FIGURE_TEXT(quarters[0]), FIGURE_TEXT(quarters[1]), FIGURE_TEXT(quarters[2]),
		 FIGURE_TEXT(quarters[3]), FIGURE_TEXT(quarters[4]), FIGURE_TEXT(limit));
	facts_add(facts, SIGNAL_CLIMB, &reading, text);
}

/* ---- reading ---- */

/* A Prometheus that fails once is not asked again: somebody waits. */
static void give_up(struct postmortem *self, const char *why)
{
	triage_note(&self->triage->unseen,
		    "Prometheus was not read: %s. What containers used before their end, kills of their children, and "
		    "errors of their GPUs are not known.",
		    why);
	self->reader = NULL;
}

static int ask(struct postmortem *self, struct evidence_life *life, struct evidence_xids *xids, struct err *err)
{
	int64_t begun_ms = time_monotonic_ms();
	int r;

	if (self->reader_left_ms <= 0)
		return err_set(err, EVIDENCE_STOPPED, "it took too long");
	query_reader_deadline(self->reader, begun_ms + self->reader_left_ms);
	r = query_lives(self->reader, life, 1, err);
	if (!r && xids)
		r = query_xids(self->reader, xids, err);
	self->reader_left_ms -= time_monotonic_ms() - begun_ms;
	return r == EVIDENCE_STOPPED ? err_set(err, r, "it took too long") : r;
}

/* The exporter reports an error up to a minute late. */
static struct evidence_xids xids_of(const struct evidence_life *life)
{
	return (struct evidence_xids){.namespace_name = life->namespace_name,
				      .pod = life->pod,
				      .container = life->container,
				      .uid = life->uid,
				      .start_ms = life->start_ms,
				      .end_ms = MIN(life->end_ms + TIME_MINUTE_MS, MAX(life->end_ms, time_now_ms()))};
}

static int take_series(struct postmortem *self, const struct ended_pod *pod, const struct ended_container *item,
		       const struct evidence_life *life, const struct evidence_xids *xids)
{
	struct facts *facts = &self->triage->facts;

	if (!life->peak_bytes && !life->kills)
		triage_note(
			&self->triage->unseen,
			"Prometheus has no memory series of cAdvisor for pod/%s container %s; short runs end between "
			"two scrapes.",
			pod->name, item->name);
	if (!life->peak_bytes && !life->kills && !xids->n)
		return 0;
	facts->origin = postmortem_origin(pod);
	if (facts_open(facts, postmortem_name(self, "series of pod/%s container %s", pod->name, item->name)))
		return -ENOMEM;
	take_life(facts, pod, item, life);
	take_curve(facts, pod, item, life);
	for (size_t i = 0; i < xids->n; i++)
		take_xid(self->triage, pod, item, &xids->items[i]);
	return 0;
}

static int read_container(struct postmortem *self, const struct ended_pod *pod, const struct ended_container *item)
{
	struct evidence_life life;
	struct evidence_xids xids;
	struct err err = ERR_INIT;
	int r;

	if (!find_life(pod, item, &life))
		return 0;
	xids = xids_of(&life);
	r = ask(self, &life, pod->n_accelerators ? &xids : NULL, &err);
	if (r) {
		give_up(self, err.msg);
		return r == -ENOMEM ? r : 0;
	}
	return take_series(self, pod, item, &life, &xids);
}

int postmortem_read_series(struct postmortem *self, const struct ended_pod *pod)
{
	size_t n = 0;
	int r = 0;

	for (size_t i = 0; i < pod->containers.n && self->reader && !r && n < LIMIT_TRIAGE_LOGS; i++) {
		if (!is_wanted(pod, &pod->containers.items[i]))
			continue;
		n++;
		r = read_container(self, pod, &pod->containers.items[i]);
	}
	return r;
}
