/* SPDX-License-Identifier: Apache-2.0 */
/* Every state of a rotation, and every point where one may have been left, with the next step. */
#include "base/timefmt.h"
#include "certs/rotation.h"
#include "support/test.h"

#include <string.h>

#define LIFE	(30 * TIME_DAY_MS)
#define CA_LIFE (360 * TIME_DAY_MS)
#define NOW	(1000 * CA_LIFE)
#define MONO	(500 * TIME_HOUR_MS)
#define SETTLED (MONO - TIME_HOUR_MS)

/* Certificates are numbers here; a state is written in short:
 *	cas     "32": CA 3 signs, CA 2 is older
 *	leaf    '2': good, of CA 2; '-': none
 *	bundles what the caBundles hold, one text a webhook, separated by '|'; "!": no configuration, "?": not read */
struct state {
	const char *name;
	const char *cas;
	bool has_key;
	char leaf, in_use;
	const char *mutating, *validating;
	int64_t covered_ms; /* how long they have held it */
	enum rotation_action action;
	const char *detail; /* leaf: "as-is", "in-use", "make"; fill: configurations; +: CAs adopted; -: pruned */
};

static void make_id(char number, unsigned char *id)
{
	memset(id, 0, ROTATION_ID_BYTES);
	id[0] = (unsigned char)number;
}

/* CAs from '5' on are new, '4' has little of its last third left, '3' is superseded with a leaf alive, '2' superseded
 * and its last leaf over, '1' ended, '0' begins in twenty days; letters are not ours. */
static struct rotation_cert make_ca(char number)
{
	struct rotation_cert cert = {.made_ms = NOW - CA_LIFE / 10, .until_ms = NOW + CA_LIFE / 10 * 9};

	make_id(number, cert.id);
	cert.is_ours = number <= '9';
	if (number == '4') {
		cert.made_ms = NOW - CA_LIFE / 10 * 8;
		cert.until_ms = NOW + CA_LIFE / 10 * 2;
	}
	if (number == '3')
		cert.last_leaf_ms = NOW + LIFE / 3;
	if (number == '2')
		cert.last_leaf_ms = NOW - TIME_DAY_MS;
	if (number == '1')
		cert.until_ms = NOW - TIME_DAY_MS;
	if (number == '0') {
		cert.made_ms = NOW + 20 * TIME_DAY_MS;
		cert.until_ms = cert.made_ms + CA_LIFE;
	}
	return cert;
}

static struct rotation_leaf make_leaf(char issuer)
{
	struct rotation_leaf leaf = {.is_good = issuer != '-', .has_names = true};

	leaf.made_ms = NOW - LIFE / 10;
	leaf.until_ms = NOW + LIFE / 10 * 9;
	make_id(issuer, leaf.issuer);
	return leaf;
}

static struct rotation_bundle make_bundle(const char *text, size_t n)
{
	struct rotation_bundle bundle = {.n = 0};

	for (size_t i = 0; i < n; i++)
		if (text[i] == '#')
			bundle.has_garbage = true;
		else
			bundle.certs[bundle.n++] = make_ca(text[i]);
	for (size_t i = 0; i < bundle.n; i++)
		bundle.certs[i].last_leaf_ms = 0;
	return bundle;
}

static struct rotation_bundle entries[ROTATION_CONFIGURATIONS][4];

static struct rotation_configuration make_configuration(size_t which, const char *text)
{
	struct rotation_configuration configuration = {.presence = ROTATION_PRESENT, .entries = entries[which]};

	if (*text == '!' || *text == '?') {
		configuration.presence = *text == '!' ? ROTATION_ABSENT : ROTATION_UNREAD;
		return configuration;
	}
	for (;;) {
		size_t n = strcspn(text, "|");

		entries[which][configuration.n_entries++] = make_bundle(text, n);
		if (!text[n])
			return configuration;
		text += n + 1;
	}
}

