/* SPDX-License-Identifier: Apache-2.0 */
/* backtest_plot: a drawing of OOM kills against waste. It needs nothing but the file: colours follow the reader's light
 * or dark mode, and every point has its figures as a tooltip. */
#include "backtest/backtest_print.h"
#include "base/limits.h"

#include <math.h>

enum { WIDTH = 860, HEIGHT = 480, LEFT = 70, RIGHT = 640, TOP = 50, BOTTOM = 420, MAX_TICKS = 6, LEGEND_STEP = 26 };

/* An axis from 0 to `n` steps. */
struct axis {
	double step;
	int n;
};

struct plot {
	struct strbuf *buf;
	struct axis waste, oom;
};

static const char *const colours[] = {"#e8590c", "#1c7ed6", "#2f9e44", "#b08800", "#ae3ec9", "#868e96"};

static const char *colour_of(const struct rule *rule)
{
	for (size_t i = 0; i < n_rules; i++)
		if (rules[i] == rule)
			return colours[i % ARRAY_LEN(colours)];
	return colours[0];
}

static double x_of(const struct plot *self, double waste)
{
	return LEFT + (RIGHT - LEFT) * waste / (self->waste.step * self->waste.n);
}

static double y_of(const struct plot *self, double oom)
{
	return BOTTOM - (BOTTOM - TOP) * oom / (self->oom.step * self->oom.n);
}

/* The axis that holds the value with steps of 1, 2 or 5 times a power of ten. */
static struct axis axis_to(double value)
{
	static const double factors[] = {1, 2, 5, 10};
	double power = pow(10, floor(log10(value / MAX_TICKS)));
	size_t i = 0;

	while (power * factors[i] * MAX_TICKS < value && i + 1 < ARRAY_LEN(factors))
		i++;
	return (struct axis){power * factors[i], (int)ceil(value / (power * factors[i]))};
}

static void scale(struct plot *self, const struct backtest *backtest, const struct frontier_point *points)
{
	double waste = 1e-6, oom = 1e-4;

	for (size_t i = 0; i < backtest->rows.n; i++) {
		const struct score *total = &backtest->rows.items[i].warm.total;

		waste = fmax(waste, score_metric(total, &score_metrics[METRIC_WASTE_PEAK]));
		oom = fmax(oom, score_metric(total, &score_metrics[METRIC_OOM_RATE]));
	}
	for (int i = 0; i < FRONTIER_POINTS; i++)
		oom = fmax(oom, points[i].oom_rate);
	self->waste = axis_to(waste * 1.05);
	self->oom = axis_to(oom * 1.05);
}

static void add_head(const struct plot *self)
{
	strbuf_addf(self->buf,
		    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" "
		    "role=\"img\" aria-label=\"OOM-killed runs against wasted memory, by sizing rule\">\n"
		    "<style>\n"
		    "svg { color-scheme: light dark; }\n"
		    ".paper { fill: #ffffff; }\ntext { fill: #1f2328; font: 13px system-ui, sans-serif; }\n"
		    ".grid { stroke: #d0d7de; }\n.frontier { stroke: #57606a; fill: none; stroke-dasharray: 5 4; }\n"
		    ".knot { fill: #57606a; }\n"
		    "@media (prefers-color-scheme: dark) {\n"
		    "  .paper { fill: #0d1117; }\n  text { fill: #e6edf3; }\n  .grid { stroke: #30363d; }\n"
		    "  .frontier { stroke: #9da7b3; }\n  .knot { fill: #9da7b3; }\n}\n</style>\n"
		    "<rect class=\"paper\" width=\"%d\" height=\"%d\"/>\n",
		    WIDTH, HEIGHT, WIDTH, HEIGHT, WIDTH, HEIGHT);
}

