/* SPDX-License-Identifier: Apache-2.0 */
#include "config/docs.h"

#include "config/config_internal.h"

#include "base/str.h"

#include <stdio.h>

#define GENERATED "<!-- Made by memtamer-docs from the program's tables; do not edit. -->\n"

static const char configuration_intro[] =
	"# Configuration\n\n" GENERATED "\n"
	"One YAML file configures both programs; each reads the parts that concern it. `--check-config` says whether a "
	"file is\n"
	"right, `--print-config` prints every effective value with where it came from. The smallest file is one line,\n"
	"`apiVersion: " CONFIG_API_VERSION "`; everything else has a default.\n\n"
	"Unknown and duplicate keys, wrong types and units, values out of range, anchors and a second document are "
	"errors with\n"
	"file, line and column. The programs load the file again when it changes; an invalid one is logged and counted "
	"and the\n"
	"old one stays.\n\n"
	"- **duration**: `500ms`, `30s`, `5m`, `1h30m`, `14d`, `2w`\n"
	"- **quantity**: as in Kubernetes, `512Mi`, `10Gi`, `1G`\n"
	"- **fraction**: `5%`, `12.5%` or `0.05`, not finer than 0.1%\n"
	"- **file**: a path; a relative one starts at the folder of the configuration\n";

static const char *const type_names[] = {
	[CONFIG_STRING] = "text",
	[CONFIG_ENUM] = "choice",
	[CONFIG_CHOICE] = "choice",
	[CONFIG_BOOL] = "true or false",
	[CONFIG_INTEGER] = "integer",
	[CONFIG_INTEGER32] = "integer",
	[CONFIG_DURATION] = "duration",
	[CONFIG_QUANTITY] = "quantity",
	[CONFIG_FRACTION] = "fraction",
	[CONFIG_FILE] = "file",
	[CONFIG_URL] = "URL",
	[CONFIG_LISTEN] = "address:port",
	[CONFIG_LIST] = "list of texts",
	[CONFIG_HEADERS] = "mapping",
	[CONFIG_CHECKS] = "mapping",
	[CONFIG_NODE_SHAPES] = "list of shapes",
	[CONFIG_VERSION] = "text",
};

static void add_type(struct strbuf *buf, const struct config_key *key)
{
	strbuf_adds(buf, type_names[key->type]);
	for (const char *at = key->choices; at && *at;) {
		size_t n = strcspn(at, "|");

		strbuf_addf(buf, "%s`%.*s`", at == key->choices ? ": " : ", ", (int)n, at);
		at += n + (at[n] == '|');
	}
}

static void add_range(struct strbuf *buf, const struct config_key *key)
{
	char low[QUANTITY_TEXT_BYTES], high[QUANTITY_TEXT_BYTES];

	if (!key->min && !key->max)
		return;
	if (key->max == INT64_MAX)
		strbuf_addf(buf, ", at least %s", config_render_number(key, key->min, low));
	else
		strbuf_addf(buf, ", %s to %s", config_render_number(key, key->min, low),
			    config_render_number(key, key->max, high));
}

static void add_key(struct strbuf *buf, const struct config_key *key)
{
	strbuf_addf(buf, "| `%s` | ", key->path);
	add_type(buf, key);
	add_range(buf, key);
	if (key->type == CONFIG_VERSION)
		strbuf_addf(buf, " | must be `%s`", key->fallback);
	else if (*key->fallback)
		strbuf_addf(buf, " | `%s`", key->fallback);
	else
		strbuf_adds(buf, " | none");
	strbuf_addf(buf, " | %s |\n", key->help);
}

/* Sections are the first parts of the paths; keys without one stand together. */
static size_t section_length(const char *path)
{
	return strchr(path, '.') ? strcspn(path, ".") : 0;
}

