/* SPDX-License-Identifier: Apache-2.0 */
/* explain_verdict: what will happen to the next run, by the decision about a pod that is like the last one. */
#include "policy/size.h"
#include "report/explain_internal.h"
#include "report/figures.h"
#include "report/replay_internal.h"

/* The last run; NULL: none is known. */
static const struct run *last_run(const struct known *known)
{
	const struct history *history = known->history;

	return history && history->runs.n ? &history->runs.items[history->runs.n - 1] : NULL;
}

/* ---- the verdict ---- */

/* What the decision and the recommendation say of the next run. */
struct judging {
	const struct known *known;
	const struct replay_outcome *outcome;
	struct recommendation sizes; /* recommended, with what people decided */
	const char *not_lowered;
	int min_runs;
};

/* Whether a value is lowered by the most that is allowed from one run to the next. */
static bool is_step(int64_t from_bytes, int64_t to_bytes, int64_t goal_bytes, const char *cap)
{
	return goal_bytes && goal_bytes < to_bytes && to_bytes < from_bytes && size_cap_is_step(cap);
}

/* "limit 768Mi -> 1600Mi in mode raise", "limit 16Gi -> 12Gi in mode enforce (at most 25 % a run, on the way to 8Gi)".
 */
static void add_change(struct verdict *ret, const char *what, int64_t from_bytes, int64_t to_bytes, int64_t goal_bytes,
		       const char *cap)
{
	enum mode mode = !from_bytes ? MODE_FILL : to_bytes > from_bytes ? MODE_RAISE : MODE_ENFORCE;
	bool is_on_the_way = is_step(from_bytes, to_bytes, goal_bytes, cap);

	if (to_bytes == from_bytes)
		return;
	strbuf_addf(&ret->text, "%s%s %s -> %s in mode %s", ret->text.len ? ", " : "", what,
		    from_bytes ? HUMAN(from_bytes) : "none", HUMAN(to_bytes), mode_names[mode]);
	if (cap)
		strbuf_addf(&ret->text, " (%s%s%s)", cap, is_on_the_way ? ", on the way to " : "",
			    is_on_the_way ? HUMAN(goal_bytes) : "");
}

static bool is_larger(int64_t a, int64_t b)
{
	return a && b && a > b;
}

static bool is_above(const struct judging *self)
{
	return is_larger(self->outcome->limit_bytes, self->sizes.limit_bytes) ||
	       is_larger(self->outcome->request_bytes, self->sizes.request_bytes);
}

static bool is_below(const struct judging *self)
{
	return is_larger(self->sizes.limit_bytes, self->outcome->limit_bytes) ||
	       is_larger(self->sizes.request_bytes, self->outcome->request_bytes);
}

/* Whether a higher mode would change more. */
static bool is_withheld(const struct judging *self)
{
	enum mode mode = self->outcome->mode;

	return mode < MODE_FILL || (is_below(self) && mode < MODE_RAISE) ||
	       (is_above(self) && !self->not_lowered && mode < MODE_ENFORCE);
}

/* Why nothing is set. */
static void add_kept(const struct judging *self, struct verdict *ret)
{
	const struct replay_outcome *outcome = self->outcome;

	strbuf_adds(&ret->text, "keeps its own values");
	if (is_withheld(self))
		strbuf_addf(&ret->text, ": capped at %s (%s)", mode_names[outcome->mode], outcome->mode_why);
	else if (is_above(self) && self->not_lowered)
		strbuf_addf(&ret->text, ": will not be lowered, %s", self->not_lowered);
	else if (is_above(self) || is_below(self))
		strbuf_adds(&ret->text, ": no change is allowed or larger than sizing.changeThreshold");
	else
		strbuf_adds(&ret->text, ", which fit");
}

static void add_outcome(const struct judging *self, struct verdict *ret)
{
	const struct recommendation *rec = &self->known->profile->parent;
	const struct replay_outcome *outcome = self->outcome;
	bool is_changed;

	if (outcome->skip) {
		strbuf_addf(&ret->text, "its pods are not changed (%s)", outcome->skip);
		return;
	}
	add_change(ret, "request", ret->request_from_bytes, ret->request_to_bytes, self->sizes.request_bytes,
		   outcome->request_cap);
	/* a ceiling below the peak is never reached */
	add_change(ret, "limit", ret->limit_from_bytes, ret->limit_to_bytes,
		   self->sizes.limit_bytes < rec->peak_bytes ? 0 : self->sizes.limit_bytes, outcome->limit_cap);
	is_changed = ret->text.len > 0;
	if (rec->confidence < CONFIDENCE_MEDIUM)
		strbuf_addf(&ret->text, "%s%d of %d complete runs are known",
			    is_changed ? "; " : "keeps its own values: ", rec->whole_runs, self->min_runs);
	else if (!is_changed)
		add_kept(self, ret);
	else if (is_withheld(self))
		strbuf_addf(&ret->text, "; capped at %s (%s)", mode_names[outcome->mode], outcome->mode_why);
}

static void judge(const struct knowledge *knowledge, const struct known *known, const struct run *run,
		  const struct replay_outcome *outcome, struct verdict *ret)
{
	enum size_by by[2];
	const struct judging judging = {.known = known,
					.outcome = outcome,
					.sizes = known_sizes(knowledge, known, &known->profile->parent, by),
					.not_lowered = figures_not_lowered(knowledge, known),
					.min_runs = knowledge->config->policy.sizing.min_runs};

	ret->mode = outcome->mode;
	ret->request_from_bytes = replay_own_request(run);
	ret->limit_from_bytes = replay_own_limit(run);
	ret->request_to_bytes = outcome->request_bytes;
	ret->limit_to_bytes = outcome->limit_bytes;
	add_outcome(&judging, ret);
}

int explain_verdict(const struct knowledge *knowledge, const struct known *known, struct verdict *ret)
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

	if (!known->profile)
		return strbuf_adds(&ret->text, "keeps its own values, as it has no profile");
	draft = *known->profile;
	spec.ref = (struct profile_ref){.key = NULL}; /* the pod that is decided about has another name */
	draft.spec = &spec;
	r = replay_open(&scope, &world, &err);
	if (!r)
		r = replay_decide(world, &draft, run, &outcome, &err);
	if (!r)
		judge(knowledge, known, run, &outcome, ret);
	replay_free(world);
	return r ? r : ret->text.status;
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
	struct recommendation sizes = known_sizes(knowledge, known, &known->profile->parent, by);
	const struct run *run = last_run(known);
	const char *comma = "";

	sizes.limit_bytes = size_advised_limit(&sizes, by, run ? replay_own_limit(run) : 0);
	if (!sizes.request_bytes && !sizes.limit_bytes)
		return;
	printf("  to paste    resources: {");
	print_values("requests", sizes.request_bytes, sizes.ephemeral_request_bytes, &comma);
	print_values("limits", sizes.limit_bytes, sizes.ephemeral_limit_bytes, &comma);
	printf("}\n");
}
