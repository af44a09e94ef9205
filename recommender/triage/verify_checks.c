/* SPDX-License-Identifier: Apache-2.0 */
/* The checks, without the lever (verify_lever.c). What is not known stays unknown. */
#include "triage/verify.h"

#include <stdio.h>

#define MARGIN_PART	 10			       /* of the card or the limit must be free at the peak: a tenth */
#define GAP_MARGIN_BYTES ((int64_t)256 * (int64_t)MIB) /* of growth, where the card is not known */

bool verify_is_end(const struct verification *self)
{
	return self->triage->verdict.kind < KIND_NOT_OOM && self->triage->verdict.kind != KIND_GPU_FAULT;
}

bool verify_is_done(const struct verification *self)
{
	return self->triage->verdict.rule->signal == SIGNAL_DONE;
}

static void point(struct verify_check *ret, size_t source, uint64_t number)
{
	ret->source = source;
	ret->number = number;
}

/* ---- the step ---- */

enum order { ORDER_UNKNOWN, ORDER_BEHIND, ORDER_PASSED };

/* Micro-batches of another size give another number of steps: then both the count and the share must have passed. */
static enum order compare_steps(const struct furthest *then, const struct furthest *now)
{
	bool is_more = now->step > then->step, is_more_of_all = is_more;

	if (then->step == STEP_NONE || now->step == STEP_NONE)
		return ORDER_UNKNOWN;
	if (then->n_steps > 0 && now->n_steps > 0)
		is_more_of_all = (double)now->step / (double)now->n_steps > (double)then->step / (double)then->n_steps;
	if (is_more != is_more_of_all)
		return ORDER_UNKNOWN;
	return is_more ? ORDER_PASSED : ORDER_BEHIND;
}

/* Steps of a log without epochs that fall may be those of any epoch. */
static enum order compare_places(const struct furthest *then, const struct furthest *now)
{
	if (then->epoch != EPOCH_NONE && now->epoch != EPOCH_NONE && then->epoch != now->epoch)
		return now->epoch > then->epoch ? ORDER_PASSED : ORDER_BEHIND;
	if ((then->epoch == EPOCH_NONE && then->n_falls) || (now->epoch == EPOCH_NONE && now->n_falls))
		return ORDER_UNKNOWN;
	return compare_steps(then, now);
}

static const char *render_place(const struct furthest *place, char buf[96])
{
	int n = 0;

	buf[0] = '\0';
	if (place->epoch != EPOCH_NONE)
		n = snprintf(buf, 96, "epoch %lld%s", (long long)place->epoch, place->step != STEP_NONE ? " " : "");
	if (place->step != STEP_NONE)
		n += snprintf(buf + n, 96 - (size_t)n, "step %lld", (long long)place->step);
	if (place->step != STEP_NONE && place->n_steps != STEP_NONE)
		snprintf(buf + n, 96 - (size_t)n, " of %lld", (long long)place->n_steps);
	return buf;
}
#define PLACE_TEXT(place) render_place((place), (char[96]){0})

static void answer_step(const struct verification *self, enum order order, struct verify_check *ret)
{
	if (order == ORDER_PASSED || (order == ORDER_UNKNOWN && verify_is_done(self)))
		ret->answer = ANSWER_YES;
	else if (verify_is_end(self))
		ret->answer = order == ORDER_BEHIND ? ANSWER_NO : ANSWER_UNKNOWN;
}

void verify_step(const struct verification *self, struct verify_check *ret)
{
	const struct position *position = facts_furthest(&self->triage->facts);
	const struct furthest *then = &self->crash->furthest, *now = position ? &position->furthest : NULL;
	const char *done = verify_is_done(self) ? "the run is done; " : "";

	answer_step(self, now && then->number ? compare_places(then, now) : ORDER_UNKNOWN, ret);
	if (!now) {
		snprintf(ret->text, sizeof(ret->text), "%sno step is seen", done);
		return;
	}
	point(ret, position->source, now->number);
	if (!then->number)
		snprintf(ret->text, sizeof(ret->text), "%s%s; the step of the crash is not known", done,
			 PLACE_TEXT(now));
	else
		snprintf(ret->text, sizeof(ret->text), "%s%s; the crash was at %s", done, PLACE_TEXT(now),
			 PLACE_TEXT(then));
}

