/* SPDX-License-Identifier: Apache-2.0 */
#include "pods/pod_owners.h"

#include "base/limits.h"
#include "base/timefmt.h"
#include "k8s/kinds.h"
#include "pods/sighting_internal.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define ASK_MS	 (10 * TIME_SECOND_MS)
#define PAUSE_MS (4 * TIME_SECOND_MS)
enum { AT_ONCE = 64, HOPS = 4, TRIES = 6 };

enum owner_state { OWNER_WAITS, OWNER_ASKED, OWNER_FAILED, OWNER_ANSWERED };

struct pod_owner {
	struct hashtable_node by_uid;
	struct pod_owners *owners;
	struct kube_call *call;
	char *namespace_name;
	struct sighting_owner self, parent; /* parent "": none, or not known */
	enum owner_state state;
	bool is_used; /* the answer was returned */
	int tries;
	int64_t due_ms; /* of OWNER_FAILED: time of the next attempt, monotonic */
};

static uint64_t hash_of(const char *uid)
{
	return hashtable_hash(&uid, 1);
}

static void entry_free(struct pod_owner *self)
{
	if (!self)
		return;
	sighting_owner_release(&self->self);
	sighting_owner_release(&self->parent);
	free(self->namespace_name);
	free(self);
}

void pod_owners_release(struct pod_owners *self)
{
	kube_timer_stop(self->client, &self->timer);
	for (size_t i = 0; i < self->entries.n; i++) {
		kube_client_cancel(self->client, self->entries.items[i]->call);
		entry_free(self->entries.items[i]);
	}
	vec_release(&self->entries);
	hashtable_release(&self->by_uid);
	self->next = self->in_flight = self->n_used = 0;
}

/* Whether an object of this kind may have an owner. Long-lived objects that create one submission after the other are
 * topmost. */
static bool may_have_owner(const struct sighting_owner *owner)
{
	static const char *const tops[] = {"TrainingRuntime",  "ClusterTrainingRuntime",
					   "WorkflowTemplate", "ClusterWorkflowTemplate",
					   "Experiment",       "Notebook",
					   "PipelineRun",      "flyteworkflow"};
	const struct kind *kind = kind_find_api_version(owner->api_version, owner->kind);

	for (size_t i = 0; i < ARRAY_LEN(tops); i++)
		if (streq(owner->kind, tops[i]))
			return false;
	return kind && *kind->group && kind->class_ != KIND_SERVING && !kind->is_recurring;
}

/* ---- requests ---- */

static const char *text_in(struct json_object *object, const char *key)
{
	const char *text = "";

	return json_get_string(object, "", key, &text, NULL) == 0 ? text : "";
}

/* Reads the controller of the object into `ret`. If the object has another uid, it was replaced by one of the same
 * name: `ret` is left empty. 0 or -ENOMEM. */
static int read_parent(struct json_object *object, const char *uid, struct sighting_owner *ret)
{
	struct json_object *metadata = json_member(object, "metadata");
	struct json_object *owners = json_member(metadata, "ownerReferences");

	if (!streq(text_in(metadata, "uid"), uid) || !json_object_is_type(owners, json_type_array))
		return 0; /* replaced by another object of the same name */
	for (size_t i = 0; i < json_object_array_length(owners); i++) {
		struct json_object *owner = json_object_array_get_idx(owners, i);

		if (json_object_get_boolean(json_member(owner, "controller")))
			return sighting_owner_set(ret, text_in(owner, "apiVersion"), text_in(owner, "kind"),
						  text_in(owner, "name"), text_in(owner, "uid"));
	}
	return 0;
}

static void ask_more(struct pod_owners *self);
static void ask_again(void *context);

static void set_answered(struct pod_owner *entry)
{
	entry->state = OWNER_ANSWERED;
	entry->owners->answered(entry->owners->context);
}

static void set_timer(struct pod_owners *self, int64_t due_ms)
{
	if (self->timer.is_set && self->timer.due_ms <= due_ms)
		return;
	self->timer.fire = ask_again;
	self->timer.context = self;
	kube_timer_set(self->client, &self->timer, MAX(due_ms - time_monotonic_ms(), 0));
}

/* A short outage of the API server must not change the name of a run, so failures are retried. After TRIES failures the
 * object counts as topmost: the pod gets a less precise name, but it is not left out. */
static void set_failed(struct pod_owner *entry, bool is_final)
{
	int64_t pause_ms = entry->owners->pause_ms ? entry->owners->pause_ms : PAUSE_MS;

	if (is_final || ++entry->tries == TRIES) {
		set_answered(entry);
		return;
	}
	entry->state = OWNER_FAILED;
	entry->due_ms = time_monotonic_ms() + (pause_ms << (entry->tries - 1));
	set_timer(entry->owners, entry->due_ms);
}

static void ask_again(void *context)
{
	struct pod_owners *self = context;
	int64_t now_ms = time_monotonic_ms();

	for (size_t i = 0; i < self->entries.n; i++) {
		struct pod_owner *entry = self->entries.items[i];

		if (entry->state == OWNER_FAILED && entry->due_ms <= now_ms)
			entry->state = OWNER_WAITS;
		else if (entry->state == OWNER_FAILED)
			set_timer(self, entry->due_ms);
	}
	self->next = 0;
	ask_more(self);
}

static void on_answer(void *context, const struct kube_result *result)
{
	struct pod_owner *entry = context;
	struct pod_owners *self = entry->owners;

	entry->call = NULL;
	self->in_flight--;
	if (result->code && result->code != KUBE_NOT_FOUND)
		self->failed(self->context, &result->err);
	if (!result->code && read_parent(result->object, entry->self.uid, &entry->parent))
		set_failed(entry, false);
	else if (!result->code)
		set_answered(entry);
	else
		set_failed(entry, result->code == KUBE_NOT_FOUND || result->code == KUBE_FORBIDDEN);
	ask_more(self);
}

