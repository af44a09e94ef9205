/* SPDX-License-Identifier: Apache-2.0 */
#include "k8s/projection.h"

#include "base/hash.h"
#include "base/limits.h"
#include "k8s/json_text.h"

#include <errno.h>
#include <stdlib.h>

/* How it works: a walk over the text along a tree of constant tables, the allow-list. Objects that the list enters are
 * read key by key; a listed value is copied as it stands in the text, any other value is skipped 64 bytes at a time.
 * Nothing is allocated but the result and, for maps with many keys, the set of keys seen. The result is never longer
 * than the text. */

/* --- The allow-list --- */

struct field;

/* What is kept of a value. An array is entered: its items are kept by the same rule. A value that is not of the
 * expected type is copied as it stands. */
struct node {
	const struct field *fields; /* an object: these members */
	size_t n_fields;	    /* at most 64 */
	const struct node *any;	    /* a map: every member, by this rule */
	const char *const *names;   /* an item of a list: kept whole only if its "name" is one of these, else null */
	const char *dropped_key;    /* a map: except this one */
};

struct field {
	const char *key;
	size_t n;
	const struct node *node;
};

#define FIELD(key, node)                                                                                               \
	{                                                                                                              \
		key, sizeof(key) - 1, &(node)                                                                          \
	}
#define FIELDS(array) .fields = (array), .n_fields = ARRAY_LEN(array)

static const struct node leaf = {.fields = NULL};
static const struct node map_of_leaf = {.any = &leaf};
/* kubectl's copy of the whole manifest; nobody reads it, and it is the largest annotation there is. */
static const struct node annotations = {.any = &leaf,
					.dropped_key = "kubectl.kubernetes.io/last-applied-configuration"};

static const struct field owner_fields[] = {
	FIELD("apiVersion", leaf), FIELD("kind", leaf),	      FIELD("name", leaf),
	FIELD("uid", leaf),	   FIELD("controller", leaf),
};
static const struct node owner = {FIELDS(owner_fields)};

static const struct field metadata_fields[] = {
	FIELD("name", leaf),
	FIELD("generateName", leaf),
	FIELD("namespace", leaf),
	FIELD("uid", leaf),
	FIELD("labels", map_of_leaf),
	FIELD("annotations", annotations),
	FIELD("ownerReferences", owner),
};
static const struct node metadata = {FIELDS(metadata_fields)};

static const struct field name_fields[] = {FIELD("name", leaf)};
static const struct node only_name = {FIELDS(name_fields)};

static const struct field resources_fields[] = {
	FIELD("requests", map_of_leaf),
	FIELD("limits", map_of_leaf),
	FIELD("claims", only_name),
};
static const struct node resources = {FIELDS(resources_fields)};

/* The environment is long and hardly read: see k8s_env in pod.h. */
static const char *const env_names[] = {"ARGO_TEMPLATE", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "WORLD_SIZE",
					NULL};
static const struct field env_fields[] = {FIELD("name", leaf), FIELD("value", leaf)};
static const struct node env = {FIELDS(env_fields), .names = env_names};

static const struct field mount_fields[] = {FIELD("name", leaf), FIELD("mountPath", leaf)};
static const struct node mount = {FIELDS(mount_fields)};

static const struct field container_fields[] = {
	FIELD("name", leaf), FIELD("image", leaf),	   FIELD("command", leaf),	  FIELD("args", leaf),
	FIELD("env", env),   FIELD("stdin", leaf),	   FIELD("resources", resources), FIELD("volumeMounts", mount),
	FIELD("tty", leaf),  FIELD("restartPolicy", leaf),
};
static const struct node container = {FIELDS(container_fields)};

static const struct field emptydir_fields[] = {FIELD("medium", leaf), FIELD("sizeLimit", leaf)};
static const struct node emptydir = {FIELDS(emptydir_fields)};
static const struct node present = {.fields = emptydir_fields, .n_fields = 0}; /* {}: only that it is there */

static const struct field volume_fields[] = {
	FIELD("name", leaf),
	FIELD("emptyDir", emptydir),
	FIELD("persistentVolumeClaim", present),
	FIELD("ephemeral", present),
};
static const struct node volume = {FIELDS(volume_fields)};

