/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* docs: renders documentation from the tables. memtamer-docs writes the pages to docs/; a test fails when they
 * differ. */
#include "base/strbuf.h"

/** Length of the first sentence, with its full stop; a table has only that, and the rest stands below it. Cost: linear
 *  in the text. */
size_t docs_sentence(const char *text);
/** Appends docs/CONFIGURATION.md. @return the sticky status of `buf`. */
int config_render_docs(struct strbuf *buf);
/** Appends docs/OBJECTS.md. @return the sticky status of `buf`. */
int objects_render_docs(struct strbuf *buf);
/** Appends docs/CHECKS.md, made from policy/checks.def. @return the sticky status of `buf`. */
int checks_render_docs(struct strbuf *buf);
/** Appends the section of docs/CHECKS.md about the pods that are examined (docs_pods.c). @return the sticky status of
 *  `buf`. */
int pods_render_docs(struct strbuf *buf);
/** Appends docs/LABELS.md (docs_labels.c). @return the sticky status of `buf`. */
int labels_render_docs(struct strbuf *buf);
/** Appends docs/TRIAGE.md (docs_triage.c), made from the rules and levers of `triage`. @return the sticky status of
 *  `buf`. */
int triage_render_docs(struct strbuf *buf);
/** Appends its part about JSON (docs_triage_json.c). @return the sticky status of `buf`. */
int triage_json_render_docs(struct strbuf *buf);
/** Appends a cell of a table: `|` would end it. */
void docs_add_cell(struct strbuf *buf, const char *text);
