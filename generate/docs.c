/* SPDX-License-Identifier: Apache-2.0 */
#include "generate/docs.h"

#include "config/config_internal.h"

#include "base/str.h"

#include <ctype.h>
#include <stdio.h>

#define GENERATED "<!-- Made by memtamer-docs from the program's tables; do not edit. -->\n"

static const char configuration_intro[] =
	"# Configuration\n\n" GENERATED "\n"
	"For everybody who runs memtamer. One YAML file configures both programs. `--check-config` checks a file,\n"
	"`--print-config` prints every effective value with its source. The smallest file is one line,\n"
	"`apiVersion: " CONFIG_API_VERSION "`; everything else has a default.\n\n"
	"Unknown and duplicate keys, wrong types and units, values out of range and a second document are errors with\n"
	"file, line and column. The programs reload the file when it changes; an invalid one is logged and counted, "
	"and "
	"the\n"
	"previous configuration stays in use.\n\n"
	"- **duration**: `500ms`, `30s`, `5m`, `1h30m`, `14d`, `2w`\n"
	"- **quantity**: as in Kubernetes, `512Mi`, `10Gi`, `1G`\n"
	"- **fraction**: `5%`, `12.5%` or `0.05`, not finer than 0.1%\n"
	"- **file**: a path; a relative one starts at the folder of the configuration\n";

static void add_type(struct strbuf *buf, const struct config_key *key)
{
	strbuf_adds(buf, config_types[key->type].name);
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

size_t docs_sentence(const char *text)
{
	for (const char *at = strstr(text, ". "); at; at = strstr(at + 1, ". "))
		if (isupper((unsigned char)at[2]))
			return (size_t)(at + 1 - text);
	return strlen(text);
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
	strbuf_addf(buf, " | %.*s |\n", (int)docs_sentence(key->help), key->help);
}

/* What the help of a section's keys says beyond their first sentences. */
static void close_section(struct strbuf *buf, const struct config_key *keys, size_t n)
{
	const char *before = "\n";

	for (size_t i = 0; i < n; i++) {
		const char *rest = keys[i].help + docs_sentence(keys[i].help);

		if (!*rest)
			continue;
		strbuf_addf(buf, "%s- `%s`:%s\n", before, keys[i].path, rest);
		before = "";
	}
}

/* Sections are the first parts of the paths; keys without a section come together. */
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
	const struct config_table *table = &config_shape_table;

	strbuf_adds(buf, "\n## Items of nodeShapes\n\n"
			 "```yaml\nnodeShapes:\n- product: NVIDIA-H100-80GB-HBM3\n  count: 8\n  memory: 1900Gi\n"
			 "  ephemeralStorage: 3Ti\n```\n\n| key | needed | meaning |\n|---|---|---|\n");
	for (size_t i = 0; i < table->n; i++)
		strbuf_addf(buf, "| `%s` | %s | %s |\n", table->keys[i].path, table->keys[i].fallback ? "no" : "yes",
			    table->keys[i].help);
}

int config_render_docs(struct strbuf *buf)
{
	const struct config_key *keys = config_table.keys;
	size_t n = config_table.n, start = 0;

	strbuf_adds(buf, configuration_intro);
	for (size_t i = 0; i < n; i++) {
		size_t length = section_length(keys[i].path);

		if (!i || length != section_length(keys[start].path) ||
		    strncmp(keys[start].path, keys[i].path, length) != 0) {
			close_section(buf, keys + start, i - start);
			open_section(buf, keys[i].path, length);
			start = i;
		}
		add_key(buf, &keys[i]);
	}
	close_section(buf, keys + start, n - start);
	add_shapes(buf);
	return buf->status;
}

static const char checks_intro[] =
	"# Checks\n\n" GENERATED "\n"
	"For ML engineers and platform teams: what memtamer looks for in a training pod, most important first.\n"
	"`checks` in the configuration changes the default action of a check:\n\n"
	"- `off`: the check is not made\n"
	"- `warn`: the finding is a warning in kubectl's output and in annotations\n"
	"- `patch`: the values are corrected if the mode allows it; else as `warn`\n"
	"- `deny`: workload objects (Job, PyTorchJob ...) are refused; for pods as `warn`\n\n"
	"An action never does more than the mode: in mode `observe` everything is at most a warning.\n\n"
	"The severity says how bad a finding is: `error`: the API server rejects the pod, or past runs failed like "
	"this; `warning`:\n"
	"the pod may fail or harm others; `note`: waste or a small risk.\n\n"
	"[FINDINGS.md](FINDINGS.md) describes findings as JSON, as SARIF and as changed manifests.\n\n"
	"| check | default | severity | finding |\n|---|---|---|---|\n";

int checks_render_docs(struct strbuf *buf)
{
	strbuf_adds(buf, checks_intro);
	for (int i = 0; i < CHECK_COUNT_; i++)
		strbuf_addf(buf, "| [%s](#%s) | %s | %s | %s |\n", check_table[i].name, check_table[i].name,
			    check_action_names[check_table[i].default_action],
			    check_severity_names[check_table[i].severity], check_table[i].title);
	for (int i = 0; i < CHECK_COUNT_; i++)
		strbuf_addf(buf, "\n## %s\n\n%c%s (default: `%s`). %s\n", check_table[i].name,
			    toupper((unsigned char)check_table[i].title[0]), check_table[i].title + 1,
			    check_action_names[check_table[i].default_action], check_table[i].text);
	return pods_render_docs(buf);
}
