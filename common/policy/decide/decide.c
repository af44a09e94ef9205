/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/decide.h"

#include "policy/decide/decide_internal.h"

#include <errno.h>
#include <string.h>

/* What the stages found, in one. */
static struct decision decision_of(const struct pod_facts *facts, const struct pod_mode *mode,
				   const struct deciding *fitted, const struct findings *findings)
{
	struct decision ret = {.mode = mode->mode,
			       .mode_why = mode->why,
			       .pod_class = facts->pod_class,
			       .class_why = facts->class_why,
			       .skip = facts->skip		? facts->skip
				       : mode->mode == MODE_OFF ? "mode-off"
								: NULL,
			       .identity = facts->identity,
			       .profile = facts->profile,
			       .ask = facts->ask,
			       .findings = findings->items,
			       .n_findings = findings->n,
			       .sizes = fitted->sizes,
			       .n_sizes = fitted->n_sizes,
			       .set = fitted->set,
			       .n_set = fitted->n_set,
			       .variable = fitted->variable,
			       .envs = fitted->envs,
			       .n_envs = fitted->n_envs,
			       .is_denied = findings->is_denied,
			       .is_partial = facts->is_runtime,
			       .is_annotated = mode->is_annotated};

	memcpy(ret.workload_id, facts->workload_id, sizeof(ret.workload_id));
	return ret;
}

/* The stages in their order. Each one reads what those before it returned and changes nothing of that. */
static int run_stages(const struct decide_input *input, struct arena *arena, struct decision *ret)
{
	struct pod_mode mode = {.mode = MODE_OFF, .why = ""};
	struct findings findings = {.n = 0};
	struct deciding fitted = {.n_sizes = 0};
	struct pod_facts facts;
	int r = decide_facts(input, arena, &facts);

	if (!r && !facts.skip)
		mode = decide_mode(&facts);
	if (!r && mode.mode > MODE_OFF)
		r = size_fit(&facts, &mode, &fitted);
	if (!r && mode.mode > MODE_OFF)
		r = decide_allocator(&fitted);
	if (!r && mode.mode > MODE_OFF)
		r = decide_checks(&fitted, &findings);
	*ret = decision_of(&facts, &mode, &fitted, &findings);
	return r;
}

int decide(const struct decide_input *input, struct arena *arena, struct decision *ret, struct err *err)
{
	struct decision decision;
	int r = run_stages(input, arena, &decision);

	/* Texts are made of parts: a part that could not be allocated would read "(null)". */
	if (!r && arena->has_failed)
		r = -ENOMEM;
	if (r)
		return err_set(err, r, "no memory left to decide about a pod");
	*ret = decision;
	return 0;
}
