/* SPDX-License-Identifier: Apache-2.0 */
/* explain_verdict: what will happen to the next run, by the decision about a pod that is like the last one. */
#include "report/explain_internal.h"
#include "report/replay_internal.h"

#include "base/plain.h"

#include <errno.h>
#include <stdio.h>

enum { RECENT_RUNS = 5 }; /* as in policy/size/size_evidence.c */

const char *explain_percent(int32_t permille, char buf[16])
{
	if (permille % 10)
		snprintf(buf, 16, "%d.%d %%", permille / 10, permille % 10);
	else
		snprintf(buf, 16, "%d %%", permille / 10);
	return buf;
}

/* The last run; NULL: none is known. */
static const struct run *last_run(const struct known *known)
{
	const struct history *history = known->history;

	return history && history->runs.n ? &history->runs.items[history->runs.n - 1] : NULL;
}

static bool was_killed_lately(const struct history *history)
{
	bool was_killed = false;

	for (size_t i = history->runs.n - MIN(history->runs.n, (size_t)RECENT_RUNS); i < history->runs.n; i++)
		was_killed |= history->runs.items[i].n_killed_limits > 0 ||
			      history->runs.items[i].outcome == OUTCOME_SUSPECTED_OOM;
	return was_killed;
}

const char *explain_not_lowered(const struct knowledge *knowledge, const struct known *known)
{
	const struct recommendation *rec = &known->profile->parent;

	if (rec->flags & REC_HARM)
		return "a run was harmed at a lowered size";
	if (rec->flags & REC_LEAK)
		return "memory leak suspected";
	if (rec->flags & REC_CACHE_BOUND)
		return "page cache fills the memory";
	if (rec->flags & REC_UNSTABLE)
		return "peaks differ widely between runs";
	if (rec->whole_runs < knowledge->config->policy.sizing.lower_min_runs)
		return "too few complete runs are known (sizing.lowering.minRuns)";
	if (!(rec->flags & REC_NO_LOWER))
		return NULL;
	if (known->history && was_killed_lately(known->history))
		return "one of the last five runs was OOM-killed";
	return "too few complete runs of this image, arguments and number of pods";
}

/* ---- the verdict ---- */

/* "limit 768Mi -> 1600Mi in mode raise". */
static void add_change(const char *what, int64_t from_bytes, int64_t to_bytes, const char **comma)
{
	enum mode mode = !from_bytes ? MODE_FILL : to_bytes > from_bytes ? MODE_RAISE : MODE_ENFORCE;

	if (to_bytes == from_bytes)
		return;
	printf("%s%s %s -> %s in mode %s", *comma, what, from_bytes ? HUMAN(from_bytes) : "none", HUMAN(to_bytes),
	       mode_names[mode]);
	*comma = ", ";
}

/* Why nothing is set. */
static void print_kept(const struct knowledge *knowledge, const struct known *known, const struct run *run,
		       const struct replay_outcome *outcome)
{
	const struct recommendation *rec = &known->profile->parent;
	const char *kept = explain_not_lowered(knowledge, known);
	enum size_by by[2];
	const struct recommendation sizes = known_sizes(knowledge, known, rec, by);
	bool is_above = (sizes.limit_bytes && replay_own_limit(run) > sizes.limit_bytes) ||
			(sizes.request_bytes && replay_own_request(run) > sizes.request_bytes);

	if (outcome->skip)
		printf("its pods are not changed (%s)", outcome->skip);
	else if (outcome->mode < MODE_FILL)
		printf("keeps its own values: capped at %s", mode_names[outcome->mode]);
	else if (is_above && kept)
		printf("keeps its own values: will not be lowered, %s", kept);
	else
		printf("keeps its own values, which fit");
}

static void print_outcome(const struct knowledge *knowledge, const struct known *known, const struct run *run,
			  const struct replay_outcome *outcome)
{
	const struct recommendation *rec = &known->profile->parent;
	const char *comma = "";

	printf(": next run: ");
	add_change("request", replay_own_request(run), outcome->request_bytes, &comma);
	add_change("limit", replay_own_limit(run), outcome->limit_bytes, &comma);
	if (rec->confidence < CONFIDENCE_MEDIUM && !outcome->skip)
		printf("%s%d of %d complete runs are known", *comma ? "; " : "keeps its own values: ", rec->whole_runs,
		       knowledge->config->policy.sizing.min_runs);
	else if (!*comma)
		print_kept(knowledge, known, run, outcome);
	printf("\n");
}

int explain_verdict(const struct knowledge *knowledge, const struct known *known)
{
	const struct profile *decided = known_decided(knowledge, known);
	struct profile_spec spec = decided ? *decided->spec : profile_spec_none;
	const struct run none = {.name = "next", .chosen_by = CHOSEN_BY_USER};
	const struct run *run = last_run(known) ? last_run(known) : &none;
	const struct replay_scope scope = {.config = knowledge->config, .knowledge = knowledge, .knows_requests = true};
	struct replay_world *world = NULL;
	struct replay_outcome outcome;
	struct err err = ERR_INIT;
	struct profile draft;
	int r;

	if (!known->profile) {
		printf(": next run: keeps its own values, as it has no profile\n");
		return 0;
	}
	draft = *known->profile;
	spec.ref = (struct profile_ref){.key = NULL}; /* the pod that is decided about has another name */
	draft.spec = &spec;
	r = replay_open(&scope, &world, &err);
	if (!r)
		r = replay_decide(world, &draft, run, &outcome, &err);
	if (!r)
		print_outcome(knowledge, known, run, &outcome);
	replay_free(world);
	return r;
}

/* ---- the manifest ---- */

/* "limits: {memory: 1600Mi, ephemeral-storage: 10Gi}". */
static void print_values(const char *what, int64_t memory_bytes, int64_t ephemeral_bytes, const char **comma)
{
	if (!memory_bytes && !ephemeral_bytes)
		return;
	printf("%s%s: {", *comma, what);
	if (memory_bytes)
		printf("memory: %s", HUMAN(memory_bytes));
	if (ephemeral_bytes)
		printf("%sephemeral-storage: %s", memory_bytes ? ", " : "", HUMAN(ephemeral_bytes));
	printf("}");
	*comma = ", ";
}

void explain_manifest(const struct knowledge *knowledge, const struct known *known)
{
	enum size_by by[2];
	const struct recommendation sizes = known_sizes(knowledge, known, &known->profile->parent, by);
	const char *comma = "";

	if (!sizes.request_bytes && !sizes.limit_bytes)
		return;
	printf("  to paste    resources: {");
	print_values("requests", sizes.request_bytes, sizes.ephemeral_request_bytes, &comma);
	print_values("limits", sizes.limit_bytes, sizes.ephemeral_limit_bytes, &comma);
	printf("}\n");
}