static struct rotation_view make_view(const struct state *state)
{
	struct rotation_view view = {.now_ms = NOW, .monotonic_ms = MONO};
	const char *texts[] = {state->mutating, state->validating};

	view.times = rotation_times_for(LIFE, CA_LIFE, 0);
	view.secret.presence = !state->cas ? ROTATION_ABSENT : *state->cas == '?' ? ROTATION_UNREAD : ROTATION_PRESENT;
	view.secret.has_ca_key = state->has_key;
	view.secret.leaf = make_leaf('-');
	if (view.secret.presence == ROTATION_PRESENT) {
		size_t n = *state->cas == '_' ? 0 : strlen(state->cas);

		view.secret.is_blank = *state->cas == '_';
		for (size_t i = 0; i < n; i++)
			view.secret.cas.certs[view.secret.cas.n++] = make_ca(state->cas[i]);
		view.secret.leaf = make_leaf(state->leaf);
	}
	rotation_observe_secret(&view.known, &view.secret, MONO - state->covered_ms);
	view.in_use = make_leaf(state->in_use);
	for (size_t i = 0; i < ROTATION_CONFIGURATIONS; i++) {
		view.configurations[i] = make_configuration(i, texts[i]);
		rotation_observe(&view.coverage[i], &view.configurations[i], MONO - state->covered_ms);
	}
	return view;
}

static bool holds(const struct rotation_bundle *cas, const unsigned char *id)
{
	for (size_t i = 0; i < cas->n; i++)
		if (memcmp(cas->certs[i].id, id, ROTATION_ID_BYTES) == 0)
			return true;
	return false;
}

static void add_others(const struct rotation_bundle *cas, const struct rotation_bundle *than, const char *prefix,
		       char *buf)
{
	for (size_t i = 0; i < cas->n; i++)
		if (!holds(than, cas->certs[i].id)) {
			sprintf(buf + strlen(buf), "%s%c", prefix, cas->certs[i].id[0]);
			prefix = "";
		}
}

static void describe(const struct rotation_view *view, const struct rotation_plan *plan, char *buf)
{
	static const char *const leaves[] = {"as-is", "in-use", "make"};
	bool makes_ca = plan->action == ROTATION_CREATE || plan->action == ROTATION_ADD_CA;

	assert_int_equal(plan->makes_ca, makes_ca);
	strcpy(buf, makes_ca ? leaves[plan->leaf] : "");
	if (makes_ca || plan->action == ROTATION_ADOPT)
		add_others(&plan->cas, &view->secret.cas, "+", buf);
	if (plan->action == ROTATION_FILL)
		sprintf(buf, "%s%s", plan->fill_mask & 1 ? "m" : "", plan->fill_mask & 2 ? "v" : "");
	if (plan->action == ROTATION_PRUNE)
		add_others(&view->secret.cas, &plan->cas, "-", buf);
	if (plan->action == ROTATION_SWITCH_LEAF)
		assert_int_equal(plan->leaf, ROTATION_LEAF_MAKE);
}

