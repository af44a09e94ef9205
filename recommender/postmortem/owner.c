/* SPDX-License-Identifier: Apache-2.0 */
#include "postmortem/owner.h"

#include "model/identity.h"
#include "postmortem/object.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <strings.h>

/* A TrainJob makes a JobSet of its name. */
static const struct identity_label train_job = {"jobset.sigs.k8s.io/jobset-name", "trainer.kubeflow.org", "TrainJob",
						NULL, NULL};

static const struct identity_label *row_at(size_t i)
{
	const struct identity_label *row = identity_label(i);

	return row || (i && !identity_label(i - 1)) ? row : &train_job;
}

/* "job", "Jobs", "job.batch" */
static bool is_kind(const struct identity_label *row, const char *text, size_t n)
{
	size_t n_kind = strlen(row->kind);

	if (n < n_kind || strncasecmp(text, row->kind, n_kind) != 0)
		return false;
	text += n_kind;
	n -= n_kind;
	if (n && tolower((unsigned char)*text) == 's') {
		text++;
		n--;
	}
	return !n || (*text == '.' && n - 1 == strlen(row->group) && strncasecmp(text + 1, row->group, n - 1) == 0);
}

static int fail_kind(const char *text, size_t n, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf known = STRBUF_INIT(KIB);
	const struct identity_label *row, *before = NULL;

	for (size_t i = 0; (row = row_at(i)); before = row, i++)
		if (!before || !streq(row->kind, before->kind))
			strbuf_addf(&known, ", %s", row->kind);
	return err_set(err, -EINVAL, "%.*s: not a kind whose pods can be found; known are Pod%s", (int)MIN(n, 100),
		       text, strbuf_text(&known));
}

int owner_parse(const char *text, struct owner *ret, struct err *err)
{
	const char *slash = strchr(text, '/'), *name = slash ? slash + 1 : text;
	size_t n_kind = slash ? (size_t)(slash - text) : 0;
	const struct identity_label *row;

	*ret = (struct owner){.group = "", .kind = "Pod"};
	if (!object_is_name(name))
		return err_set(err, -EINVAL, "%.*s: not a name; give a pod, or KIND/NAME", 100, text);
	snprintf(ret->name, sizeof(ret->name), "%s", name);
	if (!slash || (strncasecmp(text, "pods", n_kind) == 0 && (n_kind == 3 || n_kind == 4)))
		return 0;
	for (size_t i = 0; (row = row_at(i)); i++)
		if (is_kind(row, text, n_kind)) {
			ret->group = row->group;
			ret->kind = row->kind;
			ret->label = row->label;
			return 0;
		}
	return fail_kind(text, n_kind, err);
}

bool owner_of_pod(struct json_object *pod, struct owner *ret)
{
	struct json_object *labels = object_at(pod, "metadata.labels");
	const struct identity_label *row;
	bool has_any = false;

	for (size_t i = 0; (row = identity_label(i)); i++) {
		const char *name = object_label(labels, row->label);

		if (!object_is_name(name) ||
		    (row->if_label && !streq(object_label(labels, row->if_label), row->if_value)))
			continue;
		*ret = (struct owner){.group = row->group, .kind = row->kind, .label = row->label};
		snprintf(ret->name, sizeof(ret->name), "%s", name);
		has_any = true;
	}
	return has_any;
}

void owner_render(const struct owner *self, char *buf, size_t size)
{
	bool has_group = *self->group && !streq(self->group, "batch");
	int n = snprintf(buf, size, "%s%s%s/%s", self->kind, has_group ? "." : "", has_group ? self->group : "",
			 self->name);

	for (int i = 0; i < n && (size_t)i < size && buf[i] != '/'; i++)
		buf[i] = (char)tolower((unsigned char)buf[i]);
}

void owner_render_stop(const struct owner *self, const char *namespace, struct strbuf *buf)
{
	static const char *const suspended[] = {"Job", "JobSet", "TrainJob"};
	char name[2 * LIMIT_NAME_BYTES];

	owner_render(self, name, sizeof(name));
	for (size_t i = 0; i < ARRAY_LEN(suspended); i++)
		if (streq(self->kind, suspended[i]) && !streq(self->group, "batch.volcano.sh")) {
			strbuf_addf(buf, "kubectl patch %s -n %s --type=merge -p '{\"spec\":{\"suspend\":true}}'", name,
				    namespace);
			return;
		}
	strbuf_addf(buf, "kubectl delete %s -n %s", name, namespace);
}