static const struct field expression_fields[] = {FIELD("key", leaf), FIELD("operator", leaf), FIELD("values", leaf)};
static const struct node expression = {FIELDS(expression_fields)};
static const struct field term_fields[] = {FIELD("matchExpressions", expression)};
static const struct node term = {FIELDS(term_fields)};
static const struct field required_fields[] = {FIELD("nodeSelectorTerms", term)};
static const struct node required = {FIELDS(required_fields)};
static const struct field node_affinity_fields[] = {
	FIELD("requiredDuringSchedulingIgnoredDuringExecution", required),
};
static const struct node node_affinity = {FIELDS(node_affinity_fields)};
static const struct field affinity_fields[] = {FIELD("nodeAffinity", node_affinity)};
static const struct node affinity = {FIELDS(affinity_fields)};

static const struct field spec_fields[] = {
	FIELD("containers", container),	    FIELD("initContainers", container), FIELD("volumes", volume),
	FIELD("nodeSelector", map_of_leaf), FIELD("affinity", affinity),	FIELD("resources", resources),
	FIELD("overhead", map_of_leaf),	    FIELD("priorityClassName", leaf),	FIELD("schedulerName", leaf),
	FIELD("restartPolicy", leaf),	    FIELD("resourceClaims", only_name), FIELD("schedulingGates", only_name),
};
static const struct node spec = {FIELDS(spec_fields)};

static const struct field object_fields[] = {
	FIELD("apiVersion", leaf),
	FIELD("kind", leaf),
	FIELD("metadata", metadata),
	FIELD("spec", spec),
};
static const struct node object = {FIELDS(object_fields)};

static const struct field kind_fields[] = {FIELD("group", leaf), FIELD("version", leaf), FIELD("kind", leaf)};
static const struct node kind = {FIELDS(kind_fields)};
static const struct field user_fields[] = {FIELD("username", leaf)};
static const struct node user = {FIELDS(user_fields)};

static const struct field request_fields[] = {
	FIELD("uid", leaf),	 FIELD("kind", kind),	   FIELD("subResource", leaf),
	FIELD("name", leaf),	 FIELD("namespace", leaf), FIELD("operation", leaf),
	FIELD("userInfo", user), FIELD("object", object),  FIELD("dryRun", leaf),
};
static const struct node request = {FIELDS(request_fields)};

static const struct field review_fields[] = {
	FIELD("apiVersion", leaf),
	FIELD("kind", leaf),
	FIELD("request", request),
};
static const struct node review = {FIELDS(review_fields)};

/* --- Output --- */

struct projector {
	struct json_text in;
	struct strbuf *out;
	struct strbuf scratch; /* an unescaped key */
	size_t out_tokens;
};

static void put(struct projector *self, const char *bytes, size_t n)
{
	struct strbuf *out = self->out;

	if (out->capacity - out->len <= n || n >= out->max - out->len) {
		strbuf_add(out, bytes, n);
		return;
	}
	memcpy(out->text + out->len, bytes, n);
	out->len += n;
	out->text[out->len] = '\0';
}

static int put_token(struct projector *self, char c)
{
	self->out_tokens++;
	put(self, &c, 1);
	return self->out->status;
}

static int put_span(struct projector *self, size_t from)
{
	put(self, self->in.text + from, self->in.pos - from);
	return self->out->status;
}

/* --- Keys of a map, each at most once --- */

#define KEYS_FEW 16

/* A few keys are compared as they stand in the text; many, or escaped ones, by a seeded 64-bit hash. */
struct key_set {
	struct str few[KEYS_FEW];
	size_t n;
	uint64_t *hashes; /* open addressing, 0: free */
	size_t capacity;
};

static void key_set_release(struct key_set *self)
{
	free(self->hashes);
}

/* 1 when it is there already. */
static int key_set_put_hash(struct key_set *self, uint64_t hash)
{
	size_t i;

	hash += hash == 0;
	for (i = hash & (self->capacity - 1); self->hashes[i]; i = (i + 1) & (self->capacity - 1))
		if (self->hashes[i] == hash)
			return 1;
	self->hashes[i] = hash;
	return 0;
}

static int key_set_grow(struct key_set *self)
{
	struct key_set next = {.n = self->n, .capacity = self->capacity ? self->capacity * 2 : (size_t)4 * KEYS_FEW};

	next.hashes = calloc(next.capacity, sizeof(*next.hashes));
	if (!next.hashes)
		return -ENOMEM;
	for (size_t i = 0; i < self->capacity; i++)
		if (self->hashes[i])
			(void)key_set_put_hash(&next, self->hashes[i]);
	for (size_t i = 0; !self->capacity && i < self->n; i++)
		(void)key_set_put_hash(&next, hash_seeded(self->few[i].p, self->few[i].n));
	key_set_release(self);
	self->hashes = next.hashes;
	self->capacity = next.capacity;
	return 0;
}