#define HOUR TIME_HOUR_MS
static const struct state states[] = {
	/* not everything is known */
	{"Secret not read", "?", false, '-', '-', "", "", HOUR, ROTATION_WAIT, ""},
	{"configuration not read", "5", true, '5', '-', "5", "?", HOUR, ROTATION_WAIT, ""},
	/* the very first time */
	{"nothing at all", NULL, false, '-', '-', "!", "!", 0, ROTATION_CREATE, "make"},
	{"configurations without CA", NULL, false, '-', '-', "|", "", 0, ROTATION_CREATE, "make"},
	{"created, not filled", "5", true, '5', '5', "|", "", 0, ROTATION_FILL, "mv"},
	{"one filled", "5", true, '5', '5', "5|5", "", 0, ROTATION_FILL, "v"},
	{"one webhook of two filled", "5", true, '5', '5', "5|", "5", 0, ROTATION_FILL, "m"},
	{"all filled", "5", true, '5', '5', "5|5", "5", 0, ROTATION_WAIT, ""},
	{"no configuration", "5", true, '5', '5', "!", "!", 0, ROTATION_WAIT, ""},
	{"one is back", "5", true, '5', '5', "5", "", 0, ROTATION_FILL, "v"},
	/* a new leaf */
	{"leaf of a clock that was ahead", "5", true, 'f', '5', "5", "5", HOUR, ROTATION_SWITCH_LEAF, ""},
	{"leaf without end of life", "5", true, 'n', '5', "5", "5", HOUR, ROTATION_SWITCH_LEAF, ""},
	/* a new CA */
	{"CA is due", "4", true, '4', '4', "4", "4", HOUR, ROTATION_ADD_CA, "as-is"},
	{"CA has ended", "1", true, '1', '1', "1", "1", HOUR, ROTATION_ADD_CA, "as-is"},
	{"CA of a clock that was ahead", "0", true, '0', '0', "0", "0", HOUR, ROTATION_ADD_CA, "as-is"},
	{"a new CA beside one of the future", "50", true, '5', '5', "50", "50", HOUR, ROTATION_WAIT, ""},
	{"added, not filled", "53", true, '3', '3', "3|3", "3", HOUR, ROTATION_FILL, "mv"},
	{"half filled", "53", true, '3', '3', "53|53", "3", 0, ROTATION_FILL, "v"},
	{"filled, not settled", "53", true, '3', '3', "53|53", "53", 9999, ROTATION_SETTLE, ""},
	{"filled and settled", "53", true, '3', '3', "53|53", "53", 10000, ROTATION_SWITCH_LEAF, ""},
	{"settled without configurations", "53", true, '3', '3', "!", "!", 10000, ROTATION_SWITCH_LEAF, ""},
	{"not settled without configurations", "53", true, '3', '3', "!", "!", 9999, ROTATION_SETTLE, ""},
	{"switched, the old leaf alive", "53", true, '5', '5', "53|53", "53", HOUR, ROTATION_WAIT, ""},
	{"the old leaf over", "52", true, '5', '5', "52|52", "52", HOUR, ROTATION_FILL, "mv"},
	{"the old CA out of one", "52", true, '5', '5', "5|5", "52", HOUR, ROTATION_FILL, "v"},
	{"the old CA out of both", "52", true, '5', '5', "5|5", "5", HOUR, ROTATION_PRUNE, "-2"},
	{"the old leaf over, one still shows it", "52", true, '5', '2', "52", "52", HOUR, ROTATION_WAIT, ""},
	{"an ended CA to drop", "51", true, '5', '5', "51", "5", HOUR, ROTATION_FILL, "m"},
	/* the Secret is lost or broken */
	{"lost, and we still show a leaf", NULL, false, '-', '5', "5", "5", HOUR, ROTATION_CREATE, "in-use+5"},
	{"lost, and we show none", NULL, false, '-', '-', "5", "5", HOUR, ROTATION_CREATE, "as-is+5"},
	{"lost, others' CA in the caBundle", NULL, false, '-', '-', "x", "", HOUR, ROTATION_CREATE, "as-is"},
	{"no leaf, a new CA not filled", "65", true, '-', '-', "5", "5", HOUR, ROTATION_FILL, "mv"},
	{"no leaf, a new CA filled", "65", true, '-', '-', "65", "65", 0, ROTATION_SETTLE, ""},
	{"no leaf, a new CA settled", "65", true, '-', '-', "65", "65", HOUR, ROTATION_SWITCH_LEAF, ""},
	{"broken leaf", "5", true, '-', '5', "5", "5", HOUR, ROTATION_SWITCH_LEAF, ""},
	{"broken key", "5", false, '5', '5', "5", "5", HOUR, ROTATION_ADD_CA, "as-is"},
	{"broken CAs", "", false, '-', '5', "5", "5", HOUR, ROTATION_ADD_CA, "in-use+5"},
	{"broken CAs, and we show nothing", "", false, '-', '-', "5", "5", HOUR, ROTATION_ADD_CA, "as-is+5"},
	{"an emptied Secret", "", false, '-', '-', "", "", HOUR, ROTATION_ADD_CA, "as-is"},
	{"a blank Secret", "_", false, '-', '-', "", "!", HOUR, ROTATION_ADD_CA, "make"},
	{"a blank Secret, and a trusted CA", "_", false, '-', '-', "5", "!", HOUR, ROTATION_ADD_CA, "as-is+5"},
	{"a Secret of before", "5", true, '5', '6', "65", "65", HOUR, ROTATION_ADOPT, "+6"},
	/* caBundles that others wrote */
	{"another's CA beside ours", "5", true, '5', '5', "5x", "5", HOUR, ROTATION_WAIT, ""},
	{"another's CA instead of ours", "5", true, '5', '5', "x", "5", HOUR, ROTATION_FILL, "m"},
	{"nonsense beside ours", "5", true, '5', '5', "5#", "5", HOUR, ROTATION_FILL, "m"},
	{"emptied", "5", true, '5', '5', "", "5", HOUR, ROTATION_FILL, "m"},
};

