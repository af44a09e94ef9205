/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* yaml_edit: writes JSON values as YAML, into a new text or into the text that they were read from. Any thread. */
#include "yaml/yaml_tree.h"

/** How values are written. */
struct yaml_style {
	const char *line_break;
	size_t step;	/* spaces that a mapping is indented by below its key; sequences are not indented */
	bool is_flow;	/* values are in brackets behind their keys */
	bool is_quoted; /* all strings are in double quotes, so that the text is JSON */
};

/** Appends a string: plain where every YAML parser reads it back as this string, else in double quotes. @return the
 * sticky status of buf. */
int yaml_add_string(struct strbuf *buf, const char *text, size_t n, bool is_quoted);
/** Appends a line break and a member of a block mapping whose keys are indented by `indent` spaces. There is no line
 * break at its end. Members of a member keep their order. Cost: linear in the value. @return the sticky status of buf.
 */
int yaml_add_member(struct strbuf *buf, const char *key, struct json_object *value, const struct yaml_style *style,
		    size_t indent);
/** Appends a value in flow style. @return the sticky status of buf. */
int yaml_add_flow(struct strbuf *buf, struct json_object *value, bool is_quoted);

/** Writes a document with the least changes that make it read as `object`: the JSON of the document, in which values
 * were replaced and members were added. Added members have the indentation, the line break, the quotes and the style
 * (block or flow) of their neighbours; all other bytes stay. What is written was read again, and is exactly `object`.
 * `text` is what was parsed under this name. `buf` is empty, and of no use after an error. Cost: linear in the document
 * with aliases expanded.
 * @return 0; -EINVAL with file:line:col: a value to change is shared (yaml_tree_is_shared), or cannot be changed in
 * place for another reason; -E2BIG; -ENOMEM. */
int yaml_edit(const char *text, const struct yaml_document *document, const char *name, struct json_object *object,
	      struct strbuf *buf, struct err *err) ATTR_NODISCARD;
