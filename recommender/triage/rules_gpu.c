/* SPDX-License-Identifier: Apache-2.0 */
/* The rules about the memory of a GPU. T tried, C capacity, F free, U reserved but unallocated, O what others hold:
 * C - F - all that this process holds. All arithmetic is on whole bytes below 2^50, so that no product overflows. */
#include "triage/rules.h"

#include <stdio.h>

/* ---- its figures ---- */

static void set_if_missing(struct figures *figures, enum figure figure, int64_t bytes)
{
	if (!figures_has(figures, figure) && bytes >= 0)
		figures_set(figures, figure, bytes);
}

static bool is_sane(const struct figures *figures, enum figure figure)
{
	return figures->bytes[figure] >= 0 && figures->bytes[figure] <= FIGURE_MAX;
}

/* U, where the message has it only as a difference. TensorFlow's allocator holds its whole limit. */
static void add_unallocated(struct figures *figures, enum framework framework)
{
	const int64_t *bytes = figures->bytes;

	if (is_sane(figures, FIGURE_RESERVED) && is_sane(figures, FIGURE_ALLOCATED))
		set_if_missing(figures, FIGURE_UNALLOCATED,
			       MAX(bytes[FIGURE_RESERVED] - bytes[FIGURE_ALLOCATED], (int64_t)0));
	if ((framework == FRAMEWORK_TENSORFLOW || framework == FRAMEWORK_JAX) && is_sane(figures, FIGURE_CAPACITY) &&
	    is_sane(figures, FIGURE_ALLOCATED) && !figures_has(figures, FIGURE_FREE))
		set_if_missing(figures, FIGURE_UNALLOCATED,
			       MAX(bytes[FIGURE_CAPACITY] - bytes[FIGURE_ALLOCATED], (int64_t)0));
}

/* All that this process holds; FIGURE_NONE: not known. Each figure may be missing or, where the driver does not show
 * the process, 0, so that the greatest one counts. */
static int64_t held_bytes(const struct figures *figures)
{
	const int64_t *bytes = figures->bytes;
	int64_t held = MAX(bytes[FIGURE_PROCESS], bytes[FIGURE_RESERVED]);

	if (!is_sane(figures, FIGURE_ALLOCATED))
		return held;
	return MAX(held,
		   bytes[FIGURE_ALLOCATED] + (is_sane(figures, FIGURE_UNALLOCATED) ? bytes[FIGURE_UNALLOCATED] : 0));
}

/* O. The list of processes counts only where there is nothing else: in a container the driver shows this process under
 * a number that PyTorch does not know, and so as another one. */
static void add_others(struct figures *figures)
{
	const int64_t *bytes = figures->bytes;
	int64_t held = held_bytes(figures);

	if (!is_sane(figures, FIGURE_CAPACITY) || !is_sane(figures, FIGURE_FREE) || held < 0 || held > FIGURE_MAX)
		return;
	figures_set(figures, FIGURE_OTHERS, MAX(bytes[FIGURE_CAPACITY] - bytes[FIGURE_FREE] - held, (int64_t)0));
}

/* TensorFlow says what was free before it took all of it: the rest of the card is held by others. Its limit stands for
 * the capacity in the message; with a limit of the program's own, it says nothing of others. */
static void add_device(const struct facts *facts, struct verdict *ret)
{
	const struct figures *device = &fact_position(facts, ret->fact)->device;
	int64_t room; /* what the allocator may have at most */

	if ((ret->fact->reading.framework != FRAMEWORK_TENSORFLOW && ret->fact->reading.framework != FRAMEWORK_OTHER) ||
	    figures_has(&ret->figures, FIGURE_OTHERS) || !is_sane(device, FIGURE_CAPACITY) ||
	    facts_first(facts, SIGNAL_GPU_FRACTION))
		return;
	room = is_sane(device, FIGURE_FREE) ? device->bytes[FIGURE_FREE] : ret->figures.bytes[FIGURE_CAPACITY];
	figures_set(&ret->figures, FIGURE_CAPACITY, device->bytes[FIGURE_CAPACITY]);
	if (room != FIGURE_NONE)
		figures_set(&ret->figures, FIGURE_OTHERS, MAX(device->bytes[FIGURE_CAPACITY] - room, (int64_t)0));
}