static void test_states(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(states); i++) {
		struct rotation_view view = make_view(&states[i]);
		struct rotation_plan plan;
		char detail[64];

		test_row(states[i].name);
		if (states[i].leaf == 'n') { /* of CA 5, and due */
			make_id('5', view.secret.leaf.issuer);
			view.secret.leaf.made_ms = NOW - LIFE / 10 * 7;
			view.secret.leaf.until_ms = NOW + LIFE / 10 * 3;
		}
		if (states[i].leaf == 'f') {
			make_id('5', view.secret.leaf.issuer);
			view.secret.leaf.made_ms = NOW + 20 * TIME_DAY_MS;
			view.secret.leaf.until_ms = view.secret.leaf.made_ms + LIFE;
		}
		rotation_decide(&view, &plan);
		describe(&view, &plan, detail);
		assert_string_equal(rotation_action_names[plan.action], rotation_action_names[states[i].action]);
		assert_string_equal(detail, states[i].detail);
		assert_non_null(plan.why);
		assert_true(plan.wake_ms >= 0);
	}
}

static struct rotation_view calm(void)
{
	static const struct state state = {"", "5", true, '5', '5', "5", "5", HOUR, ROTATION_WAIT, ""};

	return make_view(&state);
}

static void test_refused_is_left_alone(void **state)
{
	(void)state;
	struct rotation_view view = calm();
	struct rotation_plan plan;
	int64_t wake_ms;

	view.secret.is_refused = true;
	view.in_use.is_good = false;
	rotation_decide(&view, &plan);
	assert_int_equal(plan.action, ROTATION_WAIT);
	assert_int_equal(plan.wake_ms, INT64_MAX);
	assert_false(rotation_may_use(&view, &wake_ms));
}

/* Two thirds of a life; a replica with jitter comes up to a twentieth later. */
static void test_when_due(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		int64_t age_permille, jitter_permille;
		bool is_due;
	} rows[] = {
		{"young", 100, 0, false},
		{"just before", 666, 0, false},
		{"two thirds", 667, 0, true},
		{"others come later", 667, 1000, false},
		{"the last of them", 717, 1000, true},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct rotation_view view = calm();
		struct rotation_plan plan;

		test_row(rows[i].name);
		view.times.jitter_permille = rows[i].jitter_permille;
		view.secret.leaf.made_ms = NOW - LIFE / 1000 * rows[i].age_permille;
		view.secret.leaf.until_ms = view.secret.leaf.made_ms + LIFE;
		rotation_decide(&view, &plan);
		assert_int_equal(plan.action, rows[i].is_due ? ROTATION_SWITCH_LEAF : ROTATION_WAIT);
		if (rows[i].is_due)
			continue;
		/* it wakes when it is due, and not before */
		view.now_ms += plan.wake_ms - 1;
		rotation_decide(&view, &plan);
		assert_int_equal(plan.action, ROTATION_WAIT);
		view.now_ms += 1;
		rotation_decide(&view, &plan);
		assert_int_equal(plan.action, ROTATION_SWITCH_LEAF);
	}
}

