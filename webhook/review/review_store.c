/* SPDX-License-Identifier: Apache-2.0 */
#include "review/review_store.h"

#include "base/limits.h"
#include "base/str.h"
#include "base/strmap.h"
#include "base/timefmt.h"
#include "kube/kube_list.h"
#include "review/namespaces.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define USER_AGENT	"memtamer-webhook-review"
#define WITHOUT_HISTORY "the kubeconfig's cluster cannot be read (--store none reviews without history)"

struct reading {
	struct review *review;
	struct snapshot_builder *builder;
	struct store_access access;
	struct strmap namespaces; /* those that the manifests name; the texts belong to the review */
	bool has_vpas;		  /* the cluster serves VerticalPodAutoscalers */
};

static int no_memory(struct err *err)
{
	return err_set(err, -ENOMEM, "out of memory");
}

static void note(const char *what, const struct err *why)
{
	char text[sizeof(why->where) + sizeof(why->msg) + 8];

	fprintf(stderr, "memtamer-webhook review: %s: %s\n", what, err_text(why, text, sizeof(text)));
}

static void note_bad(void *context, const struct err *why)
{
	(void)context;
	note(why->code == STORE_SPEC_INVALID ? "spec not applied, only observed" : "skipped", why);
}

/* ---- a file ---- */

/* A path on the command line must exist; one from the configuration may not exist yet. */
static int read_file(struct reading *self, struct err *err)
{
	const char *path = store_place(self->access.store);

	store_set_bad(self->access.store, note_bad, NULL);
	if (access(path, F_OK) == 0)
		return store_read_profiles(self->access.store, self->builder, err);
	self->review->history_note = arena_printf(&self->review->arena, "%s does not exist", path);
	return self->review->history_note ? 0 : no_memory(err);
}

/* ---- namespaces of the manifests ---- */

static int add_namespace(struct reading *self, const char *name)
{
	const char *copy;

	if (strmap_has(&self->namespaces, name))
		return 0;
	copy = arena_strdup(&self->review->arena, name);
	return copy ? strmap_put(&self->namespaces, copy, NULL) : -ENOMEM;
}

static int see_object(void *context, const char *file, const struct yaml_node *object)
{
	const char *name = yaml_tree_text(yaml_tree_get(object, "metadata"), "namespace");
	struct reading *self = context;

	(void)file;
	return add_namespace(self, *name ? name : self->review->default_namespace);
}

static bool may_name_one(const struct strbuf *text)
{
	return text->len > 0;
}

static int see_file(void *context, const struct manifest *manifest)
{
	struct reading *self = context;

	return review_each_object(self->review, manifest, may_name_one, see_object, self);
}

static int find_namespaces(struct reading *self, const struct cli_args *args)
{
	const struct manifest_visitor visitor = {.context = self, .file = see_file, .excludes = self->review->excludes};
	int r = 0;

	for (size_t i = 0; i < args->n_operands && !r; i++)
		r = manifests_visit(args->operands[i], &visitor);
	return r;
}

/* ---- a cluster ---- */

static int put_profile(void *context, struct profile *take_profile, struct err *err)
{
	struct profile plain = *take_profile;
	int r;

	profile_drop_unread(&plain, time_now_ms());
	r = snapshot_builder_put_copy(context, &plain);
	profile_free(take_profile);
	return r ? no_memory(err) : 0;
}

static int put_shape(void *context, const struct node_shape *shape, struct err *err)
{
	return snapshot_builder_put_shape(context, shape) ? no_memory(err) : 0;
}

/* What is forbidden or not installed is noted and left out. */
static int tolerate(int r, const char *what, const char *namespace_name, const struct err *why)
{
	struct err shown = ERR_INIT;

	if (r != -EACCES && r != -ENOENT)
		return r;
	if (r == -EACCES) /* the server's messages are long and all alike */
		err_set(&shown, r, "you are not allowed to read them");
	else
		shown = *why;
	err_wrap(&shown, "%s%s%s are not considered", what, namespace_name ? " of " : "",
		 namespace_name ? namespace_name : "");
	note("note", &shown);
	return 0;
}

static int read_profiles(struct reading *self, const char *namespace_name, struct err *err)
{
	const struct store_visitor visitor = {.context = self->builder, .profile = put_profile};
	int r = store_set_namespace(self->access.store, namespace_name) ? no_memory(err) : 0;

	if (!r)
		r = store_visit(self->access.store, &visitor, err);
	/* used only if no other namespace has profiles */
	if ((r == -EACCES || r == -ENOENT) && !self->review->history_note) {
		self->review->history_note = arena_strdup(&self->review->arena, err->msg);
		if (!self->review->history_note)
			return no_memory(err);
	}
	return tolerate(r, "profiles", namespace_name, err);
}

static int read_shapes(struct reading *self, struct err *err)
{
	const struct store_visitor visitor = {.context = self->builder, .shape = put_shape};

	return tolerate(store_visit(self->access.store, &visitor, err), "node shapes", NULL, err);
}

/* One kind of object of one namespace. */
struct rules {
	struct reading *reading;
	enum namespace_object sort;
};

static int put_rule(void *context, const struct kube_object *object, struct err *err)
{
	const struct rules *self = context;
	struct err why = ERR_INIT;
	int r = namespaces_put(self->reading->review, self->sort, object->json, self->reading->builder, &why);

	if (r == -EINVAL) {
		err_wrap(&why, "%s", why.where);
		snprintf(why.where, sizeof(why.where), "%s/%s", object->namespace, object->name);
		note_bad(NULL, &why);
		return 0;
	}
	return r ? no_memory(err) : 0;
}