/* `lasts` says that the bytes stay where they are. @return 0; 1 when the key was there; -ENOMEM. */
static int key_set_put(struct key_set *self, struct str key, bool lasts)
{
	int r;

	if (!self->capacity && lasts && self->n < KEYS_FEW) {
		for (size_t i = 0; i < self->n; i++)
			if (str_eq(self->few[i], key))
				return 1;
		self->few[self->n++] = key;
		return 0;
	}
	if (!self->capacity || self->n * 2 >= self->capacity) {
		r = key_set_grow(self);
		if (r)
			return r;
	}
	r = key_set_put_hash(self, hash_seeded(key.p, key.n));
	self->n++;
	return r;
}

/* --- The walk --- */

static int project(struct projector *self, const struct node *node, int depth);

static const struct field *field_of(const struct node *node, struct str key)
{
	for (size_t i = 0; i < node->n_fields; i++)
		if (node->fields[i].n == key.n && memcmp(node->fields[i].key, key.p, key.n) == 0)
			return &node->fields[i];
	return NULL;
}

/* Read a key and its colon. `ret_lasts`: the key is part of the text, it had no escapes. */
static int read_key(struct projector *self, struct str *ret, struct json_string *ret_string)
{
	int r = json_text_string(&self->in, ret_string);

	if (r)
		return r;
	*ret = ret_string->inside;
	if (ret_string->has_escape) {
		r = json_text_unescape(*ret, &self->scratch);
		if (r)
			return err_set(self->in.err, r, "out of memory");
		*ret = (struct str){strbuf_text(&self->scratch), self->scratch.len};
	}
	return json_text_expect(&self->in, ':');
}

static int project_leaf(struct projector *self, int depth)
{
	size_t from = self->in.pos, tokens = self->in.tokens;
	struct json_string string;
	int r;

	switch (json_text_peek(&self->in)) {
	case '"':
		r = json_text_string(&self->in, &string);
		if (!r && string.has_nul)
			r = json_text_bad(&self->in, from, "NUL in a string");
		break;
	case '{':
	case '[':
		r = json_text_skip_container(&self->in, depth);
		self->out_tokens += self->in.tokens - tokens;
		break;
	default:
		r = json_text_scalar(&self->in);
	}
	return r ? r : put_span(self, from);
}

static int project_array(struct projector *self, const struct node *node, int depth)
{
	int r = json_text_enter(&self->in, depth);

	if (!r)
		r = put_token(self, '[');
	if (!r && json_text_peek(&self->in) == ']')
		goto end;
	while (!r) {
		r = project(self, node, depth + 1);
		if (r || json_text_peek(&self->in) != ',')
			break;
		json_text_comma(&self->in);
		r = put_token(self, ',');
	}
end:
	if (!r)
		r = json_text_expect(&self->in, ']');
	put(self, "]", 1);
	return r ? r : self->out->status;
}

static int map_key(struct projector *self, struct key_set *keys, struct str key, const struct json_string *string)
{
	int r = key_set_put(keys, key, !string->has_escape);

	if (r < 0)
		return err_set(self->in.err, r, "out of memory");
	if (r)
		return json_text_bad(&self->in, string->from, "duplicate key");
	return string->has_nul ? json_text_bad(&self->in, string->from, "NUL in a key") : 0;
}

/* One member of a map; `*is_first` until one was kept. */
static int project_map_member(struct projector *self, const struct node *node, struct key_set *keys, bool *is_first,
			      int depth)
{
	struct json_string string;
	struct str key;
	int r = read_key(self, &key, &string);

	if (!r)
		r = map_key(self, keys, key, &string);
	if (r)
		return r;
	if (node->dropped_key && str_eq(key, str_c(node->dropped_key)))
		return json_text_skip(&self->in, depth);
	if (!*is_first)
		put_token(self, ',');
	*is_first = false;
	put(self, string.inside.p - 1, string.inside.n + 2);
	put(self, ":", 1);
	return project(self, node->any, depth);
}