static void test_names(void **state)
{
	(void)state;
	struct rotation_view view = calm();
	struct rotation_plan plan;

	view.secret.leaf.has_names = false;
	rotation_decide(&view, &plan);
	assert_int_equal(plan.action, ROTATION_SWITCH_LEAF);
	assert_true(plan.keeps_names);
	view.now_ms = view.secret.leaf.until_ms;
	rotation_decide(&view, &plan);
	assert_int_equal(plan.action, ROTATION_SWITCH_LEAF);
	assert_false(plan.keeps_names);
}

static void test_coverage(void **state)
{
	(void)state;
	struct rotation_coverage coverage = {.presence = ROTATION_UNREAD};
	struct rotation_configuration seen = make_configuration(0, "54|5");

	rotation_observe(&coverage, &seen, 100);
	assert_int_equal(coverage.n, 1); /* not in every webhook is in none */
	assert_int_equal(coverage.certs[0].since_ms, 100);
	seen = make_configuration(0, "45|54");
	rotation_observe(&coverage, &seen, 200);
	assert_int_equal(coverage.n, 2);
	assert_int_equal(coverage.certs[0].id[0], '4');
	assert_int_equal(coverage.certs[0].since_ms, 200);
	assert_int_equal(coverage.certs[1].since_ms, 100);
	/* gone for a moment: it starts anew */
	seen = make_configuration(0, "4|54");
	rotation_observe(&coverage, &seen, 300);
	seen = make_configuration(0, "45|54");
	rotation_observe(&coverage, &seen, 400);
	assert_int_equal(coverage.certs[1].since_ms, 400);
	seen = make_configuration(0, "!");
	rotation_observe(&coverage, &seen, 500);
	rotation_observe(&coverage, &seen, 600);
	assert_int_equal(coverage.presence, ROTATION_ABSENT);
	assert_int_equal(coverage.absent_since_ms, 500);
	/* without webhooks it is as good as gone */
	seen = (struct rotation_configuration){.presence = ROTATION_PRESENT};
	rotation_observe(&coverage, &seen, 700);
	assert_int_equal(coverage.absent_since_ms, 500);
}

static void test_may_use(void **state)
{
	(void)state;
	static const struct {
		struct state state;
		bool may;
		int64_t wake_ms;
	} rows[] = {
		{{"nothing shown, nobody trusts", "5", true, '5', '-', "", "!", 0, 0, ""}, true, 0},
		{{"nothing shown, trusted", "5", true, '5', '-', "5", "5", 0, 0, ""}, true, 0},
		{{"nothing shown, not trusted yet", "5", true, '5', '-', "4", "5", 0, 0, ""}, false, INT64_MAX},
		{{"the old one alive, not covered", "5", true, '5', '4', "4", "4", HOUR, 0, ""},
		 false,
		 LIFE / 10 * 9}, /* its end */
		{{"the old one alive, not settled", "54", true, '5', '4', "54", "54", 4000, 0, ""}, false, 6000},
		{{"the old one alive, settled", "54", true, '5', '4', "54", "54", 10000, 0, ""}, true, 0},
		{{"the old one not trusted", "5", true, '5', '4', "5", "5", 0, 0, ""}, true, 0},
		{{"no leaf there", "5", true, '-', '4', "54", "54", HOUR, 0, ""}, false, INT64_MAX},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct rotation_view view = make_view(&rows[i].state);
		int64_t wake_ms;

		test_row(rows[i].state.name);
		assert_int_equal(rotation_may_use(&view, &wake_ms), rows[i].may);
		if (!rows[i].may)
			assert_int_equal(wake_ms, rows[i].wake_ms);
	}
}

