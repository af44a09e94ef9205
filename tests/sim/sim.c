/* SPDX-License-Identifier: Apache-2.0 */
/* sim [--report] [--only NAME] SEED COUNT: runs all scenarios with COUNT seeds, and compares the worst results of each
 * with its row in scenarios.c. */
#include "sim.h"

#include "base/attr.h"
#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>

struct figure {
	const char *name;
	size_t offset;
};

#define FIGURE(member, name)                                                                                           \
	{                                                                                                              \
		name, offsetof(struct sim_result, member)                                                              \
	}

static const struct figure figures[] = {
	FIGURE(low_after, "low after"), FIGURE(high_after, "high after"), FIGURE(request_after, "request after"),
	FIGURE(kills, "kills"),		FIGURE(turns, "turns"),		  FIGURE(regret_percent, "regret %"),
};

static int *figure_of(struct sim_result *result, size_t figure)
{
	return (int *)(void *)((char *)result + figures[figure].offset);
}

struct options {
	bool is_report;
	const char *only;
	uint64_t seed, n_seeds;
};

/* The worst of each figure over all seeds, and their sums. */
struct worst {
	struct sim_result most;
	int64_t sums[ARRAY_LEN(figures)];
	uint64_t seeds[ARRAY_LEN(figures)]; /* of the worst */
	int64_t waste_gibh;		    /* the sum */
};

static int simulate_all(const struct scenario *scenario, const struct options *options, struct worst *ret)
{
	*ret = (struct worst){.most = {.low_after = 0}};
	for (uint64_t i = 0; i < options->n_seeds; i++) {
		struct err err = ERR_INIT;
		struct sim_result result;

		if (sim_simulate(scenario, options->seed + i, &result, &err)) {
			fprintf(stderr, "%s: %s\n", scenario->name, err.msg);
			return -1;
		}
		ret->waste_gibh += result.waste_gibh;
		for (size_t f = 0; f < ARRAY_LEN(figures); f++) {
			int value = *figure_of(&result, f), *most = figure_of(&ret->most, f);

			ret->sums[f] += value;
			if (value > *most)
				ret->seeds[f] = options->seed + i;
			*most = MAX(*most, value);
		}
	}
	return 0;
}

static void report_head(void)
{
	printf("worst (mean) of all seeds, and at most expected; waste is the mean in GiB x hours\n%-34s", "scenario");
	for (size_t f = 0; f < ARRAY_LEN(figures); f++)
		printf(" %-19s", figures[f].name);
	printf(" waste\n");
}

static void report(const struct scenario *scenario, struct worst *worst, const struct options *options)
{
	struct sim_result expected = scenario->most;

	printf("%-34s", scenario->name);
	for (size_t f = 0; f < ARRAY_LEN(figures); f++) {
		int value = *figure_of(&worst->most, f), most = *figure_of(&expected, f);
		char text[64];

		snprintf(text, sizeof(text), "%d (%.1f) %s %d", value,
			 (double)worst->sums[f] / (double)options->n_seeds, value > most ? "ABOVE" : "of", most);
		printf(" %-19s", text);
	}
	printf(" %.0f\n", (double)worst->waste_gibh / (double)options->n_seeds);
}

/* @return whether the scenario came out as its row says. */
static bool judge(const struct scenario *scenario, struct worst *worst)
{
	struct sim_result expected = scenario->most;
	bool is_within = true;

	for (size_t f = 0; f < ARRAY_LEN(figures); f++) {
		int value = *figure_of(&worst->most, f), most = *figure_of(&expected, f);

		if (value <= most)
			continue;
		is_within = false;
		fprintf(stderr, "%s: %s is %d with seed %llu, at most %d is expected\n", scenario->name,
			figures[f].name, value, (unsigned long long)worst->seeds[f], most);
	}
	return is_within;
}

static bool read_options(int argc, char **argv, struct options *ret)
{
	int i = 1;

	*ret = (struct options){.only = NULL};
	for (; i < argc && argv[i][0] == '-'; i++) {
		if (streq(argv[i], "--report"))
			ret->is_report = true;
		else if (streq(argv[i], "--only") && i + 1 < argc)
			ret->only = argv[++i];
		else
			return false;
	}
	if (argc - i != 2)
		return false;
	ret->seed = strtoull(argv[i], NULL, 10);
	ret->n_seeds = strtoull(argv[i + 1], NULL, 10);
	return ret->n_seeds > 0;
}

int main(int argc, char **argv)
{
	struct options options;
	int code = 0;

	if (!read_options(argc, argv, &options)) {
		fprintf(stderr, "usage: sim [--report] [--only NAME] SEED COUNT\n");
		return 2;
	}
	if (options.is_report)
		report_head();
	for (size_t i = 0; i < sim_n_scenarios; i++) {
		const struct scenario *scenario = &sim_scenarios[i];
		struct worst worst;

		if (options.only && !streq(options.only, scenario->name))
			continue;
		if (simulate_all(scenario, &options, &worst))
			return 1;
		if (options.is_report)
			report(scenario, &worst, &options);
		if (!judge(scenario, &worst))
			code = 1;
	}
	return code;
}
