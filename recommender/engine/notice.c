/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/notice.h"

#include "base/hash.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "engine/hung.h"
#include "k8s/quantity.h"
#include "model/identity.h"

#include <stdio.h>
#include <string.h>

#define EXACT(bytes) quantity_render_bytes((bytes), (char[QUANTITY_TEXT_BYTES]){0})

struct notice *notices_find(const struct notices *self, size_t n, const struct notice *like)
{
	for (size_t i = 0; i < n; i++) {
		struct notice *notice = &self->items[i];

		if (notice->kind == like->kind && streq(notice->subject, like->subject) &&
		    streq(notice->owner, like->owner) && streq(notice->namespace_name, like->namespace_name))
			return notice;
	}
	return NULL;
}

/* Truncated as a run's key, and then as in a history. */
static void cut_owner(const char *text, char ret[RUN_NAME_BYTES])
{
	char key[IDENTITY_KEY_BYTES];

	identity_cut(text, key, sizeof(key));
	identity_cut(key, ret, RUN_NAME_BYTES);
}

void notice_owner(const char *kind, const char *name, char ret[RUN_NAME_BYTES])
{
	char text[LIMIT_NAME_BYTES + 64];

	snprintf(text, sizeof(text), "%.*s/%s", NOTICE_KIND_BYTES, kind, name);
	cut_owner(text, ret);
}

static void begin(struct notice *ret, enum notice_kind kind, const char *namespace_name, const char *owner,
		  const char *reason)
{
	*ret = (struct notice){.kind = kind};
	str_copy(ret->namespace_name, sizeof(ret->namespace_name), namespace_name);
	cut_owner(owner, ret->owner);
	str_copy(ret->reason, sizeof(ret->reason), reason);
}

static void add_value(const char *what, int64_t to, bool tells_from, int64_t from, const char **comma,
		      struct strbuf *buf)
{
	if (!to)
		return;
	strbuf_addf(buf, "%s%s %s", *comma, what, EXACT(to));
	if (from)
		strbuf_addf(buf, " (was %s)", EXACT(from));
	else if (tells_from)
		strbuf_adds(buf, " (had none)");
	*comma = ", ";
}

/* Hashes what distinguishes two entries of the same owner. Times count in whole seconds. */
static void make_subject(const char *container, const struct history_decision *decision, struct notice *ret)
{
	const int64_t values[] = {decision->request_from_bytes,		decision->request_to_bytes,
				  decision->limit_from_bytes,		decision->limit_to_bytes,
				  decision->ephemeral_request_to_bytes, decision->ephemeral_limit_to_bytes,
				  decision->time_ms / TIME_SECOND_MS};
	uint64_t hash = hash_stable_text(HASH_STABLE_INIT, ret->namespace_name);

	hash = hash_stable_text(hash, decision->owner);
	hash = hash_stable_text(hash, container);
	hash = hash_stable(hash, values, sizeof(values));
	snprintf(ret->subject, sizeof(ret->subject), "%016llx", (unsigned long long)hash);
}

void notice_of_decision(const char *namespace_name, const char *container, const struct history_decision *decision,
			bool is_update, struct notice *ret)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(NOTICE_TEXT_BYTES);
	const char *comma = "memory ";

	begin(ret, NOTICE_SET, namespace_name, decision->owner, "MemorySet");
	str_copy(ret->pod, sizeof(ret->pod), decision->pod);
	ret->is_update = is_update;
	make_subject(container, decision, ret);
	strbuf_addf(&text, "%s: ", container);
	add_value("request", decision->request_to_bytes, true, decision->request_from_bytes, &comma, &text);
	add_value("limit", decision->limit_to_bytes, true, decision->limit_from_bytes, &comma, &text);
	if (comma[0] == 'm')
		comma = "";
	add_value("ephemeral-storage request", decision->ephemeral_request_to_bytes, false, 0, &comma, &text);
	add_value("ephemeral-storage limit", decision->ephemeral_limit_to_bytes, false, 0, &comma, &text);
	strbuf_addf(&text, ": %s", decision->rule);
	if (*decision->cap)
		strbuf_addf(&text, " (%s)", decision->cap);
	if (decision->revision)
		strbuf_addf(&text, ", revision %lld", (long long)decision->revision);
	strbuf_addf(&text, ", %d pod%s", decision->pods, PLURAL(decision->pods));
	str_copy(ret->text, sizeof(ret->text), strbuf_text(&text));
}

void notice_of_harm(const char *namespace_name, const char *owner, const struct run *run, enum harm harm,
		    const char *figures, struct notice *ret)
{
	static const char *const words[HARM_COUNT_] = {
		[HARM_OOM] = "OOM-killed at a limit that memtamer had set below its own, or where it had none",
		[HARM_EVICTED] =
			"evicted above a request that memtamer had lowered, or at a disk limit that it had added",
		[HARM_PENDING] = "no node had room for a request that memtamer had raised or added",
		[HARM_QUOTA] = "a quota refused pods while others held more than their own sizes",
		[HARM_SLOWER] =
			"page cache filled a limit that memtamer had lowered, and it was slower than earlier runs",
	};

	begin(ret, NOTICE_HARM, namespace_name, owner, "MemoryHarm");
	ret->harm = harm;
	snprintf(ret->subject, sizeof(ret->subject), "%s-%d", run->uid, (int)harm);
	ret->is_warning = true;
	snprintf(ret->text, sizeof(ret->text), "%s: %s; nothing of this workload is lowered for ten runs",
		 harm_names[harm], figures && *figures ? figures : words[harm]);
}