/* A Secret of a backup holds a leaf that has ended: what is shown stays, and a new leaf is made. */
static void test_ended_leaf(void **state)
{
	(void)state;
	struct rotation_view view = calm();
	struct rotation_plan plan;
	int64_t wake_ms;

	view.secret.leaf.made_ms = NOW - 2 * LIFE;
	view.secret.leaf.until_ms = NOW - LIFE;
	assert_false(rotation_may_use(&view, &wake_ms));
	assert_int_equal(wake_ms, INT64_MAX);
	rotation_decide(&view, &plan);
	assert_int_equal(plan.action, ROTATION_SWITCH_LEAF);
	/* also where ours is trusted by nobody: the other is no better */
	make_id('6', view.in_use.issuer);
	assert_false(rotation_may_use(&view, &wake_ms));
	/* to start with, it is better than no answer at all */
	view.in_use.is_good = false;
	assert_true(rotation_may_use(&view, &wake_ms));
}

/* A caBundle with others' certificates beyond what is looked at is changed for our CAs only. */
static void test_long_bundle(void **state)
{
	(void)state;
	static const struct {
		const char *name, *cas, *entry;
		enum rotation_action action, short_action;
	} rows[] = {
		{"ours beside others'", "5", "5x", ROTATION_WAIT, ROTATION_WAIT},
		{"another's has ended", "5", "5xe", ROTATION_WAIT, ROTATION_FILL},
		{"garbage", "5", "5x#", ROTATION_WAIT, ROTATION_FILL},
		{"ours is missing", "5", "x", ROTATION_FILL, ROTATION_FILL},
		{"one of ours has ended", "5", "51x", ROTATION_FILL, ROTATION_FILL},
		{"one of ours is over", "52", "52x", ROTATION_FILL, ROTATION_FILL},
		{"one of ours that the Secret lacks", "5", "56x", ROTATION_ADOPT, ROTATION_ADOPT},
	};

	for (size_t i = 0; i < 2 * ARRAY_LEN(rows); i++) {
		const struct state one = {"", rows[i / 2].cas, true, '5', '5', rows[i / 2].entry, "!", HOUR, 0, ""};
		struct rotation_view view = make_view(&one);
		struct rotation_bundle *entry = &entries[0][0];
		struct rotation_plan plan;

		test_row(rows[i / 2].name);
		entry->n_more = i % 2 ? 100 : 0;
		for (size_t k = 0; k < entry->n; k++)
			if (entry->certs[k].id[0] == 'e')
				entry->certs[k].until_ms = NOW - TIME_DAY_MS;
		rotation_decide(&view, &plan);
		assert_int_equal(plan.action, i % 2 ? rows[i / 2].action : rows[i / 2].short_action);
		if (plan.action == ROTATION_WAIT)
			assert_true(plan.wake_ms > TIME_HOUR_MS);
		assert_int_equal(rotation_is_right(&view, entry),
				 plan.action == ROTATION_WAIT || plan.action == ROTATION_ADOPT);
	}
}

/* Clocks may differ: for a while nobody adds a CA and nobody takes it out. */
static void test_between_wanted_and_over(void **state)
{
	(void)state;
	static const struct state rest = {"", "53", true, '5', '5', "53", "53", HOUR, ROTATION_WAIT, ""};
	static const struct state without = {"", "53", true, '5', '5', "5", "5", HOUR, ROTATION_WAIT, ""};
	int64_t end_ms = NOW + LIFE / 3;
	static const struct {
		int64_t after_ms;
		enum rotation_action with, without;
	} rows[] = {
		{0, ROTATION_WAIT, ROTATION_FILL},	  {HOUR / 2 - 1, ROTATION_WAIT, ROTATION_FILL},
		{HOUR / 2, ROTATION_WAIT, ROTATION_WAIT}, {HOUR - 1, ROTATION_WAIT, ROTATION_WAIT},
		{HOUR, ROTATION_FILL, ROTATION_PRUNE},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct rotation_view view = make_view(&rest);
		struct rotation_plan plan;

		view.now_ms = end_ms + rows[i].after_ms;
		rotation_decide(&view, &plan);
		assert_int_equal(plan.action, rows[i].with);
		view = make_view(&without);
		view.now_ms = end_ms + rows[i].after_ms;
		rotation_decide(&view, &plan);
		assert_int_equal(plan.action, rows[i].without);
	}
}