static void note_bad_rule(void *context, const struct err *why)
{
	(void)context;
	note_bad(NULL, why);
}

static int errno_of(int code)
{
	if (code == KUBE_FORBIDDEN)
		return -EACCES;
	return code == KUBE_NOT_FOUND ? -ENOENT : code > 0 ? -EIO : code;
}

static int read_rules(struct reading *self, enum namespace_object sort, const struct kube_resource *resource,
		      const char *namespace_name, struct err *err)
{
	struct rules rules = {self, sort};
	const struct kube_list_request request = {
		.selection = {.resource = *resource, .namespace = namespace_name},
		.item = put_rule,
		.bad = note_bad_rule,
		.context = &rules,
	};

	return tolerate(errno_of(kube_list_all(self->access.kube.client, &request, err)), resource->plural,
			namespace_name, err);
}

static int read_labels(struct reading *self, const char *namespace_name, struct err *err)
{
	const struct kube_request request = {
		.verb = KUBE_GET, .resource = {"", "v1", "namespaces"}, .name = namespace_name};
	CLEANUP(json_putp) struct json_object *object = NULL;
	struct kube_object named = {.namespace = "", .name = namespace_name};
	struct rules rules = {self, NAMESPACE_ITSELF};
	int r = kube_client_call(self->access.kube.client, &request, &object, err);

	if (r == KUBE_NOT_FOUND)
		return 0; /* the namespace does not exist yet: it is among the manifests, or is created later */
	named.json = object;
	r = r ? errno_of(r) : put_rule(&rules, &named, err);
	return tolerate(r, "labels", namespace_name, err);
}

/* Every user may read discovery. Without this, users who may not list VerticalPodAutoscalers would get a note for each
 * namespace, even if the kind is not served. */
static int discover_vpas(struct reading *self, struct err *err)
{
	const struct kube_request request = {.verb = KUBE_GET, .raw_path = "/apis/autoscaling.k8s.io/v1"};
	CLEANUP(json_putp) struct json_object *object = NULL;
	int r = kube_client_call(self->access.kube.client, &request, &object, err);

	self->has_vpas = !r;
	return r == KUBE_NOT_FOUND || r == KUBE_FORBIDDEN ? 0 : errno_of(r);
}

static int read_namespace(struct reading *self, const char *name, struct err *err)
{
	static const struct kube_resource limit_ranges = {"", "v1", "limitranges"},
					  quotas = {"", "v1", "resourcequotas"},
					  vpas = {"autoscaling.k8s.io", "v1", "verticalpodautoscalers"};
	int r = read_profiles(self, name, err);

	if (!r)
		r = read_labels(self, name, err);
	if (!r)
		r = read_rules(self, NAMESPACE_LIMIT_RANGE, &limit_ranges, name, err);
	if (!r)
		r = read_rules(self, NAMESPACE_QUOTA, &quotas, name, err);
	return r || !self->has_vpas ? r : read_rules(self, NAMESPACE_VPA, &vpas, name, err);
}

static int read_cluster(struct reading *self, const struct cli_args *args, struct err *err)
{
	struct review *review = self->review;
	int r;

	store_set_bad(self->access.store, note_bad, NULL);
	if (!cli_has(args, "namespace"))
		review->default_namespace = arena_strdup(&review->arena, self->access.kube.namespace);
	if (!review->default_namespace || find_namespaces(self, args))
		return no_memory(err);
	r = read_shapes(self, err);
	if (!r)
		r = discover_vpas(self, err);
	for (size_t i = 0; i < self->namespaces.capacity && !r; i++)
		if (self->namespaces.slots[i].key)
			r = read_namespace(self, self->namespaces.slots[i].key, err);
	if (r && self->access.is_implied)
		err_wrap(err, WITHOUT_HISTORY);
	return r;
}

static int read_any(struct reading *self, const struct cli_args *args, const struct config *config, int *ret_code,
		    struct err *err)
{
	int r = store_access_open_args(args, config, false, USER_AGENT, &self->access, err);

	*ret_code = EXIT_USAGE;
	if (r == -ENOENT && self->access.is_implied) {
		self->review->history_note = "there is no kubeconfig, and neither --store nor --config is given";
		return 0;
	}
	if (r == -ENOPKG || r == -ETIMEDOUT)
		*ret_code = EXIT_DEPENDENCY;
	if (r && self->access.is_implied)
		err_wrap(err, WITHOUT_HISTORY);
	if (r)
		return r;
	if (!self->access.kube.client)
		return read_file(self, err);
	*ret_code = EXIT_DEPENDENCY;
	return read_cluster(self, args, err);
}

int review_store_read(struct review *self, const struct cli_args *args, const struct config *config,
		      struct snapshot_builder *builder, int *ret_code, struct err *err)
{
	struct reading reading = {
		.review = self, .builder = builder, .access = STORE_ACCESS_INIT, .namespaces = STRMAP_INIT};
	const char *path = cli_get(args, "store");
	int r = 0;

	if (path && streq(path, REVIEW_STORE_NONE))
		self->history_note = "--store none was given";
	else
		r = read_any(&reading, args, config, ret_code, err);
	store_access_release(&reading.access);
	strmap_release(&reading.namespaces);
	return r;
}
