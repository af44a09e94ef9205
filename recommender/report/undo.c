/* SPDX-License-Identifier: Apache-2.0 */
/* undo: a workload keeps its own values from now on. A word of a person in its profiles (spec.modeCap), which admission
 * obeys and nothing collects; what was learned stays. */
#include "report/plain.h"
#include "report/question.h"
#include "report/report_commands.h"

#include <errno.h>
#include <stdio.h>

#define COMMAND "memtamer-recommender undo"
#define CAP	"observe"

struct undoing {
	const struct cli_args *args;
	struct question question;
	bool is_release;
	struct knowledge knowledge;
	const struct known *first; /* of what is meant; NULL: nothing */
	size_t n_profiles, n_set, n_as_they_were, n_left;
	size_t n_replaced; /* of those set: where another cap was before */
};

/* ---- what is meant ---- */

static bool is_another(const struct known *a, const struct known *b)
{
	return !streq(known_namespace(a), known_namespace(b)) || !streq(known_workload(a), known_workload(b));
}

static void name_all(const struct undoing *self)
{
	const struct known *said = NULL;

	for (size_t i = 0; i < self->knowledge.items.n; i++) {
		const struct known *known = &self->knowledge.items.items[i];
		char workload[PLAIN_BYTES];

		if (!question_is_of(&self->question, known) || (said && !is_another(said, known)))
			continue;
		fprintf(stderr, "  -n %s %s\n", known_namespace(known), plain_text(known_workload(known), workload));
		said = known;
	}
}

/* One workload, whose roles and containers are all meant. @return an exit code. */
static int find(struct undoing *self)
{
	char workload[PLAIN_BYTES];
	bool is_one = true;

	for (size_t i = 0; i < self->knowledge.items.n; i++) {
		const struct known *known = &self->knowledge.items.items[i];

		if (!question_is_of(&self->question, known))
			continue;
		is_one &= !self->first || !is_another(self->first, known);
		self->first = self->first ? self->first : known;
		self->n_profiles += known->profile != NULL;
	}
	if (!self->first)
		return question_unknown(&self->question, COMMAND);
	if (!is_one) {
		fprintf(stderr, COMMAND ": %s is more than one workload; say which:\n", self->question.operand);
		name_all(self);
		return EXIT_USAGE;
	}
	if (!self->n_profiles) {
		fprintf(stderr,
			COMMAND ": %s %s has no profile (yet), so there is nothing that a pod of it is sized by\n",
			known_namespace(self->first), plain_text(known_workload(self->first), workload));
		return EXIT_USAGE;
	}
	return EXIT_CLEAN;
}

/* ---- one profile ---- */

static void say(const struct profile *profile, const char *what, const char *more)
{
	char workload[PLAIN_BYTES], role[PLAIN_BYTES], container[PLAIN_BYTES];

	printf("%s  %s%s%s  container %s: %s%s\n", profile->namespace_name, plain_text(profile->workload, workload),
	       profile->role[0] ? "  role " : "", plain_text(profile->role, role),
	       plain_text(profile->container, container), what, more);
}

/* Another cap than ours is another word: a lower one stays, and none is taken back but our own. */
static bool is_left(const struct undoing *self, const char *cap)
{
	return self->is_release ? cap[0] && !streq(cap, CAP) : streq(cap, "off");
}

static void say_set(struct undoing *self, const struct profile *profile)
{
	const char *other = self->is_release ? profile->spec->mode_cap_before_undo : profile->spec->mode_cap;

	if (self->is_release)
		say(profile, other[0] ? "spec.modeCap is as before the undo: " : "spec.modeCap " CAP " taken away",
		    other);
	else
		say(profile, other[0] ? "spec.modeCap is " CAP " now, and was before: " : "spec.modeCap is " CAP " now",
		    other);
	self->n_replaced += other[0] != '\0';
	self->n_set++;
}

static int write_one(const struct undoing *self, struct store *store, const struct profile *profile, struct err *err)
{
	return (self->is_release ? store_release_mode_cap : store_undo_mode_cap)(store, profile->namespace_name,
										 profile->name, CAP, err);
}