/* The leaves of a CA that gives way may live for a whole lifetime yet, whatever the Secret says. */
static void test_ends_of_leaves(void **state)
{
	(void)state;
	static const struct {
		struct state state;
		char ca;
		int64_t last_leaf_ms;
	} rows[] = {
		{{"the CA before", "4", true, '4', '4', "4", "4", HOUR, 0, ""}, '4', NOW + LIFE},
		{{"an older one", "43", true, '4', '4', "4", "4", HOUR, 0, ""}, '3', NOW + LIFE / 3},
		{{"of a new leaf", "53", true, '3', '3', "53", "53", HOUR, 0, ""}, '5', NOW + LIFE},
		{{"adopted", "5", true, '5', '5', "65", "5", HOUR, 0, ""}, '6', NOW + LIFE},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct rotation_view view = make_view(&rows[i].state);
		struct rotation_plan plan;
		size_t at = 0;

		test_row(rows[i].state.name);
		rotation_decide(&view, &plan);
		while (at < plan.cas.n && plan.cas.certs[at].id[0] != (unsigned char)rows[i].ca)
			at++;
		assert_true(at < plan.cas.n);
		assert_int_equal(plan.cas.certs[at].last_leaf_ms, rows[i].last_leaf_ms);
	}
}

/* A full bundle: the oldest gives way to a new CA, but not the one that signed the leaf. */
static void test_full_bundle(void **state)
{
	(void)state;
	for (size_t is_of_oldest = 0; is_of_oldest < 2; is_of_oldest++) {
		struct rotation_view view = calm();
		struct rotation_bundle *cas = &view.secret.cas;
		struct rotation_plan plan;

		for (size_t i = 0; i < ROTATION_CERTS; i++) {
			cas->certs[i] = make_ca('4');
			make_id((char)(i + 1), cas->certs[i].id);
		}
		cas->n = ROTATION_CERTS;
		make_id(is_of_oldest ? ROTATION_CERTS : 1, view.secret.leaf.issuer);
		rotation_decide(&view, &plan);
		assert_int_equal(plan.action, ROTATION_ADD_CA);
		assert_int_equal(plan.cas.n, ROTATION_CERTS - 1);
		assert_int_equal(plan.cas.certs[0].id[0], 1);
		assert_int_equal(plan.cas.certs[ROTATION_CERTS - 2].id[0], ROTATION_CERTS - !is_of_oldest);
	}
}

static void test_short_lives(void **state)
{
	(void)state;
	struct rotation_times times = rotation_times_for(LIFE, CA_LIFE, 0);

	assert_int_equal(times.settle_ms, 10000);
	assert_int_equal(times.skew_ms, HOUR);
	times = rotation_times_for(30000, 90000, 0);
	assert_int_equal(times.settle_ms, 3000);
	assert_int_equal(times.skew_ms, 3000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_states),
		cmocka_unit_test(test_refused_is_left_alone),
		cmocka_unit_test(test_when_due),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_coverage),
		cmocka_unit_test(test_may_use),
		cmocka_unit_test(test_ended_leaf),
		cmocka_unit_test(test_long_bundle),
		cmocka_unit_test(test_between_wanted_and_over),
		cmocka_unit_test(test_ends_of_leaves),
		cmocka_unit_test(test_full_bundle),
		cmocka_unit_test(test_short_lives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