/* Lower case and "s": "RayCluster" is served as "rayclusters". This holds for all kinds that are requested; a test
 * compares them with the RBAC roles. */
static void make_plural(const char *kind, char *ret, size_t size)
{
	size_t n = 0;

	for (; kind[n] && n + 2 < size; n++)
		ret[n] = (char)tolower((unsigned char)kind[n]);
	memcpy(ret + n, "s", 2);
}

static int ask(struct pod_owner *entry, struct err *err)
{
	const char *slash = strchr(entry->self.api_version, '/');
	char group[128] = "", plural[128];
	struct kube_request request = {.verb = KUBE_GET,
				       .resource = {group, slash ? slash + 1 : "", plural},
				       .namespace = entry->namespace_name,
				       .name = entry->self.name,
				       .total_timeout_ms = ASK_MS,
				       .timeout_ms = ASK_MS,
				       .done = on_answer,
				       .context = entry};

	snprintf(group, sizeof(group), "%.*s", (int)(slash ? slash - entry->self.api_version : 0),
		 entry->self.api_version);
	make_plural(entry->self.kind, plural, sizeof(plural));
	return kube_client_submit(entry->owners->client, &request, &entry->call, err);
}

static void ask_more(struct pod_owners *self)
{
	while (self->in_flight < AT_ONCE && self->next < self->entries.n) {
		struct pod_owner *entry = self->entries.items[self->next++];
		struct err err = ERR_INIT;
		int r;

		if (entry->state != OWNER_WAITS)
			continue;
		r = ask(entry, &err);
		if (r) {
			self->failed(self->context, &err);
			set_failed(entry, r == -EINVAL);
		} else {
			entry->state = OWNER_ASKED;
			self->in_flight++;
		}
	}
}

static struct pod_owner *add(struct pod_owners *self, const char *namespace_name, const struct sighting_owner *owner)
{
	struct pod_owner *entry = calloc(1, sizeof(*entry));
	int r = entry ? 0 : -ENOMEM;

	if (!r) {
		entry->owners = self;
		r = sighting_text_set(&entry->namespace_name, namespace_name);
	}
	r = r ? r : sighting_owner_set(&entry->self, owner->api_version, owner->kind, owner->name, owner->uid);
	r = r ? r : sighting_owner_set(&entry->parent, "", "", "", "");
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): pointers are what it holds */
	r = r ? r : vec_push(&self->entries, entry);
	if (r) {
		entry_free(entry);
		return NULL;
	}
	if (hashtable_add(&self->by_uid, &entry->by_uid, hash_of(entry->self.uid))) {
		self->entries.n--;
		entry_free(entry);
		return NULL;
	}
	return entry;
}

/* ---- eviction ---- */

/* No request is open, waiting, or scheduled for a retry. */
static bool is_idle(const struct pod_owners *self)
{
	return !self->in_flight && self->next == self->entries.n && !self->timer.is_set;
}

/* Evicts from the older half the entries whose answer was returned, or with `is_any` all answered ones. Pods keep the
 * topmost owner that they have; a later pod of an evicted owner requests it again. */
static void drop_old(struct pod_owners *self, bool is_any)
{
	size_t n = 0, half = self->entries.n / 2;

	for (size_t i = 0; i < self->entries.n; i++) {
		struct pod_owner *entry = self->entries.items[i];

		if (i >= half || entry->state != OWNER_ANSWERED || !(entry->is_used || is_any)) {
			self->entries.items[n++] = entry;
			continue;
		}
		hashtable_remove(&self->by_uid, &entry->by_uid);
		self->n_used -= entry->is_used;
		entry_free(entry);
	}
	self->entries.n = n;
	self->next = 0;
}

/* Makes room for the entries of a whole chain. It evicts at least an eighth of the limit at once, so that it runs
 * rarely. @return false: no room before the next answer. */
static bool make_room(struct pod_owners *self)
{
	size_t limit = self->limit ? self->limit : LIMIT_POD_OWNERS;
	bool has_used = self->n_used >= self->entries.n / 2 + limit / 8;

	if (self->entries.n + HOPS <= limit)
		return true;
	if (!has_used && !is_idle(self))
		return false;
	drop_old(self, !has_used);
	return true;
}

/* ---- lookup ---- */

static struct pod_owner *find(const struct pod_owners *self, const char *uid)
{
	struct hashtable_node *node = hashtable_find(&self->by_uid, hash_of(uid));

	return node ? HASHTABLE_OBJECT(node, struct pod_owner, by_uid) : NULL;
}

int pod_owners_root(struct pod_owners *self, const char *namespace_name, const struct sighting_owner *owner,
		    const struct sighting_owner **ret)
{
	bool has_room = make_room(self);

	for (int hop = 0; hop < HOPS && *owner->uid && may_have_owner(owner); hop++) {
		struct pod_owner *entry = find(self, owner->uid);

		if (!entry && !has_room)
			return 1;
		if (!entry)
			entry = add(self, namespace_name, owner);
		if (!entry)
			return -ENOMEM;
		ask_more(self);
		if (entry->state != OWNER_ANSWERED)
			return 1;
		self->n_used += !entry->is_used;
		entry->is_used = true;
		owner = &entry->self;
		if (!*entry->parent.kind)
			break;
		owner = &entry->parent;
	}
	*ret = owner;
	return 0;
}