static void add_axes(const struct plot *self)
{
	for (int i = 0; i <= self->waste.n; i++) {
		double x = x_of(self, self->waste.step * i);

		strbuf_addf(self->buf,
			    "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>"
			    "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%g</text>\n",
			    x, x, TOP, BOTTOM, x, BOTTOM + 20, self->waste.step * i);
	}
	for (int i = 0; i <= self->oom.n; i++) {
		double y = y_of(self, self->oom.step * i);

		strbuf_addf(self->buf,
			    "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>"
			    "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g %%</text>\n",
			    LEFT, RIGHT, y, y, LEFT - 8, y + 4, 100 * self->oom.step * i);
	}
	strbuf_addf(self->buf,
		    "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">wasted memory, GiB times hours</text>\n"
		    "<text x=\"%d\" y=\"%d\">OOM-killed runs; nearer to the lower left corner is better</text>\n",
		    (LEFT + RIGHT) / 2, BOTTOM + 44, LEFT, TOP - 18);
}

/* Points far to the right would only squeeze the rules together. */
static bool is_in_view(const struct plot *self, const struct frontier_point *point)
{
	return point->waste_gibh <= self->waste.step * self->waste.n;
}

static void add_frontier(const struct plot *self, const struct frontier_point *points)
{
	const char *command = "M";

	strbuf_adds(self->buf, "<path class=\"frontier\" d=\"");
	for (int i = 0; i < FRONTIER_POINTS; i++) {
		if (!is_in_view(self, &points[i]))
			continue;
		strbuf_addf(self->buf, "%s%.1f %.1f", command, x_of(self, points[i].waste_gibh),
			    y_of(self, points[i].oom_rate));
		command = " L";
	}
	strbuf_adds(self->buf, "\"/>\n");
	for (int i = 0; i < FRONTIER_POINTS; i++)
		if (is_in_view(self, &points[i]))
			strbuf_addf(
				self->buf,
				"<circle class=\"knot\" cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\"><title>greatest peak + %d "
				"%%: %.3f %% OOM-killed, %.1f GiBh</title></circle>\n",
				x_of(self, points[i].waste_gibh), y_of(self, points[i].oom_rate),
				points[i].buffer_percent, 100 * points[i].oom_rate, points[i].waste_gibh);
}

/* Filled: walk-forward. Hollow: causal. */
static void add_marker(const struct plot *self, const struct backtest_row *row, double x, double y)
{
	bool is_filled = row->variant == WALK_FORWARD;

	strbuf_addf(self->buf,
		    "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"6\" stroke=\"%s\" stroke-width=\"2\" fill=\"%s\">"
		    "<title>%s, %s: %.3f %% OOM-killed, %.1f GiBh</title></circle>\n",
		    x, y, colour_of(row->rule), is_filled ? colour_of(row->rule) : "none", row->rule->name,
		    walk_variant_names[row->variant],
		    100 * score_metric(&row->warm.total, &score_metrics[METRIC_OOM_RATE]),
		    score_metric(&row->warm.total, &score_metrics[METRIC_WASTE_PEAK]));
}

static void add_rows(const struct plot *self, const struct backtest *backtest)
{
	for (size_t i = 0; i < backtest->rows.n; i++) {
		const struct backtest_row *row = &backtest->rows.items[i];
		double waste = score_metric(&row->warm.total, &score_metrics[METRIC_WASTE_PEAK]);
		double oom = score_metric(&row->warm.total, &score_metrics[METRIC_OOM_RATE]);
		int y = TOP + 20 + LEGEND_STEP * (int)i;

		add_marker(self, row, x_of(self, waste), y_of(self, oom));
		add_marker(self, row, RIGHT + 24, y - 4);
		strbuf_addf(self->buf, "<text x=\"%d\" y=\"%d\">%s, %s</text>\n", RIGHT + 38, y, row->rule->name,
			    walk_variant_names[row->variant]);
	}
	strbuf_addf(self->buf,
		    "<line class=\"frontier\" x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/>"
		    "<text x=\"%d\" y=\"%d\">greatest peak + 2 to 100 %%</text>\n",
		    RIGHT + 14, RIGHT + 34, BOTTOM - 4, BOTTOM - 4, RIGHT + 38, BOTTOM);
}

int backtest_plot(const struct backtest *backtest, const struct frontier_point points[FRONTIER_POINTS],
		  struct strbuf *buf)
{
	struct plot self = {.buf = buf};

	scale(&self, backtest, points);
	add_head(&self);
	add_axes(&self);
	add_frontier(&self, points);
	add_rows(&self, backtest);
	return strbuf_adds(buf, "</svg>\n");
}
