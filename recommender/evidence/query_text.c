/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence/query_internal.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>

/* Escapes a name for a regular expression in a PromQL string. */
static void add_regex(struct strbuf *text, const char *name)
{
	for (; *name; name++) {
		if (!isalnum((unsigned char)*name) && *name != '-' && *name != '_')
			strbuf_adds(text, "\\\\");
		if (*name == '"' || *name == '\\')
			strbuf_addc(text, '\\');
		strbuf_addc(text, *name);
	}
}

static void add_names(struct strbuf *text, const char *label, const char *operator, const char * const * names,
		      size_t n)
{
	strbuf_addf(text, ",%s%s\"", label, operator);
	for (size_t i = 0; i < n; i++) {
		if (i > 0)
			strbuf_addc(text, '|');
		add_regex(text, names[i]);
	}
	strbuf_addc(text, '"');
}

static size_t count(const char *const *names)
{
	size_t n = 0;

	while (names && names[n])
		n++;
	return n;
}

static void add_place(const struct metric_labels *labels, const struct query_place *place, struct strbuf *text)
{
	add_names(text, labels->namespace_label, "=~", &place->namespace_name, 1);
	add_names(text, labels->pod_label, "=~", &place->pod, 1);
	add_names(text, labels->container_label, "=~", &place->container, 1);
}

static void add_matchers(const struct query_reader *self, const struct metric_labels *labels, const struct query *query,
			 const char *const *namespaces, size_t n_namespaces, struct strbuf *text)
{
	const char *const *only = self->config.namespaces, *const *excluded = self->config.excluded_namespaces;
	const char *extra = self->config.prometheus->extra_matchers;

	if (query->place) {
		add_place(labels, query->place, text);
	} else if (!query->node && n_namespaces > 0) {
		add_names(text, labels->namespace_label, "=~", namespaces, n_namespaces);
	} else if (!query->node) {
		if (count(only) > 0)
			add_names(text, labels->namespace_label, "=~", only, count(only));
		add_names(text, labels->namespace_label, "!~", (const char *const[]){"kube-system"}, 1);
		if (count(excluded) > 0)
			add_names(text, labels->namespace_label, "!~", excluded, count(excluded));
	}
	if (extra && *extra)
		strbuf_addf(text, ",%s", extra);
}

int query_expression(const struct query_reader *self, const struct query *query, const char *const *namespaces,
		     size_t n_namespaces, struct strbuf *ret, struct err *err)
{
	const struct metric_labels *labels = &self->labels[query->row->family];

	for (const char *p = query->row->expression; *p; p++) {
		if (*p != '$') {
			strbuf_addc(ret, *p);
			continue;
		}
		switch (*++p) {
		case 'N':
			strbuf_adds(ret, labels->namespace_label);
			break;
		case 'P':
			strbuf_adds(ret, labels->pod_label);
			break;
		case 'C':
			strbuf_adds(ret, labels->container_label);
			break;
		case 'I':
			add_regex(ret, query->node);
			break;
		case 'M':
			add_matchers(self, labels, query, namespaces, n_namespaces, ret);
			break;
		default:
			strbuf_addf(ret, "%" PRId64 "ms", query->range_ms);
			break;
		}
	}
	return ret->status ? err_set(err, ret->status, "the query for %s is too long", query->row->metric) : 0;
}