/* The deadly allocation and its figures, with what a sample of the same rank adds. */
static bool take_oom(const struct facts *facts, struct verdict *ret)
{
	const struct fact *fact = rules_find_deadly(facts);
	const struct figures *sample;

	if (!fact)
		return false;
	ret->fact = fact;
	ret->figures = fact->reading.figures;
	for (size_t i = 0; i < facts->items.n; i++) {
		const struct fact *other = &facts->items.items[i];

		if (other->signal == SIGNAL_GPU_OOM && other->rank == fact->rank && other->source == fact->source &&
		    !figures_has(&ret->figures, FIGURE_TRIED) && !rules_is_recovered(facts, other))
			figures_fill(&ret->figures, &other->reading.figures);
	}
	sample = &fact_position(facts, fact)->sample;
	if (!figures_has(&ret->figures, FIGURE_ALLOCATED) && !figures_has(&ret->figures, FIGURE_RESERVED) &&
	    !figures_has(&ret->figures, FIGURE_UNALLOCATED) && !figures_has(&ret->figures, FIGURE_PROCESS))
		figures_fill(&ret->figures, sample);
	add_unallocated(&ret->figures, fact->reading.framework);
	add_others(&ret->figures);
	add_device(facts, ret);
	return true;
}

/* At step 0 the job never fitted; later something grew. */
static void set_cause(const struct facts *facts, struct verdict *ret)
{
	const struct position *position = fact_position(facts, ret->fact);

	if (text_has(ret->fact->text, "desired GPU memory utilization"))
		ret->cause = "start-check";
	else if (text_has(ret->fact->text, "KV cache|cache blocks|mem-fraction-static"))
		ret->cause = "kv-cache";
	else if (position->n_samples >= 4 && position->n_rises + 1 >= position->n_samples &&
		 position->last_bytes - position->first_bytes > position->first_bytes / 5)
		ret->cause = "leak";
	else if (ret->fact->step == 0)
		ret->cause = "static-sizing";
	else if (ret->fact->step > 0 || position->epoch > 1 || position->epoch_milli > 0)
		ret->cause = "growth";
	else if (!position->epoch && facts_first(facts, SIGNAL_STARTING))
		ret->cause = "static-sizing";
}

/* ---- the rules, in their order ---- */

bool rule_gpu_after_timeout(const struct facts *facts, struct verdict *ret)
{
	const struct fact *timeout = facts_first(facts, SIGNAL_COLLECTIVE_TIMEOUT);

	if (!timeout || !take_oom(facts, ret) || ret->figures.bytes[FIGURE_TRIED] != FIGURE_ABSURD ||
	    timeout->order > ret->fact->order)
		return false;
	ret->fact = timeout;
	return true;
}

bool rule_gpu_absurd_request(const struct facts *facts, struct verdict *ret)
{
	if (!take_oom(facts, ret))
		return false;
	if ((ret->figures.bytes[FIGURE_TRIED] != FIGURE_ABSURD || is_sane(&ret->figures, FIGURE_CAPACITY)) &&
	    ret->figures.bytes[FIGURE_CAPACITY] != 0 && ret->figures.bytes[FIGURE_CAPACITY] != FIGURE_ABSURD)
		return false;
	snprintf(ret->why, sizeof(ret->why),
		 "The message's figures make no sense: tried to allocate %s on a GPU of %s.",
		 FIGURE_TEXT(ret->figures.bytes[FIGURE_TRIED]), FIGURE_TEXT(ret->figures.bytes[FIGURE_CAPACITY]));
	return true;
}