static int set_one(struct undoing *self, struct store *store, const struct profile *profile, struct err *err)
{
	const char *cap = profile->spec->mode_cap;
	int r;

	if (is_left(self, cap)) {
		/* Its undo was ended by hand: what that had replaced is forgotten. */
		if (self->is_release && profile->spec->mode_cap_before_undo[0]) {
			r = write_one(self, store, profile, err);
			if (r < 0)
				return r;
		}
		say(profile, "left as it is: spec.modeCap is ", cap);
		self->n_left++;
		return 0;
	}
	r = write_one(self, store, profile, err);
	if (r < 0)
		return r;
	if (r || (self->is_release && !cap[0])) {
		say(profile, self->is_release ? "has no cap of an undo" : "was undone before", "");
		self->n_as_they_were++;
		return 0;
	}
	say_set(self, profile);
	return 0;
}

static int set_all(struct undoing *self, struct store *store, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < self->knowledge.items.n && !r; i++) {
		const struct known *known = &self->knowledge.items.items[i];

		if (known->profile && question_is_of(&self->question, known))
			r = set_one(self, store, known->profile, err);
	}
	return r;
}

/* ---- the store, for writing ---- */

static void explain_locked(const struct undoing *self)
{
	char workload[PLAIN_BYTES];

	fprintf(stderr,
		"A recommender that runs with this file has it for itself. Stop it, say `%s%s -n %s %s` again, start "
		"it.\n",
		"undo", self->is_release ? " --release" : "", known_namespace(self->first),
		plain_text(known_workload(self->first), workload));
}

static int write_all(struct undoing *self, struct err *err)
{
	struct store_access access = STORE_ACCESS_INIT;
	int r = store_access_open_args(self->args, self->knowledge.config, true, "memtamer-recommender", &access, err);

	if (!r)
		r = set_all(self, access.store, err);
	store_access_release(&access);
	return r;
}

static void conclude(const struct undoing *self)
{
	char text[PLAIN_BYTES];
	const char *namespace_name = known_namespace(self->first);
	const char *workload = plain_text(known_workload(self->first), text);

	if (self->n_left)
		printf("\nA cap other than " CAP " is somebody else's word: change spec.modeCap by hand.\n");
	if (!self->n_set)
		return;
	if (self->is_release) {
		printf("\nNew pods of %s are sized again, as far as the mode of the namespace allows.\n", workload);
		return;
	}
	printf("\nNew pods of %s keep what their manifest says; memtamer goes on to watch, warn and learn.\n"
	       "Not changed: pods that exist, and objects whose templates were patched, keep what they have.\n"
	       "To take it back: undo --release -n %s %s\n",
	       workload, namespace_name, workload);
	if (self->n_replaced)
		printf("That brings the cap back that was there before.\n");
}

static int undo(struct undoing *self)
{
	struct err err = ERR_INIT;
	char text[sizeof(err.where) + sizeof(err.msg)];
	int code = find(self), r;

	if (code)
		return code;
	r = write_all(self, &err);
	if (r) {
		fprintf(stderr, COMMAND ": %s\n", err_text(&err, text, sizeof(text)));
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
	int code;

	if (args->n_operands != 1)
		return cli_usage_error(COMMAND, "expected one KIND/NAME, as in Job/resnet-train");
	code = question_load(&self.question, COMMAND, args, args->operands[0], &self.knowledge);
	if (!code)
		code = undo(&self);
	knowledge_release(&self.knowledge);
	return code;
}

static const struct cli_option undo_options[] = {
	KNOWLEDGE_OPTIONS,
	{"release", 0, CLI_FLAG, NULL, "take an undo back", NULL},
	{.name = NULL},
};

const struct cli_command undo_command = {
	.name = "undo",
	.operands = "KIND/NAME",
	.help = "give a workload its own values back, for good",
	.options = undo_options,
	.run = undo_run,
};