void verify_checkpoint(const struct verification *self, struct verify_check *ret)
{
	const struct fact *fact = self->triage->verdict.checkpoint;

	if (!fact) {
		ret->answer = verify_is_end(self) ? ANSWER_NO : ANSWER_UNKNOWN;
		snprintf(ret->text, sizeof(ret->text), "no checkpoint is seen%s",
			 verify_is_end(self) ? " before the end" : "");
		return;
	}
	ret->answer = ANSWER_YES;
	snprintf(ret->text, sizeof(ret->text), "%s", fact->reading.words[0] ? fact->reading.words : fact->text);
	point(ret, fact->source, fact->number);
}

/* ---- memory ---- */

static bool is_of_gpu(enum kind kind)
{
	return kind == KIND_TRUE_OOM || kind == KIND_FRAGMENTATION || kind == KIND_CO_TENANT;
}

static bool is_of_limit(enum kind kind)
{
	return kind == KIND_CONTAINER_LIMIT || kind == KIND_POD_LIMIT;
}

static int64_t sane(int64_t bytes)
{
	return bytes > 0 && bytes <= FIGURE_MAX ? bytes : FIGURE_NONE;
}

/* The room of the new run: the card, or the limit. `ret_is_own`: as the new run shows it, not only the crash. */
static int64_t find_room(const struct verification *self, bool *ret_is_own)
{
	const struct facts *facts = &self->triage->facts;
	bool is_gpu = is_of_gpu(self->crash->kind);
	enum figure figure = is_gpu ? FIGURE_CAPACITY : FIGURE_LIMIT;
	int64_t room = sane(self->triage->verdict.figures.bytes[figure]);

	for (size_t i = 0; i < facts->sources.n && !is_gpu; i++)
		room = MAX(room, sane(facts->sources.items[i].origin.limit_bytes));
	for (size_t i = 0; i < facts->positions.n && is_gpu; i++)
		room = MAX(room, sane(facts->positions.items[i].device.bytes[FIGURE_CAPACITY]));
	if (is_gpu && room == FIGURE_NONE)
		room = sane(facts->card.total);
	*ret_is_own = room != FIGURE_NONE;
	return room != FIGURE_NONE ? room : sane(self->crash->figures.bytes[figure]);
}

/* The greatest of one member of all positions, with the step of the last figure of any. @return FIGURE_NONE: none. */
static struct peak find_peak(const struct verification *self, size_t member, struct verify_check *ret)
{
	const struct facts *facts = &self->triage->facts;
	struct peak peak = {.value = FIGURE_NONE, .step = STEP_NONE};

	for (size_t i = 0; i < facts->positions.n; i++) {
		const char *position = (const char *)&facts->positions.items[i];
		const struct peak *one = (const void *)(position + member);

		peak.step = MAX(peak.step, one->step);
		if (one->value <= peak.value)
			continue;
		peak.value = one->value;
		point(ret, facts->positions.items[i].source, one->number);
	}
	return peak;
}
#define FIND_PEAK(self, member, ret) find_peak((self), offsetof(struct position, member), (ret))

/* Whether the figures go on to where the crash was: what was used before does not prove what is used there. */
static bool is_measured_there(const struct verification *self, struct peak peak)
{
	const struct furthest *then = &self->crash->furthest;

	return then->step == STEP_NONE || then->epoch > 0 || then->n_falls || peak.step >= then->step ||
	       verify_is_done(self);
}

/* `is_all`: the peak is of all that counts, so that a small one proves the margin. */
static void answer_peak(const struct verification *self, const char *what, int64_t peak, bool is_all,
			struct verify_check *ret)
{
	bool is_own;
	int64_t room = find_room(self, &is_own);