static bool has_both(const struct figures *figures)
{
	return is_sane(figures, FIGURE_TRIED) && is_sane(figures, FIGURE_CAPACITY);
}

bool rule_gpu_larger_than_card(const struct facts *facts, struct verdict *ret)
{
	const int64_t *bytes = ret->figures.bytes;

	if (!take_oom(facts, ret) || !is_sane(&ret->figures, FIGURE_CAPACITY) ||
	    bytes[FIGURE_TRIED] <= bytes[FIGURE_CAPACITY])
		return false;
	set_cause(facts, ret);
	if (!ret->cause)
		ret->cause = "static-sizing";
	/* TPU compilers add up what a program needs. */
	snprintf(ret->why, sizeof(ret->why),
		 text_has(ret->fact->text, "Used ") && strcasestr(ret->fact->text, "hbm")
			 ? "The program needs %s, which is more than the whole chip's %s."
			 : "One allocation of %s is larger than the whole GPU of %s.",
		 FIGURE_TEXT(bytes[FIGURE_TRIED]), FIGURE_TEXT(bytes[FIGURE_CAPACITY]));
	return true;
}

/* The figure that contradicts the capacity; figures are rounded to hundredths, and a card has a little more than it
 * shows. */
static enum figure find_absurd(const struct figures *figures)
{
	static const enum figure parts[] = {FIGURE_FREE,	FIGURE_ALLOCATED, FIGURE_RESERVED,
					    FIGURE_UNALLOCATED, FIGURE_PROCESS,	  FIGURE_ALLOWED};
	int64_t capacity = figures->bytes[FIGURE_CAPACITY];

	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		if (figures->bytes[parts[i]] == FIGURE_ABSURD)
			return parts[i];
		if (capacity != FIGURE_NONE && figures->bytes[parts[i]] > capacity + capacity / 16)
			return parts[i];
	}
	return FIGURE_COUNT_;
}

bool rule_gpu_absurd(const struct facts *facts, struct verdict *ret)
{
	enum figure figure;

	if (!take_oom(facts, ret))
		return false;
	figure = find_absurd(&ret->figures);
	if (figure == FIGURE_COUNT_)
		return false;
	snprintf(ret->why, sizeof(ret->why),
		 "The message's figures make no sense: %s is %s on a GPU of %s; it cannot be told what held the "
		 "memory.",
		 figure_rows[figure].meaning, FIGURE_TEXT(ret->figures.bytes[figure]),
		 FIGURE_TEXT(ret->figures.bytes[FIGURE_CAPACITY]));
	return true;
}

bool rule_gpu_process_limit(const struct facts *facts, struct verdict *ret)
{
	const int64_t *bytes = ret->figures.bytes;
	bool is_limited;
	int n;

	if (!take_oom(facts, ret))
		return false;
	/* The backend cudaMallocAsync prints its limit in a line of its own. */
	is_limited = text_has(ret->fact->text, "exceed allowed memory") || facts_first(facts, SIGNAL_GPU_FRACTION);
	if (!figures_has(&ret->figures, FIGURE_ALLOWED) &&
	    !(is_limited && is_sane(&ret->figures, FIGURE_TRIED) && is_sane(&ret->figures, FIGURE_FREE) &&
	      bytes[FIGURE_FREE] >= bytes[FIGURE_TRIED]))
		return false;
	n = snprintf(ret->why, sizeof(ret->why), "The process allows itself only %s",
		     figures_has(&ret->figures, FIGURE_ALLOWED) ? FIGURE_TEXT(bytes[FIGURE_ALLOWED]) : "a part");
	if (figures_has(&ret->figures, FIGURE_CAPACITY))
		n += snprintf(ret->why + n, sizeof(ret->why) - (size_t)n, " of the GPU's %s",
			      FIGURE_TEXT(bytes[FIGURE_CAPACITY]));
	if (figures_has(&ret->figures, FIGURE_TRIED))
		n += snprintf(ret->why + n, sizeof(ret->why) - (size_t)n, ", and %s more was asked for",
			      FIGURE_TEXT(bytes[FIGURE_TRIED]));
	snprintf(ret->why + n, sizeof(ret->why) - (size_t)n, ".");
	return true;
}