struct object_state {
	uint64_t seen; /* by index of the field */
	bool is_first;
	struct str name; /* of an item of a list kept by name: the text of the value */
	struct key_set keys;
};

static int project_field(struct projector *self, const struct node *node, struct object_state *state, int depth)
{
	const struct field *field;
	struct json_string string;
	struct str key;
	size_t from;
	uint64_t bit;
	int r = read_key(self, &key, &string);

	if (r)
		return r;
	field = field_of(node, key);
	if (!field)
		return json_text_skip(&self->in, depth);
	bit = UINT64_C(1) << (field - node->fields);
	if (state->seen & bit)
		return json_text_bad(&self->in, string.from, "duplicate key");
	state->seen |= bit;
	if (!state->is_first)
		put_token(self, ',');
	state->is_first = false;
	put(self, "\"", 1);
	put(self, field->key, field->n);
	put(self, "\":", 2);
	json_text_peek(&self->in);
	from = self->in.pos;
	r = project(self, field->node, depth);
	if (node->names && field == node->fields)
		state->name = (struct str){self->in.text + from, self->in.pos - from};
	return r;
}

static bool is_kept_name(const struct node *node, struct str name)
{
	if (name.n < 2 || memchr(name.p, '\\', name.n)) /* none, or spelled in an odd way: keep it */
		return true;
	for (const char *const *p = node->names; *p; p++)
		if (str_eq(str_c(*p), (struct str){name.p + 1, name.n - 2}))
			return true;
	return false;
}

static int project_members(struct projector *self, const struct node *node, struct object_state *state, int depth)
{
	int r = 0;

	if (json_text_peek(&self->in) == '}')
		return 0;
	for (;;) {
		r = node->any ? project_map_member(self, node, &state->keys, &state->is_first, depth)
			      : project_field(self, node, state, depth);
		if (r || json_text_peek(&self->in) != ',')
			return r;
		json_text_comma(&self->in);
		json_text_peek(&self->in);
	}
}

static int project_object(struct projector *self, const struct node *node, int depth)
{
	struct object_state state;
	size_t start = self->out->len;
	int r = json_text_enter(&self->in, depth);

	state.seen = 0;
	state.is_first = true;
	state.name = (struct str){NULL, 0};
	state.keys.n = state.keys.capacity = 0;
	state.keys.hashes = NULL;
	if (!r)
		r = put_token(self, '{');
	if (!r)
		r = project_members(self, node, &state, depth + 1);
	key_set_release(&state.keys);
	if (!r)
		r = json_text_expect(&self->in, '}');
	put(self, "}", 1);
	if (!r && !self->out->status && node->names && !is_kept_name(node, state.name)) {
		self->out->len = start;
		put(self, "null", 4);
	}
	return r ? r : self->out->status;
}

/* Copy what `node` keeps of the value at the current place. */
static int project(struct projector *self, const struct node *node, int depth)
{
	char c = json_text_peek(&self->in);

	if (self->out_tokens > LIMIT_PROJECTED_TOKENS)
		return err_set(self->in.err, -E2BIG, "more than %d values", LIMIT_PROJECTED_TOKENS);
	if (c == '[')
		return project_array(self, node, depth);
	if (c == '{' && (node->fields || node->any))
		return project_object(self, node, depth);
	return project_leaf(self, depth);
}

int projection_review(const char *text, size_t n, struct strbuf *ret, struct err *err)
{
	struct projector self = {
		.in = {.text = text, .n = n, .err = err},
		.out = ret,
		.scratch = STRBUF_INIT(LIMIT_REVIEW_BYTES),
	};
	int r;

	strbuf_clear(ret);
	r = project(&self, &review, 0);
	strbuf_release(&self.scratch);
	if (!r && json_text_peek(&self.in) != '\0')
		r = json_text_bad(&self.in, self.in.pos, "text behind the JSON value");
	if (!r && self.in.pos < n)
		r = json_text_bad(&self.in, self.in.pos, "NUL byte");
	if (!r && self.out_tokens > LIMIT_PROJECTED_TOKENS)
		r = err_set(err, -E2BIG, "more than %d values", LIMIT_PROJECTED_TOKENS);
	if (r && ret->status)
		return err_set(err, ret->status,
			       ret->status == -E2BIG ? "more than %zu bytes of what is read"
						     : "out of memory (cap %zu bytes)",
			       ret->max);
	return r;
}
