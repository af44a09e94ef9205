/* SPDX-License-Identifier: Apache-2.0 */
#include "generate/docs_crds.h"

#include "base/json.h"
#include "base/limits.h"
#include "yaml/yaml_edit.h"

#define NOTE "# Made by memtamer-docs from the program's tables; do not edit.\n"
#define HEAD "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n"

static int add_spec(enum schema_object object, struct strbuf *buf)
{
	static const struct yaml_style style = {.line_break = "\n", .step = 2};
	CLEANUP(strbuf_release) struct strbuf json = STRBUF_INIT(MIB);
	CLEANUP(json_putp) struct json_object *spec = NULL;
	struct err err = ERR_INIT;
	int r = schema_render_spec(object, &json);

	if (!r)
		r = json_parse(strbuf_text(&json), json.len, 32, &spec, &err);
	if (r)
		return r;
	yaml_add_member(buf, "spec", spec, &style, 0);
	return strbuf_addc(buf, '\n');
}

int crd_render_template(enum schema_object object, struct strbuf *buf)
{
	strbuf_addf(buf, "{{- if .Values.crds.enabled }}\n" NOTE HEAD "  name: %s." SCHEMA_GROUP "\n",
		    schema_plural(object));
	strbuf_adds(buf, "  {{- if .Values.crds.keep }}\n  annotations:\n    helm.sh/resource-policy: keep\n"
			 "  {{- end }}\n  labels:\n    {{- include \"memtamer.labels\" . | nindent 4 }}");
	add_spec(object, buf);
	return strbuf_adds(buf, "{{- end }}\n");
}

int crd_render_manifest(struct strbuf *buf)
{
	int r = 0;

	strbuf_adds(buf, NOTE);
	for (enum schema_object i = 0; i < SCHEMA_COUNT_ && !r; i++) {
		strbuf_addf(buf, "---\n" HEAD "  name: %s." SCHEMA_GROUP "\n  labels:\n", schema_plural(i));
		strbuf_adds(buf, "    app.kubernetes.io/name: memtamer\n    app.kubernetes.io/part-of: memtamer");
		r = add_spec(i, buf);
	}
	return r;
}