	if (room == FIGURE_NONE) {
		snprintf(ret->text, sizeof(ret->text), "%s is %s; of how much is not known", what, FIGURE_TEXT(peak));
		return;
	}
	if (peak <= room - room / MARGIN_PART)
		ret->answer = is_all ? ANSWER_YES : ANSWER_UNKNOWN;
	else if (is_own || (is_of_gpu(self->crash->kind) && peak <= room))
		ret->answer = ANSWER_NO;
	snprintf(ret->text, sizeof(ret->text), "%s is %s of %s (%lld %%)%s", what, FIGURE_TEXT(peak), FIGURE_TEXT(room),
		 (long long)(100.0 * (double)peak / (double)room), is_own ? "" : ", as of the crash");
}

static void answer_gpu_peak(const struct verification *self, struct verify_check *ret)
{
	const struct card *card = &self->triage->facts.card;
	struct peak peak = FIND_PEAK(self, peak_reserved, ret);

	if (peak.value != FIGURE_NONE) {
		answer_peak(self, "the greatest reserved memory", peak.value, is_measured_there(self, peak), ret);
		return;
	}
	peak = FIND_PEAK(self, peak_allocated, ret);
	if (peak.value != FIGURE_NONE) {
		answer_peak(self, "the greatest allocated memory, without what else is reserved,", peak.value, false,
			    ret);
		return;
	}
	if (card->used == FIGURE_NONE)
		return;
	point(ret, card->source, card->number);
	answer_peak(self, "the memory in use when nvidia-smi ran", card->used, false, ret);
}

void verify_peak(const struct verification *self, struct verify_check *ret)
{
	struct peak peak;

	snprintf(ret->text, sizeof(ret->text), "no peak is seen");
	if (is_of_gpu(self->crash->kind)) {
		answer_gpu_peak(self, ret);
		return;
	}
	if (!is_of_limit(self->crash->kind)) {
		snprintf(ret->text, sizeof(ret->text), "the memory of one run says nothing about %s",
			 triage_kinds[self->crash->kind].name);
		return;
	}
	peak = FIND_PEAK(self, peak_cgroup, ret);
	if (peak.value != FIGURE_NONE) {
		answer_peak(self, "the peak of the cgroup", peak.value, is_measured_there(self, peak), ret);
		return;
	}
	peak = FIND_PEAK(self, peak_rss, ret);
	if (peak.value != FIGURE_NONE)
		answer_peak(self, "the resident memory of one process", peak.value, false, ret);
}

void verify_gap(const struct verification *self, struct verify_check *ret)
{
	const struct facts *facts = &self->triage->facts;
	const struct position *found = NULL;
	bool is_own;
	int64_t room = is_of_gpu(self->crash->kind) ? find_room(self, &is_own) : FIGURE_NONE;
	int64_t margin = room != FIGURE_NONE ? room / 20 : GAP_MARGIN_BYTES;
	bool is_growing = false;

	for (size_t i = 0; i < facts->positions.n && !is_growing; i++) {
		const struct position *position = &facts->positions.items[i];

		is_growing = trend_is_growing(&position->gap, margin);
		if (position->gap.n && (is_growing || !found || position->gap.n > found->gap.n))
			found = position;
	}
	if (!found) {
		snprintf(ret->text, sizeof(ret->text), "no samples of reserved and allocated memory");
		return;
	}
	if (found->gap.n >= TREND_SAMPLES_MIN)
		ret->answer = is_growing ? ANSWER_NO : ANSWER_YES;
	point(ret, found->source, found->gap_number);
	snprintf(ret->text, sizeof(ret->text), "%s in the first of %llu samples, %s in the last%s",
		 FIGURE_TEXT(found->gap.first), (unsigned long long)found->gap.n, FIGURE_TEXT(found->gap.last),
		 found->gap.n < TREND_SAMPLES_MIN ? "; 8 are needed" : "");
}

/* ---- others on the card ---- */

/* Whether others than this run, by what it reserved, hold at least a quarter of a card. `otherwise`: where that is not
 * known. */
static bool is_large_beside(const struct verification *self, int64_t used, int64_t total, bool otherwise)
{
	struct verify_check ignored;
	int64_t own = FIND_PEAK(self, peak_reserved, &ignored).value;

	return own == FIGURE_NONE || total <= 0 ? otherwise : used - own >= total / 4;
}

