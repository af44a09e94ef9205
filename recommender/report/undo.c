/* SPDX-License-Identifier: Apache-2.0 */
/* undo_command: `undo` makes a workload keep its own values. It sets spec.modeCap in the workload's profiles, which
 * admission obeys and nothing deletes; what was learned is kept. */
#include "report/question.h"
#include "report/report_commands.h"

#include "base/plain.h"

#include <errno.h>
#include <stdio.h>

#define CAP "observe"

struct undoing {
	const struct cli_args *args;
	bool is_release;
	struct knowledge knowledge; /* entries of the workload, with all its roles and containers */
	size_t n_profiles, n_set, n_left;
	size_t n_replaced; /* of these, profiles that had another cap before */
};

/* ---- which workload ---- */

static bool is_another(const struct known *a, const struct known *b)
{
	return !streq(known_namespace(a), known_namespace(b)) || !streq(known_workload(a), known_workload(b));
}

/* The entries are sorted by workload. @return an exit code: whether it is one workload, with profiles. */
static int check(struct undoing *self)
{
	const struct known *items = self->knowledge.items.items;
	size_t n = self->knowledge.items.n;

	if (is_another(&items[0], &items[n - 1])) {
		fprintf(stderr, "%s: %s is more than one workload; name one:\n", self->args->command,
			self->args->operands[0]);
		for (size_t i = 0; i < n; i++)
			if (!i || is_another(&items[i - 1], &items[i]))
				fprintf(stderr, "  -n %s %s\n", known_namespace(&items[i]),
					PLAIN(known_workload(&items[i])));
		return EXIT_USAGE;
	}
	for (size_t i = 0; i < n; i++)
		self->n_profiles += items[i].profile != NULL;
	if (self->n_profiles)
		return EXIT_CLEAN;
	fprintf(stderr, "%s: %s %s has no profile (yet), so no pod of it is sized from history\n", self->args->command,
		known_namespace(items), PLAIN(known_workload(items)));
	return EXIT_USAGE;
}

/* ---- one profile ---- */

static const char *what_was_done(const struct undoing *self, bool has_other)
{
	if (self->is_release)
		return has_other ? "spec.modeCap is as before the undo: " : "spec.modeCap " CAP " removed";
	return has_other ? "spec.modeCap is " CAP " now, and was before: " : "spec.modeCap is " CAP " now";
}

/* Undo keeps a lower cap, and release only removes the cap that undo sets. If that was removed by hand, release forgets
 * what undo had replaced. */
static int set_one(struct undoing *self, struct store *store, const struct known *known, struct err *err)
{
	const struct profile *profile = known->profile;
	const char *cap = profile->spec->mode_cap;
	const char *other = self->is_release ? profile->spec->mode_cap_before_undo : cap, *more = "", *what;
	bool is_left = self->is_release ? cap[0] && !streq(cap, CAP) : streq(cap, "off");
	int r = 1;

	if (!is_left || (self->is_release && other[0]))
		r = (self->is_release ? store_release_mode_cap : store_undo_mode_cap)(store, profile->namespace_name,
										      profile->name, CAP, err);
	if (r < 0)
		return r;
	if (is_left) {
		what = "left as it is: spec.modeCap is ";
		more = cap;
		self->n_left++;
	} else if (r || (self->is_release && !cap[0])) {
		what = self->is_release ? "has no cap of an undo" : "was undone before";
	} else {
		what = what_was_done(self, other[0]);
		more = other;
		self->n_replaced += other[0] != '\0';
		self->n_set++;
	}
	known_print(known, stdout);
	printf(": %s%s\n", what, more);
	return 0;
}

/* ---- opening the store for writing ---- */

static void explain_locked(const struct undoing *self)
{
	fprintf(stderr,
		"A running recommender has locked this file. Stop it, run `%s%s -n %s %s`, and start it again.\n",
		self->args->command, self->is_release ? " --release" : "", known_namespace(self->knowledge.items.items),
		PLAIN(known_workload(self->knowledge.items.items)));
}

static int write_all(struct undoing *self, struct err *err)
{
	struct store_access access = STORE_ACCESS_INIT;
	int r = store_access_open_args(self->args, self->knowledge.config, true, "memtamer-recommender", &access, err);

	for (size_t i = 0; i < self->knowledge.items.n && !r; i++) {
		const struct known *known = &self->knowledge.items.items[i];

		if (known->profile)
			r = set_one(self, access.store, known, err);
	}
	store_access_release(&access);
	return r;
}

/* The options that say where the store is, as they were given. */
static void print_sources(const struct cli_args *args)
{
	static const char *const names[] = {"config", "store", "kubeconfig", "context"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (cli_has(args, names[i]))
			printf(" --%s %s", names[i], PLAIN(cli_get(args, names[i])));
}

static void conclude(const struct undoing *self)
{
	const char *namespace_name = known_namespace(self->knowledge.items.items);
	const char *workload = PLAIN(known_workload(self->knowledge.items.items));

	if (self->n_left)
		printf("\nA cap other than " CAP " was set by a person: change spec.modeCap by hand.\n");
	if (!self->n_set)
		return;
	if (self->is_release) {
		printf("\nNew pods of %s are sized again, within the mode of the namespace.\n", workload);
		return;
	}
	printf("\nNew pods of %s keep the values of their manifest; memtamer continues to observe, warn and learn.\n"
	       "Not changed: pods that exist, and objects whose templates were patched, keep what they have.\n"
	       "To revert it: %s --release -n %s %s",
	       workload, self->args->command, namespace_name, workload);
	print_sources(self->args);
	printf("\n");
	if (self->n_replaced)
		printf("That restores the cap that was set before.\n");
}

static int undo(struct undoing *self)
{
	struct err err = ERR_INIT;
	int code = check(self), r;

	if (code)
		return code;
	r = write_all(self, &err);
	if (r) {
		cli_complain(self->args, NULL, &err);
		if (r == -EWOULDBLOCK)
			explain_locked(self);
		if (self->n_set)
			fprintf(stderr, "%zu of %zu profiles were changed before.\n", self->n_set, self->n_profiles);
		return EXIT_DEPENDENCY;
	}
	conclude(self);
	return self->n_left ? EXIT_FINDINGS : EXIT_CLEAN;
}

static int undo_run(const struct cli_args *args)
{
	struct undoing self = {.args = args, .is_release = cli_has(args, "release"), .knowledge = KNOWLEDGE_INIT};
	int code = question_load(args, &self.knowledge);

	if (!code)
		code = undo(&self);
	knowledge_release(&self.knowledge);
	return code;
}

static const struct cli_option undo_options[] = {
	KNOWLEDGE_OPTIONS,
	{"release", 0, CLI_FLAG, NULL, "Revert an undo", NULL},
	{.name = NULL},
};

const struct cli_command undo_command = {
	.name = "undo",
	.operands = "KIND/NAME",
	.help = "Keep the values of a workload's manifest from now on",
	.example = "-n ml-team Job/resnet-train",
	.options = undo_options,
	.run = undo_run,
};