static void open_section(struct strbuf *buf, const char *path, size_t n)
{
	if (n)
		strbuf_addf(buf, "\n## %.*s\n\n", (int)n, path);
	else if (streq(path, "apiVersion"))
		strbuf_adds(buf, "\n## Top\n\n");
	else
		strbuf_adds(buf, "\n## checks and nodeShapes\n\n");
	strbuf_adds(buf, "| key | type | default | meaning |\n|---|---|---|---|\n");
}

static void add_shapes(struct strbuf *buf)
{
	size_t n;
	const struct config_shape_field *fields = config_shape_fields(&n);

	strbuf_adds(buf, "\n## Items of nodeShapes\n\n"
			 "```yaml\nnodeShapes:\n- product: NVIDIA-H100-80GB-HBM3\n  count: 8\n  memory: 1900Gi\n"
			 "  ephemeralStorage: 3Ti\n```\n\n| key | needed | meaning |\n|---|---|---|\n");
	for (size_t i = 0; i < n; i++)
		strbuf_addf(buf, "| `%s` | %s | %s |\n", fields[i].name, fields[i].is_required ? "yes" : "no",
			    fields[i].help);
}

int config_render_docs(struct strbuf *buf)
{
	const char *previous = NULL;
	size_t n;
	const struct config_key *keys = config_keys(&n);

	strbuf_adds(buf, configuration_intro);
	for (size_t i = 0; i < n; i++) {
		size_t length = section_length(keys[i].path);

		if (!previous || length != section_length(previous) || strncmp(previous, keys[i].path, length) != 0)
			open_section(buf, keys[i].path, length);
		previous = keys[i].path;
		add_key(buf, &keys[i]);
	}
	add_shapes(buf);
	return buf->status;
}

static const char checks_intro[] =
	"# Checks\n\n" GENERATED "\n"
	"What memtamer looks for in a training pod, most important first. Each check has a default action, which\n"
	"`checks` in the configuration changes:\n\n"
	"- `off`: not looked for\n"
	"- `warn`: said in words, in kubectl's output and in annotations\n"
	"- `patch`: what is wrong is changed, as far as the mode allows; else it is a warning\n"
	"- `deny`: workload objects (Job, PyTorchJob ...) are refused; a pod never is, there it is a warning\n\n"
	"An action never does more than the mode: in mode `observe` everything is at most a warning.\n\n"
	"| check | default | finding |\n|---|---|---|\n";

static const char checks_outro[] =
	"\n## Findings as JSON\n\n"
	"`memtamer-webhook review -o json` prints an array of findings, in the order of files, documents and pods:\n\n"
	"| member | meaning |\n|---|---|\n"
	"| `file`, `line`, `column` | where; lines and columns count from 1, columns in characters; standard input is "
	"`stdin` |\n"
	"| `kind`, `name`, `namespace` | the object that is, or makes, the pod |\n"
	"| `role` | which of its pods (`worker`, a task, a replicated job); empty when there is one kind |\n"
	"| `container` | empty: the whole pod |\n"
	"| `check`, `action` | which check, and what is done about it: `warn`, `patch` or `deny` |\n"
	"| `message` | the finding in words |\n"
	"| `sizes` | with `patch`, what is set: `resource`, `field` (`request` or `limit`), `from` (null: absent), "
	"`to`, `rule`, "
	"`reason` |\n\n"
	"`-o sarif` is SARIF 2.1.0: `deny` has level `error`, the others `warning`; the property `action` tells them "
	"apart.\n";

int checks_render_docs(struct strbuf *buf)
{
	strbuf_adds(buf, checks_intro);
	for (int i = 0; i < CHECK_COUNT_; i++)
		strbuf_addf(buf, "| [%s](#%s) | %s | %s |\n", check_table[i].name, check_table[i].name,
			    check_action_names[check_table[i].default_action], check_table[i].title);
	for (int i = 0; i < CHECK_COUNT_; i++)
		strbuf_addf(buf, "\n## %s\n\n%s (default: `%s`). %s\n", check_table[i].name, check_table[i].title,
			    check_action_names[check_table[i].default_action], check_table[i].text);
	strbuf_adds(buf, checks_outro);
	return buf->status;
}