void notice_of_unraised_kill(const char *namespace_name, const char *owner, const char *container, const char *queue,
			     int64_t limit_bytes, int64_t next_bytes, struct notice *ret)
{
	char why[300] = "with which it restarts, as recommender.resize is off";
	int64_t twice = limit_bytes > INT64_MAX / 2 ? INT64_MAX : limit_bytes * 2;
	uint64_t hash = hash_stable_text(HASH_STABLE_INIT, container);

	begin(ret, NOTICE_KILL, namespace_name, owner, "MemoryNotRaised");
	hash = hash_stable(hash, &limit_bytes, sizeof(limit_bytes));
	snprintf(ret->subject, sizeof(ret->subject), "%016llx", (unsigned long long)hash);
	ret->is_warning = true;
	if (queue)
		snprintf(why, sizeof(why), "which cannot be raised: %.200s counted it", queue);
	snprintf(ret->text, sizeof(ret->text), "%.63s: OOM-killed at its limit of %s, %s; submit again with %s",
		 container, EXACT(limit_bytes), why, EXACT(MAX(twice, next_bytes)));
}

void notice_of_hung_gang(const struct hung_gang *gang, struct notice *ret)
{
	char when[TIME_TEXT_BYTES], count[HUNG_COUNT_BYTES], death[HUNG_DEATH_BYTES];
	int n;

	begin(ret, NOTICE_HUNG, gang->namespace_name, gang->owner, "GangHung");
	str_copy(ret->pod, sizeof(ret->pod), gang->pod);
	ret->is_warning = true;
	n = snprintf(ret->text, sizeof(ret->text),
		     "pod %.100s %s at %s and does not come back; %lld pod%s still run%s and hold%s %s", gang->pod,
		     hung_death(gang, death), time_render(gang->died_ms - gang->died_ms % TIME_SECOND_MS, when),
		     (long long)gang->n_pods, PLURAL(gang->n_pods), gang->n_pods == 1 ? "s" : "",
		     gang->n_pods == 1 ? "s" : "", hung_count(gang->accelerators_milli, count));
	/* A command that is cut would do something else. */
	if (*gang->command && (size_t)n + 64 + strlen(gang->command) < sizeof(ret->text))
		snprintf(ret->text + n, sizeof(ret->text) - (size_t)n,
			 "; if they do not go on without it, free them: %s", gang->command);
}

static int64_t round_duration(int64_t duration_ms)
{
	return duration_ms - duration_ms % (duration_ms < TIME_HOUR_MS ? TIME_SECOND_MS : TIME_MINUTE_MS);
}

void notice_of_end(const char *namespace_name, const char *owner, const char *container, const struct run *run,
		   int64_t next_bytes, const struct diagnosis *diagnosis, struct notice *ret)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(NOTICE_TEXT_BYTES);
	int64_t killed_bytes = run_killed_limit_max(run);
	double unused = run_unused_gib_hours(run);
	const char *kind = diagnosis_kind_of(diagnosis, run);
	char duration[TIME_TEXT_BYTES];

	begin(ret, NOTICE_END, namespace_name, owner, "MemoryUsed");
	snprintf(ret->subject, sizeof(ret->subject), "%s-end", run->uid);
	strbuf_addf(&text, "%.63s: memory asked ", container);
	if (run->limit_bytes)
		strbuf_adds(&text, HUMAN(run->limit_bytes));
	else
		strbuf_addf(&text, "no limit%s%s", run->request_bytes ? " and request " : "",
			    run->request_bytes ? HUMAN(run->request_bytes) : "");
	if (run->peak_bytes)
		strbuf_addf(&text, ", used at most %s in %s", HUMAN(run_need_bytes(run)),
			    duration_render(round_duration(run->duration_ms), duration));
	strbuf_addf(&text, ", %s", outcome_names[run->outcome]);
	if (killed_bytes > 0)
		strbuf_addf(&text, "%s at %s", run->outcome == OUTCOME_OOM_KILLED ? "" : " after an OOM kill",
			    HUMAN(killed_bytes));
	if (kind)
		strbuf_addf(&text, " (%s%s%s)", kind, *diagnosis->cause ? ": " : "", diagnosis->cause);
	if (unused >= 0.05)
		strbuf_addf(&text, "; %.1f GiB-hours unused", unused);
	if (next_bytes)
		strbuf_addf(&text, "; next time %s", HUMAN(next_bytes));
	str_copy(ret->text, sizeof(ret->text), strbuf_text(&text));
}

void notice_of_cap(const char *namespace_name, int64_t harmed, int64_t runs, struct notice *ret)
{
	begin(ret, NOTICE_CAP, namespace_name, "", "NamespaceCapped");
	str_copy(ret->subject, sizeof(ret->subject), "cap");
	ret->is_warning = true;
	snprintf(ret->text, sizeof(ret->text),
		 "%lld of %lld runs of the last day were harmed at sizes of memtamer, which only observes here until "
		 "spec.modeCap is taken out of this profile",
		 (long long)harmed, (long long)runs);
}