bool rule_gpu_fragmentation(const struct facts *facts, struct verdict *ret)
{
	const int64_t *bytes = ret->figures.bytes;
	int64_t tried, unallocated, capacity, others;

	if (!take_oom(facts, ret) || !is_sane(&ret->figures, FIGURE_TRIED) ||
	    !is_sane(&ret->figures, FIGURE_UNALLOCATED))
		return false;
	tried = bytes[FIGURE_TRIED];
	unallocated = bytes[FIGURE_UNALLOCATED];
	capacity = MAX(bytes[FIGURE_CAPACITY], (int64_t)0);
	others = MAX(bytes[FIGURE_OTHERS], (int64_t)0);
	if (unallocated < tried || unallocated * 20 < capacity)
		return false;
	if (capacity && others * 4 >= capacity && others > unallocated)
		return false;
	if (!capacity)
		ret->confidence = CONFIDENCE_MEDIUM;
	snprintf(ret->why, sizeof(ret->why),
		 "%s was asked for while %s of this process were reserved but unallocated (%lld %% of the GPU), in "
		 "pieces too "
		 "small.",
		 FIGURE_TEXT(tried), FIGURE_TEXT(unallocated),
		 capacity ? (long long)(unallocated * 100 / capacity) : 0LL);
	return true;
}

bool rule_gpu_co_tenant(const struct facts *facts, struct verdict *ret)
{
	const int64_t *bytes = ret->figures.bytes;

	if (!take_oom(facts, ret) || !is_sane(&ret->figures, FIGURE_CAPACITY) ||
	    !is_sane(&ret->figures, FIGURE_OTHERS) || bytes[FIGURE_OTHERS] * 4 < bytes[FIGURE_CAPACITY])
		return false;
	rules_say(ret, "Others hold %s of the GPU's %s (%lld %%): ", FIGURE_TEXT(bytes[FIGURE_OTHERS]),
		  FIGURE_TEXT(bytes[FIGURE_CAPACITY]),
		  (long long)(bytes[FIGURE_OTHERS] * 100 / bytes[FIGURE_CAPACITY]));
	if (held_bytes(&ret->figures) < 0)
		rules_say(ret, "capacity minus what was free before the program took any.");
	else
		rules_say(ret, "capacity minus free minus all that this process holds (%s).",
			  FIGURE_TEXT(held_bytes(&ret->figures)));
	return true;
}

/* Every version of PyTorch goes on to what is reserved or cached, and so do the builds for other devices: a message
 * without it was cut. */
static bool is_cut(const struct verdict *verdict)
{
	const struct reading *reading = &verdict->fact->reading;

	return (reading->framework == FRAMEWORK_TORCH || reading->variable == VARIABLE_NPU ||
		reading->variable == VARIABLE_MLU) &&
	       text_has(verdict->fact->text, "Tried to allocate|tried to allocate") &&
	       !figures_has(&verdict->figures, FIGURE_UNALLOCATED);
}

static void say_cut(struct verdict *ret)
{
	const int64_t *bytes = ret->figures.bytes;
	int n = snprintf(ret->why, sizeof(ret->why), "The GPU of %s refused %s", FIGURE_TEXT(bytes[FIGURE_CAPACITY]),
			 FIGURE_TEXT(bytes[FIGURE_TRIED]));

	if (figures_has(&ret->figures, FIGURE_FREE))
		n += snprintf(ret->why + n, sizeof(ret->why) - (size_t)n, " while %s was free",
			      FIGURE_TEXT(bytes[FIGURE_FREE]));
	snprintf(ret->why + n, sizeof(ret->why) - (size_t)n,
		 "; the message ends before its figures for %sreserved memory, so that fragmentation and a co-tenant "
		 "cannot be ruled out.",
		 figures_has(&ret->figures, FIGURE_FREE) ? "" : "free and ");
	ret->confidence = CONFIDENCE_LOW;
}

