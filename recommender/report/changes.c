/* SPDX-License-Identifier: Apache-2.0 */
#include "report/changes.h"

#include "base/json_write.h"
#include "base/timefmt.h"
#include "policy/policy.h"

#include <errno.h>
#include <stdlib.h>

static int compare(const void *a, const void *b)
{
	const struct change *x = a, *y = b;
	int64_t left = x->decision->time_ms, right = y->decision->time_ms;

	return (left > right) - (left < right);
}

int changes_find(const struct known *items, size_t n, struct changes *ret)
{
	for (size_t i = 0; i < n; i++) {
		const struct history *history = items[i].history;

		for (size_t k = 0; history && k < history->decisions.n; k++) {
			const struct history_decision *decision = &history->decisions.items[k];

			if (decision->owner[0] && vec_push(&ret->items, ((struct change){&items[i], decision})))
				return -ENOMEM;
		}
	}
	if (ret->items.n)
		qsort(ret->items.items, ret->items.n, sizeof(*ret->items.items), compare);
	return 0;
}

/* "2Gi -> 4Gi", "none -> 4Gi"; "": not set. */
static void add_change(struct table *table, int64_t from_bytes, int64_t to_bytes)
{
	if (to_bytes)
		table_addf(table, "%s -> %s", from_bytes ? HUMAN(from_bytes) : "none", HUMAN(to_bytes));
	else
		table_add(table, "");
}

static const char *mode_text(const struct history_decision *decision)
{
	return decision->mode >= 0 && decision->mode < MODE_COUNT_ ? mode_names[decision->mode] : NULL;
}

static void add_row(struct table *table, const struct change *change, bool has_names)
{
	const struct history_decision *decision = change->decision;
	char when[TIME_TEXT_BYTES];

	table_add(table, time_render(decision->time_ms - decision->time_ms % TIME_SECOND_MS, when));
	table_add(table, decision->owner);
	if (has_names)
		known_add_names(change->known, table);
	table_addf(table, "%d", decision->pods);
	add_change(table, decision->request_from_bytes, decision->request_to_bytes);
	add_change(table, decision->limit_from_bytes, decision->limit_to_bytes);
	table_add_bytes(table, decision->ephemeral_request_to_bytes);
	table_add_bytes(table, decision->ephemeral_limit_to_bytes);
	table_add(table, decision->rule);
	table_add(table, mode_text(decision));
	table_addf(table, "%lld", (long long)decision->revision);
	table_add(table, decision->cap);
}

#define HEADS(names)                                                                                                   \
	"TIME,OWNER," names "+>PODS,>REQUEST,>LIMIT,+>DISK REQUEST,+>DISK LIMIT,RULE,+MODE,+>REVISION,+HELD BACK BY"

int changes_print(const struct changes *self, const struct knowledge *knowledge, bool is_wide, FILE *out)
{
	struct table table;

	table_init(&table, knowledge_has_containers(knowledge) ? HEADS("NAMESPACE,+WORKLOAD,ROLE,CONTAINER,")
							       : HEADS("NAMESPACE,+WORKLOAD,ROLE,+CONTAINER,"));
	table.is_wide = is_wide;
	for (size_t i = 0; i < self->items.n; i++)
		add_row(&table, &self->items.items[i], true);
	return table_print(&table, out, 0);
}

int changes_print_of_one(const struct changes *self, bool is_wide, FILE *out, int indent)
{
	struct table table;

	table_init(&table, HEADS(""));
	table.is_wide = is_wide;
	for (size_t i = 0; i < self->items.n; i++)
		add_row(&table, &self->items.items[i], false);
	return table_print(&table, out, indent);
}

static void write_change(const struct change *change, struct strbuf *buf)
{
	const struct history_decision *decision = change->decision;

	json_write_line(buf, 4);
	json_write_open(buf, NULL, '{');
	json_write_time(buf, "time", decision->time_ms);
	known_write_names(change->known, buf);
	json_write_text(buf, "owner", decision->owner);
	json_write_text(buf, "firstPod", decision->pod);
	json_write_int(buf, "pods", decision->pods);
	json_write_int_or_null(buf, "requestFrom", decision->request_from_bytes);
	json_write_int_or_null(buf, "requestTo", decision->request_to_bytes);
	json_write_int_or_null(buf, "limitFrom", decision->limit_from_bytes);
	json_write_int_or_null(buf, "limitTo", decision->limit_to_bytes);
	json_write_int_or_null(buf, "ephemeralRequestTo", decision->ephemeral_request_to_bytes);
	json_write_int_or_null(buf, "ephemeralLimitTo", decision->ephemeral_limit_to_bytes);
	json_write_text(buf, "rule", decision->rule);
	json_write_text(buf, "mode", mode_text(decision));
	json_write_int(buf, "revision", decision->revision);
	json_write_text(buf, "cap", decision->cap);
	strbuf_addc(buf, '}');
}

void changes_write_json(const struct changes *self, struct strbuf *buf)
{
	json_write_open(buf, "changes", '[');
	for (size_t i = 0; i < self->items.n; i++)
		write_change(&self->items.items[i], buf);
	strbuf_addc(buf, ']');
}

int changes_render_json(const struct changes *self, const struct ended_runs *runs, int64_t now_ms, struct strbuf *buf)
{
	knowledge_write_head("history.memtamer.io/v1alpha1", "ChangeList", now_ms, buf);
	changes_write_json(self, buf);
	ended_runs_write_json(runs, buf);
	return strbuf_adds(buf, "\n}\n");
}
