/* SPDX-License-Identifier: Apache-2.0 */
#include "triage/triage.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

/* Lines of one signal that the answer quotes. */
#define QUOTED_OF_A_SIGNAL 3

int triage_init(struct triage *self)
{
	*self = (struct triage){.n_evidence = 0};
	return facts_init(&self->facts);
}

void triage_release(struct triage *self)
{
	facts_release(&self->facts);
}

static int compare_order(const void *a, const void *b)
{
	const struct fact *const *one = a, *const *other = b;

	return ((*one)->order > (*other)->order) - ((*one)->order < (*other)->order);
}

static bool is_quoted(const struct triage *self, const struct fact *fact)
{
	size_t n = 0;

	for (size_t i = 0; i < self->n_evidence; i++) {
		if (self->evidence[i] == fact || streq(self->evidence[i]->text, fact->text))
			return true;
		n += self->evidence[i]->signal == fact->signal;
	}
	return n >= QUOTED_OF_A_SIGNAL;
}

/* The signals stand in the order of their weight. */
static void choose_evidence(struct triage *self)
{
	self->n_evidence = 0;
	if (self->verdict.fact)
		self->evidence[self->n_evidence++] = self->verdict.fact;
	for (int signal = 0; signal < SIGNAL_COUNT_; signal++)
		for (size_t i = 0; i < self->facts.items.n && self->n_evidence < ARRAY_LEN(self->evidence); i++) {
			const struct fact *fact = &self->facts.items.items[i];

			if ((int)fact->signal == signal && !is_quoted(self, fact))
				self->evidence[self->n_evidence++] = fact;
		}
	if (self->n_evidence > 1)
		qsort(self->evidence + 1, self->n_evidence - 1, sizeof(self->evidence[0]), compare_order);
}

void triage_decide(struct triage *self)
{
	rules_decide(&self->facts, &self->verdict);
	choose_evidence(self);
}

/* The uid of a pod has 36 characters; systemd's driver writes underscores for its dashes. */
static const char *find_uid(const char *path, char *uid, size_t size)
{
	for (const char *at = strstr(path, "pod"); at; at = strstr(at + 1, "pod")) {
		size_t n = strspn(at + 3, "0123456789abcdefABCDEF-_");

		if (n < 32 || n >= size)
			continue;
		for (size_t i = 0; i < n; i++)
			uid[i] = at[3 + i] == '_' ? '-' : at[3 + i];
		uid[n] = '\0';
		return at + 3 + n;
	}
	return NULL;
}

bool triage_render_cgroup(const char *path, char *buf, size_t size)
{
	char uid[64], id[80];
	const char *rest = find_uid(path, uid, sizeof(uid)), *start;

	if (!rest)
		return false;
	start = strchr(rest, '/');
	if (!start) {
		snprintf(buf, size, "pod %s", uid);
		return true;
	}
	start++;
	/* cri-containerd-ID.scope, crio-ID.scope, docker-ID.scope, ID */
	for (const char *dash = strchr(start, '-'); dash; dash = strchr(dash + 1, '-'))
		start = dash + 1;
	reading_copy(id, sizeof(id), start, "./");
	if (strlen(id) > 12)
		id[12] = '\0';
	snprintf(buf, size, "pod %s, container %s", uid, id);
	return true;
}