bool rule_gpu_full(const struct facts *facts, struct verdict *ret)
{
	const int64_t *bytes = ret->figures.bytes;
	int n;

	if (!take_oom(facts, ret) || !has_both(&ret->figures))
		return false;
	set_cause(facts, ret);
	if (bytes[FIGURE_FREE] >= bytes[FIGURE_TRIED]) {
		ret->confidence = CONFIDENCE_MEDIUM;
		snprintf(ret->why, sizeof(ret->why),
			 "%s was refused although %s of the GPU's %s was free by the message, which does not say why.",
			 FIGURE_TEXT(bytes[FIGURE_TRIED]), FIGURE_TEXT(bytes[FIGURE_FREE]),
			 FIGURE_TEXT(bytes[FIGURE_CAPACITY]));
		return true;
	}
	if (is_cut(ret)) {
		/* nvidia-smi may say more. */
		if (facts_first(facts, SIGNAL_GPU_ZOMBIE) || facts_first(facts, SIGNAL_GPU_SHARED))
			return false;
		say_cut(ret);
		return true;
	}
	n = snprintf(ret->why, sizeof(ret->why), "%s was asked for on a GPU of %s", FIGURE_TEXT(bytes[FIGURE_TRIED]),
		     FIGURE_TEXT(bytes[FIGURE_CAPACITY]));
	if (figures_has(&ret->figures, FIGURE_FREE))
		n += snprintf(ret->why + n, sizeof(ret->why) - (size_t)n, ", of which %s was free",
			      FIGURE_TEXT(bytes[FIGURE_FREE]));
	if (figures_has(&ret->figures, FIGURE_UNALLOCATED))
		n += snprintf(ret->why + n, sizeof(ret->why) - (size_t)n,
			      "; %s that was reserved but unallocated would not have helped",
			      FIGURE_TEXT(bytes[FIGURE_UNALLOCATED]));
	snprintf(ret->why + n, sizeof(ret->why) - (size_t)n, ".");
	return true;
}

/* The last failed allocation of a rank. */
static const struct fact *last_oom(const struct facts *facts, const struct fact *of)
{
	const struct fact *last = of;

	for (size_t i = 0; i < facts->items.n; i++) {
		const struct fact *fact = &facts->items.items[i];

		if (fact->signal == SIGNAL_GPU_OOM && fact->source == of->source && fact->rank == of->rank &&
		    fact->order > last->order)
			last = fact;
	}
	return last;
}

/* JAX's pool (`GPU_0_bfc`) has a limit of its own, and fails there without asking the driver: where the driver refuses
 * first, others hold more than the share that is not the pool's. */
bool rule_gpu_pool(const struct facts *facts, struct verdict *ret)
{
	const struct fact *last;

	if (!take_oom(facts, ret) || !text_has(ret->fact->text, "Failed to allocate device memory of"))
		return false;
	last = last_oom(facts, ret->fact);
	return text_has(last->text, "jax|Jax|xla_extension") && text_has(last->text, "_bfc");
}

/* Lines of a traceback between the call and its error. */
#define PINNING_LINES 8

bool rule_gpu_pinned(const struct facts *facts, struct verdict *ret)
{
	const struct fact *oom = rules_find_deadly(facts);

	for (size_t i = 0; oom && !oom->reading.is_exact && i < facts->items.n; i++) {
		const struct fact *call = &facts->items.items[i];

		if (call->signal == SIGNAL_PINNING && call->source == oom->source && call->rank == oom->rank &&
		    call->number < oom->number && oom->number - call->number <= PINNING_LINES)
			ret->fact = oom;
	}
	return ret->fact != NULL;
}

