/* SPDX-License-Identifier: Apache-2.0 */
/* What the verdict means for the pods: which pod it is about, and who still holds accelerators for nothing. */
#include "postmortem/postmortem_internal.h"

#include <stdio.h>

static const struct ended_pod *find_pod(const struct postmortem *self, size_t group)
{
	for (size_t i = 0; i < self->pods.n; i++)
		if (self->pods.items[i].group == group)
			return &self->pods.items[i];
	return NULL;
}

/* The pod of the fact that decided; where a file of the command line decided, the one that ended first. */
static const struct ended_pod *find_subject(const struct postmortem *self)
{
	const struct triage *triage = self->triage;
	size_t group = 0;

	if (triage->verdict.fact)
		group = facts_group_of(&triage->facts, triage->verdict.fact);
	return find_pod(self, group ? group : 1);
}

struct held {
	size_t n_pods;
	int64_t n_accelerators;
	const char *accelerator;
};

/* Whether a pod that was created later does the work of the dead one: a retry, or the same rank once more. */
static bool is_replaced(const struct postmortem *self, const struct ended_pod *dead)
{
	for (size_t i = 0; i < self->pods.n; i++) {
		const struct ended_pod *pod = &self->pods.items[i];

		if (streq(pod->slot, dead->slot) && pod->created_ms > dead->created_ms &&
		    (dead->slot[0] || pod->created_ms >= dead->ended_ms))
			return true;
	}
	return false;
}

static struct held count_held(const struct postmortem *self, const struct ended_pod *dead)
{
	struct held held = {.accelerator = ""};

	for (size_t i = 0; i < self->pods.n; i++) {
		const struct ended_pod *pod = &self->pods.items[i];

		if (pod == dead || !ended_pod_is_running(pod) || pod->ended_ms != INT64_MAX)
			continue;
		held.n_pods++;
		held.n_accelerators += pod->n_accelerators;
		if (*pod->accelerator)
			held.accelerator = pod->accelerator;
	}
	return held;
}

/* A rank has died and the others wait for it. */
static void say_hung(struct postmortem *self, const struct ended_pod *dead)
{
	CLEANUP(strbuf_release) struct strbuf command = STRBUF_INIT(2 * KIB);
	struct held held = count_held(self, dead);
	char name[2 * LIMIT_NAME_BYTES];

	if (!held.n_pods || !self->siblings_of.kind || !ended_pod_is_over(dead) || is_replaced(self, dead))
		return;
	owner_render(&self->siblings_of, name, sizeof(name));
	owner_render_stop(&self->siblings_of, self->namespace, &command);
	if (held.n_accelerators)
		triage_note(&self->triage->next,
			    "%s   # gang-hung: pod %s is dead, and %zu pod%s of %s still %s and %s %lld %s",
			    strbuf_text(&command), dead->name, held.n_pods, PLURAL(held.n_pods), name,
			    held.n_pods == 1 ? "runs" : "run", held.n_pods == 1 ? "holds" : "hold",
			    (long long)held.n_accelerators, held.accelerator);
	else
		triage_note(&self->triage->next, "%s   # gang-hung: pod %s is dead, and %zu pod%s of %s still %s",
			    strbuf_text(&command), dead->name, held.n_pods, PLURAL(held.n_pods), name,
			    held.n_pods == 1 ? "runs" : "run");
}

/* Of a rank that only lost its peers, the others say more. */
static void say_others(struct postmortem *self)
{
	enum signal_id signal = self->triage->verdict.rule->signal;
	char name[2 * LIMIT_NAME_BYTES];

	if (self->owner.label || !self->siblings_of.kind || self->pods.n < 2)
		return;
	if (signal != SIGNAL_COLLECTIVE_TIMEOUT && signal != SIGNAL_TERMINATED && signal != SIGNAL_COUNT_ &&
	    signal != SIGNAL_EXIT_137 && signal != SIGNAL_EXIT_CODE)
		return;
	owner_render(&self->siblings_of, name, sizeof(name));
	triage_note(&self->triage->next,
		    "kubectl memtamer triage -n %s %s   # all ranks: the first that died has the reason",
		    self->namespace, name);
}

void postmortem_conclude(struct postmortem *self)
{
	const struct ended_pod *pod = find_subject(self);
	struct triage_subject *subject = &self->triage->subject;

	if (!pod)
		return;
	snprintf(subject->pod, sizeof(subject->pod), "%s", pod->name);
	snprintf(subject->namespace, sizeof(subject->namespace), "%s", self->namespace);
	snprintf(subject->node, sizeof(subject->node), "%s", pod->node);
	if (pod->ended_ms != INT64_MAX)
		say_hung(self, pod);
	else
		triage_note(&self->triage->unseen, "No container of pod %s has failed%s.", pod->name,
			    ended_pod_is_running(pod) ? "; it runs" : "");
	say_others(self);
	postmortem_say_claims(self, pod);
}
