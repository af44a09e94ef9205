/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* node_rules: what the settings of a node mean for the memory of training: a table of findings in the order of harm, of
 * which docs/TRIAGE.md is made. All that match are listed. Pure. */
#include "triage/node.h"

enum harm { HARM_HIGH, HARM_MEDIUM, HARM_LOW, HARM_NONE };
extern const char *const node_harm_names[];

struct node_rule;
struct node_finding {
	const struct node_rule *rule;
	int64_t bytes; /* the figure that it is about; FIGURE_NONE: it has none */
	char text[512];
};

struct node_rule {
	const char *name;
	enum harm harm;
	bool (*test)(const struct node *node, struct node_finding *ret); /* sets bytes and text if it holds */
	const char *when;						 /* for people: when it holds */
	const char *action;						 /* for people: what to do; NULL: nothing */
};

extern const struct node_rule node_rules[];
extern const size_t n_node_rules;

/** Whether row `i` of the table holds, and what it says. */
bool node_find(const struct node *node, size_t i, struct node_finding *ret);