bool rule_gpu_zombie(const struct facts *facts, struct verdict *ret)
{
	ret->fact = facts_first(facts, SIGNAL_GPU_ZOMBIE);
	if (!ret->fact)
		return false;
	ret->figures = ret->fact->reading.figures;
	snprintf(ret->why, sizeof(ret->why),
		 "%s of the GPU's %s are in use, and nvidia-smi lists no process on it: a process of another "
		 "container, or "
		 "one that has died and still holds the memory.",
		 FIGURE_TEXT(ret->figures.bytes[FIGURE_OTHERS]), FIGURE_TEXT(ret->figures.bytes[FIGURE_CAPACITY]));
	return true;
}

bool rule_gpu_shared(const struct facts *facts, struct verdict *ret)
{
	const struct fact *shared = facts_first(facts, SIGNAL_GPU_SHARED);

	if (!shared || !take_oom(facts, ret))
		return false;
	snprintf(ret->why, sizeof(ret->why),
		 "The GPU ran out of memory, and nvidia-smi lists %lld processes that compute on one GPU; the message "
		 "has no figures that would tell how much each of them holds.",
		 (long long)shared->reading.value);
	return true;
}

/* A twentieth of what the process has reserved is unallocated: without T, this is all that speaks for fragments. */
static bool has_gap(const struct figures *figures)
{
	const int64_t *bytes = figures->bytes;

	return is_sane(figures, FIGURE_RESERVED) && is_sane(figures, FIGURE_UNALLOCATED) &&
	       bytes[FIGURE_UNALLOCATED] > 0 && bytes[FIGURE_UNALLOCATED] * 20 >= bytes[FIGURE_RESERVED];
}

static void say_gap(const struct facts *facts, struct verdict *ret)
{
	const int64_t *bytes = ret->figures.bytes;
	uint64_t number = fact_position(facts, ret->fact)->sample_number;

	rules_say(ret, " %s of the %s that the process had reserved (%lld %%) were unallocated",
		  FIGURE_TEXT(bytes[FIGURE_UNALLOCATED]), FIGURE_TEXT(bytes[FIGURE_RESERVED]),
		  (long long)(bytes[FIGURE_UNALLOCATED] * 100 / MAX(bytes[FIGURE_RESERVED], (int64_t)1)));
	if (number)
		rules_say(ret, " by line %llu of its log", (unsigned long long)number);
	rules_say(ret, ": so these may be fragments, and the allocator's setting comes first.");
	if (!streq(ret->cause, "leak"))
		ret->cause = "gap";
}

static void say_words(struct verdict *ret)
{
	static const struct {
		enum figure figure;
		const char *words;
	} parts[] = {
		{FIGURE_TRIED, "asked for"},
		{FIGURE_FREE, "free"},
		{FIGURE_ALLOCATED, "allocated"},
		{FIGURE_NEEDED, "needed by the whole program"},
	};
	const char *between = ": ";

	rules_say(ret, "The GPU ran out of memory");
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		if (is_sane(&ret->figures, parts[i].figure)) {
			rules_say(ret, "%s%s %s", between, FIGURE_TEXT(ret->figures.bytes[parts[i].figure]),
				  parts[i].words);
			between = ", ";
		}
	rules_say(ret, *between == ':' ? "; the message has no figures that would tell a full GPU from fragments or "
					 "co-tenants."
				       : "; the figures that would tell a full GPU from fragments or co-tenants are "
					 "missing.");
}

bool rule_gpu_words(const struct facts *facts, struct verdict *ret)
{
	if (!take_oom(facts, ret))
		return false;
	set_cause(facts, ret);
	if (ret->fact->reading.is_exact && !is_cut(ret))
		ret->confidence = CONFIDENCE_MEDIUM;
	say_words(ret);
	if (has_gap(&ret->figures))
		say_gap(facts, ret);
	return true;
}