static void answer_processes(const struct verification *self, const struct card *card, struct verify_check *ret)
{
	bool is_large = is_large_beside(self, card->used, card->total, false);

	point(ret, card->source, card->number);
	snprintf(ret->text, sizeof(ret->text), "nvidia-smi lists %d process%s on one GPU%s", card->most_processes,
		 card->most_processes == 1 ? "" : "es", is_large ? ", and others hold at least a quarter of it" : "");
	if (card->most_processes == 1 && !is_large)
		ret->answer = ANSWER_YES;
	else if (card->most_processes > 1 && (is_large || self->crash->kind == KIND_CO_TENANT))
		ret->answer = ANSWER_NO;
}

void verify_co_tenant(const struct verification *self, struct verify_check *ret)
{
	const struct facts *facts = &self->triage->facts;
	const struct verdict *verdict = &self->triage->verdict;
	const struct fact *zombie = facts_first(facts, SIGNAL_GPU_ZOMBIE);

	snprintf(ret->text, sizeof(ret->text), "no list of the GPU's processes");
	if (verdict->kind == KIND_CO_TENANT && verdict->fact) {
		ret->answer = ANSWER_NO;
		snprintf(ret->text, sizeof(ret->text), "others hold %s of %s",
			 FIGURE_TEXT(verdict->figures.bytes[FIGURE_OTHERS]),
			 FIGURE_TEXT(verdict->figures.bytes[FIGURE_CAPACITY]));
		point(ret, verdict->fact->source, verdict->fact->number);
	} else if (zombie) {
		/* nvidia-smi within a container lists no process, so that the memory may be this run's own. */
		if (is_large_beside(self, zombie->reading.figures.bytes[FIGURE_OTHERS],
				    zombie->reading.figures.bytes[FIGURE_CAPACITY], true))
			ret->answer = ANSWER_NO;
		snprintf(ret->text, sizeof(ret->text), "%s of the GPU are in use without a process",
			 FIGURE_TEXT(zombie->reading.figures.bytes[FIGURE_OTHERS]));
		point(ret, zombie->source, zombie->number);
	} else if (facts->card.most_processes >= 0) {
		answer_processes(self, &facts->card, ret);
	}
}

/* ---- throughput ---- */

static const struct position *find_rate(const struct verification *self)
{
	const struct facts *facts = &self->triage->facts;

	for (size_t i = 0; i < facts->positions.n; i++) {
		const struct position *position = &facts->positions.items[i];

		if (position->rate.value != FIGURE_NONE &&
		    (self->crash->rate == FIGURE_NONE || position->rate_unit == self->crash->rate_unit))
			return position;
	}
	return NULL;
}

/* Steps of another batch take another time. */
static bool is_comparable(const struct verification *self, const struct position *position)
{
	int64_t then = self->crash->furthest.n_steps, now = position->furthest.n_steps;

	return self->crash->rate > 0 &&
	       (position->rate_unit != RATE_STEPS || then == STEP_NONE || now == STEP_NONE || then == now);
}

void verify_throughput(const struct verification *self, struct verify_check *ret)
{
	const struct position *position = find_rate(self);
	int64_t then = self->crash->rate, now = position ? position->rate.value : FIGURE_NONE;
	const char *unit = rate_names[position ? position->rate_unit : self->crash->rate_unit];

	snprintf(ret->text, sizeof(ret->text), "no throughput is seen in a unit of the crash");
	if (!position)
		return;
	point(ret, position->source, position->rate.number);
	snprintf(ret->text, sizeof(ret->text), "%lld.%02lld %s; that of the crash is not known",
		 (long long)(now / 1000), (long long)(now % 1000 / 10), unit);
	if (then == FIGURE_NONE)
		return;
	snprintf(ret->text, sizeof(ret->text), "%lld.%02lld %s, before %lld.%02lld%s", (long long)(now / 1000),
		 (long long)(now % 1000 / 10), unit, (long long)(then / 1000), (long long)(then % 1000 / 10),
		 is_comparable(self, position) ? "" : ", with another number of steps");
	if (is_comparable(self, position))
		ret->answer = now < then - then / 10 ? ANSWER_NO : ANSWER_YES;
}
