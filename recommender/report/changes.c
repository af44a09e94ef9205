/* SPDX-License-Identifier: Apache-2.0 */
#include "report/changes.h"

#include "base/timefmt.h"
#include "k8s/quantity.h"
#include "policy/policy.h"

#include <errno.h>
#include <stdlib.h>

int changes_add(struct changes *self, const struct known *known)
{
	const struct history *history = known->history;

	for (size_t i = 0; history && i < history->decisions.n; i++) {
		const struct history_decision *decision = &history->decisions.items[i];

		if (decision->owner[0] && vec_push(&self->items, ((struct change){known, decision})))
			return -ENOMEM;
	}
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct change *x = a, *y = b;
	int64_t left = x->decision->time_ms, right = y->decision->time_ms;

	return (left > right) - (left < right);
}

void changes_sort(struct changes *self)
{
	if (self->items.n)
		qsort(self->items.items, self->items.n, sizeof(*self->items.items), compare);
}

/* "2Gi -> 4Gi", "none -> 4Gi"; "" when it was not set. */
static void change_text(int64_t from_bytes, int64_t to_bytes, char *buf, size_t size)
{
	char from[QUANTITY_TEXT_BYTES], to[QUANTITY_TEXT_BYTES];

	buf[0] = '\0';
	if (to_bytes)
		snprintf(buf, size, "%s -> %s", from_bytes ? quantity_render_human(from_bytes, from) : "none",
			 quantity_render_human(to_bytes, to));
}

static const char *size_text(int64_t bytes, char buf[QUANTITY_TEXT_BYTES])
{
	return bytes ? quantity_render_human(bytes, buf) : "";
}

static const char *mode_text(int mode)
{
	return mode >= 0 && mode < MODE_COUNT_ ? mode_names[mode] : "";
}

enum { NAME_COLUMNS = 4 };

static void add_row(struct table *table, const struct change *change, bool has_names)
{
	const struct known *known = change->known;
	const struct history_decision *decision = change->decision;
	char when[TIME_TEXT_BYTES], pods[16], request[160], limit[160], revision[24];
	char disk_request[QUANTITY_TEXT_BYTES], disk_limit[QUANTITY_TEXT_BYTES];
	const char *cells[] = {known_namespace(known),
			       known_workload(known),
			       known_role(known),
			       known_container(known),
			       time_render(decision->time_ms - decision->time_ms % TIME_SECOND_MS, when),
			       decision->owner,
			       pods,
			       request,
			       limit,
			       size_text(decision->ephemeral_request_to_bytes, disk_request),
			       size_text(decision->ephemeral_limit_to_bytes, disk_limit),
			       decision->rule,
			       mode_text(decision->mode),
			       revision,
			       decision->cap};

	snprintf(pods, sizeof(pods), "%d", decision->pods);
	snprintf(revision, sizeof(revision), "%lld", (long long)decision->revision);
	change_text(decision->request_from_bytes, decision->request_to_bytes, request, sizeof(request));
	change_text(decision->limit_from_bytes, decision->limit_to_bytes, limit, sizeof(limit));
	table_add(table, cells + (has_names ? 0 : NAME_COLUMNS));
}

int changes_print(const struct changes *self, bool has_names, FILE *out, int indent)
{
	static const char *const heads[] = {"NAMESPACE",   "WORKLOAD", "ROLE",	   "CONTAINER", "TIME",
					    "OWNER",	   ">PODS",    ">REQUEST", ">LIMIT",	">DISK REQUEST",
					    ">DISK LIMIT", "RULE",     "MODE",	   ">REVISION", "HELD BACK BY"};
	size_t skipped = has_names ? 0 : NAME_COLUMNS;
	struct table table;
	int r;

	table_init(&table, heads + skipped, ARRAY_LEN(heads) - skipped);
	for (size_t i = 0; i < self->items.n; i++)
		add_row(&table, &self->items.items[i], has_names);
	r = table_print(&table, out, indent);
	table_release(&table);
	return r;
}
