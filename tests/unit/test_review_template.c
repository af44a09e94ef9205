/* SPDX-License-Identifier: Apache-2.0 */
/* What review takes for a template, which Helm or another engine must render first. */
#include "support/test.h"

#include "unit/review_run.h"

#include "base/str.h"
#include "cli/cli.h"

#include <stdio.h>
#include <sys/stat.h>

#define YAML_MARK "\xef\xbb\xbf"
#define GPU	  "{name: c, image: i, resources: {limits: {nvidia.com/gpu: 8}}}"
#define POD	  "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [" GPU "]}\n"

/* Argo's own placeholders, and templates inside of strings that somebody else renders. */
static void words_in_strings_are_no_template(void **state)
{
	static const struct {
		const char *text, *examined;
	} rows[] = {
		{"apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {name: w}\nspec:\n  templates:\n"
		 "  - name: train\n    container: {image: '{{inputs.parameters.image}}', args: ['{{item}}', '{{=1}}'], "
		 "resources: {limits: {nvidia.com/gpu: 1}}}\n",
		 " and 1 pod template examined"},
		{"apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {name: w}\nspec:\n  templates:\n"
		 "  - name: train\n    container:\n      image: repo:{{inputs.parameters.tag}}\n"
		 "      args: [\"{{range}}\", \"{{end}}\"]\n      resources:\n        limits:\n          "
		 "nvidia.com/gpu: 1\n"
		 "          memory: \"{{inputs.parameters.memory}}\"\n",
		 " and 1 pod template examined"},
		{"apiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule\nmetadata: {name: r}\nspec: {groups: "
		 "[{rules: [{annotations: {summary: '{{ $labels.pod }} of {{ .Namespace }}'}}]}]}\n",
		 "1 object without a known pod template"},
		{"apiVersion: v1\nkind: Secret\nmetadata: {name: alertmanager}\nstringData:\n  alertmanager.yaml: |\n"
		 "    receivers:\n    - slack_configs:\n      - title: '{{ template \"slack.title\" . }}'\n"
		 "    {{ if .Values.a }}{{ end }}\n" POD,
		 "1 pod and 0 pod templates examined"},
		{"apiVersion: batch/v1\nkind: Job\nmetadata: {name: '{{ .Values.name }}'}\nspec: {template: {spec: "
		 "{containers: [" GPU "]}}}\n",
		 " and 1 pod template examined"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(output_release) struct output o = {0};

		test_row(rows[i].text);
		write_text("braces.yaml", rows[i].text);
		o = REVIEW("braces.yaml");
		if (!strstr(strbuf_text(&o.out), rows[i].examined))
			assert_string_equal(strbuf_text(&o.out), rows[i].examined);
		assert_null(strstr(strbuf_text(&o.out), "template document"));
		assert_int_not_equal(o.code, EXIT_USAGE);
	}
}

#define HELM_JOB "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: {{ .Release.Name }}-train\n"
#define LIMIT_RANGE                                                                                                    \
	"---\napiVersion: v1\nkind: LimitRange\nmetadata: {name: r}\nspec: {limits: [{type: Container, default: "      \
	"{memory: 512Mi}}]}\n"

/* A document that only Helm can read hides none of its neighbours, wherever it stands, nor moves their places. */
static void a_template_hides_only_itself(void **state)
{
	static const char *const rows[] = {HELM_JOB POD LIMIT_RANGE, POD LIMIT_RANGE "---\n" HELM_JOB,
					   POD "---\r\n" HELM_JOB LIMIT_RANGE,
					   YAML_MARK HELM_JOB POD LIMIT_RANGE "--- # {{ .Values.x }}\n" HELM_JOB};
	static const size_t lines[] = {9, 5, 5, 9}, n_templates[] = {1, 1, 1, 2};

	(void)state;
	assert_int_equal(mkdir("beside", 0755), 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(output_release) struct output folder = {0}, named = {0}, yaml = {0};
		char place[64], count[64];

		test_row(rows[i]);
		snprintf(place, sizeof(place), "beside/x.yaml:%zu:", lines[i]);
		snprintf(count, sizeof(count), "%zu template document%s", n_templates[i], PLURAL(n_templates[i]));
		write_text("beside/x.yaml", rows[i]);
		folder = REVIEW("-v", "beside");
		assert_int_equal(folder.code, EXIT_FINDINGS);
		assert_memory_equal(strbuf_text(&folder.out), place, strlen(place));
		assert_non_null(strstr(strbuf_text(&folder.out), "1 pod and 0 pod templates examined"));
		assert_non_null(strstr(strbuf_text(&folder.out), count));
		/* the LimitRange counts */
		assert_null(strstr(strbuf_text(&folder.out), "no memory limit"));
		named = REVIEW("beside/x.yaml");
		assert_int_equal(named.code, EXIT_USAGE);
		assert_memory_equal(strbuf_text(&named.out), place, strlen(place));
		assert_non_null(strstr(strbuf_text(&named.err), ": looks like a Helm template"));
		yaml = REVIEW("-o", "yaml", "beside");
		assert_int_equal(yaml.code, EXIT_USAGE);
		assert_string_equal(strbuf_text(&yaml.out), "");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_in_strings_are_no_template),
		cmocka_unit_test(a_template_hides_only_itself),
	};

	return cmocka_run_group_tests_name("review-template", tests, enter_work, leave_work);
}
