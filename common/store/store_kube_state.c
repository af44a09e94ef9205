/* SPDX-License-Identifier: Apache-2.0 */
/* Collector state as ConfigMaps: a head `memtamer-collector` and chunks `memtamer-collector-PARITY-N` of gzip.
 *
 * Generation g has chunks of parity g mod 2, so the chunks that the head speaks of stay until it speaks of others. A
 * writer looks at the chunks that it is about to replace, claims the head, replaces them and then writes the head, each
 * with the resourceVersion it has seen. So of two writers (one of which has just lost its Lease and does not know yet)
 * one is refused before the other's chunks are touched: who claims later makes the earlier one's last step a conflict,
 * and who wakes up after the claim of another finds chunks that are not those it looked at. */
#include "store/store_kube.h"

#include "base/hash.h"
#include "kube/base64.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

#define STATE_NAME  "memtamer-collector"
#define CHUNK_BYTES (700 * KIB) /* of gzip; in base64 below the 1 MiB that a ConfigMap takes */
#define MAX_CHUNKS  64
#define TRIES	    4
#define GZIP_BITS   (MAX_WBITS + 16)

static const struct kube_resource config_maps = {"", "v1", "configmaps"};

/* ---- ConfigMaps ---- */

static int call(struct kube_store *self, enum kube_verb verb, const char *name, char *take_body,
		struct json_object **ret, struct err *err)
{
	CLEANUP(json_putp) struct json_object *body = NULL;
	struct kube_request request = {
		.verb = verb, .resource = config_maps, .namespace = self->own_namespace, .max_answer_bytes = 4 * MIB};
	int r;

	if (verb == KUBE_CREATE || verb == KUBE_UPDATE) {
		body = store_kube_body(take_body);
		if (!body)
			return err_set(err, -ENOMEM, "out of memory");
	}
	request.body = body;
	request.name = verb == KUBE_CREATE ? NULL : name;
	r = kube_client_call(self->client, &request, ret, err);
	if (r && err)
		err_wrap(err, "ConfigMap %s/%s", self->own_namespace, name);
	return r;
}

/* Make it, or replace the one of this version; `version` becomes the new one. A part (`head` is not NULL) is the
 * head's: who deletes the head, as uninstalling does, deletes all. */
static int put(struct kube_store *self, const char *name, char version[23], const struct state_head *head,
	       const char *data, char ret_uid[64], struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(2 * MIB);
	CLEANUP(json_putp) struct json_object *answer = NULL;
	struct kube_object object = {.json = NULL};
	char *body;
	int r;

	strbuf_addf(&text,
		    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"namespace\":\"%s\",\"name\":\"%s\","
		    "\"labels\":{\"app.kubernetes.io/managed-by\":\"memtamer\"}",
		    self->own_namespace, name);
	if (*version)
		strbuf_addf(&text, ",\"resourceVersion\":\"%s\"", version);
	if (head)
		strbuf_addf(&text,
			    ",\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"" STATE_NAME
			    "\",\"uid\":\"%s\"}]",
			    head->uid);
	strbuf_adds(&text, "},");
	strbuf_adds(&text, data);
	strbuf_addc(&text, '}');
	body = strbuf_detach(&text);
	if (!body)
		return err_set(err, -ENOMEM, "out of memory");
	r = call(self, *version ? KUBE_UPDATE : KUBE_CREATE, name, body, &answer, err);
	/* not there any more: somebody removed it, or another writer did */
	if (r == KUBE_NOT_FOUND && *version)
		return err_set(err, -EAGAIN, "ConfigMap %s/%s is gone", self->own_namespace, name);
	if (!r)
		r = kube_object_read(answer, &object, err);
	if (r)
		return store_kube_errno(r);
	snprintf(version, 23, "%s", object.resource_version);
	if (ret_uid)
		snprintf(ret_uid, 64, "%s", object.uid);
	return 0;
}

/* @return 0; 1 there is none; -errno. */
static int get(struct kube_store *self, const char *name, struct json_object **ret, struct kube_object *ret_object,
	       struct err *err)
{
	int r = call(self, KUBE_GET, name, NULL, ret, err);

	if (r == KUBE_NOT_FOUND)
		return 1;
	return r ? store_kube_errno(r) : kube_object_read(*ret, ret_object, err);
}

static const char *chunk_name(char ret[64], int64_t generation, int64_t i)
{
	snprintf(ret, 64, STATE_NAME "-%d-%" PRId64, (int)(generation & 1), i);
	return ret;
}

/* ---- the head ---- */

static int head_number(struct json_object *data, const char *key, int64_t max, int64_t *ret, struct err *err)
{
	const char *text = "";
	char *end = NULL;
	int r = json_get_string(data, "data", key, &text, err);

	*ret = 0;
	if (r)
		return r < 0 ? r : 0;
	*ret = strtoll(text, &end, 10);
	return *text && !*end && *ret >= 0 && *ret <= max
		       ? 0
		       : err_set_at(err, -EINVAL, "", 0, 0, "data.%s: \"%.40s\" is no number", key, text);
}

static int head_decode(const struct kube_object *object, struct state_head *ret, struct err *err)
{
	struct json_object *data = json_member(object->json, "data");
	struct state_head head = {.generation = 0};
	const char *hash = "";
	int r = head_number(data, "generation", INT64_MAX - 1, &head.generation, err);

	if (!r)
		r = head_number(data, "bytes", LIMIT_COLLECTOR_BYTES, &head.bytes, err);
	if (!r)
		r = head_number(data, "chunks0", MAX_CHUNKS, &head.chunks[0], err);
	if (!r)
		r = head_number(data, "chunks1", MAX_CHUNKS, &head.chunks[1], err);
	if (!r)
		r = json_get_string(data, "data", "hash", &hash, err);
	if (r < 0) {
		err_wrap(err, "%s", err && err->where[0] ? err->where : "data");
		if (err)
			snprintf(err->where, sizeof(err->where), "ConfigMap %s/%s", object->namespace, object->name);
		return r;
	}
	snprintf(head.hash, sizeof(head.hash), "%s", hash);
	snprintf(head.version, sizeof(head.version), "%s", object->resource_version);
	snprintf(head.uid, sizeof(head.uid), "%s", object->uid);
	*ret = head;
	return 0;
}

/* @return 0; 1 there is none; -errno. */
static int head_load(struct kube_store *self, struct state_head *ret, struct err *err)
{
	CLEANUP(json_putp) struct json_object *json = NULL;
	struct kube_object object = {.json = NULL};
	int r = get(self, STATE_NAME, &json, &object, err);

	*ret = (struct state_head){.generation = 0};
	return r ? r : head_decode(&object, ret, err);
}

static int head_save(struct kube_store *self, struct state_head *head, const char *claim, struct err *err)
{
	char data[512];

	snprintf(data, sizeof(data),
		 "\"data\":{\"generation\":\"%" PRId64 "\",\"bytes\":\"%" PRId64
		 "\",\"hash\":\"%s\",\"chunks0\":\"%" PRId64 "\",\"chunks1\":\"%" PRId64 "\",\"claim\":\"%s\"}",
		 head->generation, head->bytes, head->hash, head->chunks[0], head->chunks[1], claim);
	return put(self, STATE_NAME, head->version, NULL, data, head->uid, err);
}

static void hash_of(const char *text, size_t n, char ret[17])
{
	snprintf(ret, 17, "%016llx", (unsigned long long)hash_stable(HASH_STABLE_INIT, text, n));
}

/* ---- loading ---- */

/* @return 0; -EINVAL torn (another generation may have come meanwhile); -errno. */
static int load_chunk(struct kube_store *self, const char *name, struct strbuf *packed, struct err *err)
{
	CLEANUP(json_putp) struct json_object *json = NULL;
	struct kube_object object = {.json = NULL};
	const char *text = "";
	int r = get(self, name, &json, &object, err);

	if (r > 0)
		return err_set(err, -EINVAL, "ConfigMap %s/%s is missing", self->own_namespace, name);
	if (!r)
		r = json_get_string(json_member(json, "binaryData"), "binaryData", "state.gz", &text, err);
	if (!r)
		r = base64_decode(text, strlen(text), packed);
	return r ? err_set(err, r == -ENOMEM ? r : -EINVAL, "ConfigMap %s/%s is no part of it", self->own_namespace,
			   name)
		 : 0;
}

/* Exactly `head->bytes` come out, or it is torn. */
static int unpack(const struct strbuf *packed, const struct state_head *head, struct strbuf *ret_text, struct err *err)
{
	CLEANUP(freep) char *text = malloc((size_t)head->bytes + 1);
	z_stream stream = {.next_in = (Bytef *)packed->text, .avail_in = (uInt)packed->len};
	char hash[17];
	int r;

	if (!text || inflateInit2(&stream, GZIP_BITS) != Z_OK)
		return err_set(err, -ENOMEM, "out of memory");
	stream.next_out = (Bytef *)text;
	stream.avail_out = (uInt)head->bytes + 1;
	r = inflate(&stream, Z_FINISH);
	inflateEnd(&stream);
	if (r == Z_MEM_ERROR)
		return err_set(err, -ENOMEM, "out of memory");
	hash_of(text, (size_t)stream.total_out, hash);
	if (r != Z_STREAM_END || stream.total_out != (uLong)head->bytes || !streq(hash, head->hash))
		return err_set(err, -EINVAL, "its parts do not fit together");
	return strbuf_add(ret_text, text, (size_t)head->bytes) ? err_set(err, ret_text->status, "too long") : 0;
}

static int load_generation(struct kube_store *self, const struct state_head *head, struct strbuf *ret_text,
			   struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf packed = STRBUF_INIT(MAX_CHUNKS * CHUNK_BYTES);
	char name[64];
	int r = 0;

	for (int64_t i = 0; i < head->chunks[head->generation & 1] && !r; i++)
		r = load_chunk(self, chunk_name(name, head->generation, i), &packed, err);
	return r ? r : unpack(&packed, head, ret_text, err);
}

int store_kube_state_load(struct store *base, struct strbuf *ret_text, struct err *err)
{
	struct kube_store *self = store_kube_of(base);
	struct state_head head, again;
	int r = head_load(self, &head, err);

	if (r < 0)
		return r;
	for (int i = 0; i < TRIES; i++) {
		self->state = head;
		if (r > 0 || !head.generation)
			return 1;
		r = load_generation(self, &head, ret_text, err);
		if (r != -EINVAL)
			return r;
		/* torn, or replaced while it was read? */
		if (head_load(self, &again, NULL) || streq(again.version, head.version))
			break;
		head = again;
	}
	return err_set_at(err, -EINVAL, base->state_place, 0, 0, "torn, or not the collector's state: %s",
			  err ? err->msg : "");
}

/* ---- saving ---- */

static int pack(const char *text, size_t n, struct strbuf *ret, struct err *err)
{
	z_stream stream = {.next_in = (Bytef *)(uintptr_t)text, .avail_in = (uInt)n};
	CLEANUP(freep) char *packed = NULL;
	size_t bound;
	int r;

	if (n > LIMIT_COLLECTOR_BYTES)
		return err_set(err, -E2BIG, "the state of open runs is larger than %zu MiB",
			       LIMIT_COLLECTOR_BYTES / MIB);
	if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_BITS, MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY) !=
	    Z_OK)
		return err_set(err, -ENOMEM, "out of memory");
	bound = deflateBound(&stream, (uLong)n);
	packed = malloc(bound);
	stream.next_out = (Bytef *)packed;
	stream.avail_out = (uInt)bound;
	r = packed ? deflate(&stream, Z_FINISH) : Z_MEM_ERROR;
	deflateEnd(&stream);
	if (r != Z_STREAM_END)
		return err_set(err, -ENOMEM, "out of memory");
	return strbuf_add(ret, packed, (size_t)stream.total_out)
		       ? err_set(err, ret->status, "the state of open runs does not fit %d ConfigMaps", MAX_CHUNKS)
		       : 0;
}

struct chunk_version {
	char text[23];
};

static int look_at_chunks(struct kube_store *self, int64_t generation, int64_t n, struct chunk_version *ret,
			  struct err *err)
{
	for (int64_t i = 0; i < n; i++) {
		CLEANUP(json_putp) struct json_object *json = NULL;
		struct kube_object object = {.json = NULL};
		char name[64];
		int r = get(self, chunk_name(name, generation, i), &json, &object, err);

		if (r < 0)
			return r;
		snprintf(ret[i].text, sizeof(ret[i].text), "%s", r ? "" : object.resource_version);
	}
	return 0;
}

static int save_chunks(struct kube_store *self, int64_t generation, int64_t n, const struct strbuf *packed,
		       struct chunk_version *versions, struct err *err)
{
	int r = 0;

	for (int64_t i = 0; i < n && !r; i++) {
		CLEANUP(strbuf_release) struct strbuf data = STRBUF_INIT(2 * MIB);
		size_t at = (size_t)i * CHUNK_BYTES;
		char name[64];

		strbuf_adds(&data, "\"binaryData\":{\"state.gz\":\"");
		base64_encode(packed->text + at, MIN(CHUNK_BYTES, packed->len - at), &data);
		strbuf_adds(&data, "\"}");
		r = data.status ? err_set(err, data.status, "out of memory")
				: put(self, chunk_name(name, generation, i), versions[i].text, &self->state,
				      strbuf_text(&data), NULL, err);
	}
	return r;
}

/* Chunks that this parity had more of before. Only room is lost when that fails. */
static void remove_rest(struct kube_store *self, int64_t generation, int64_t from, int64_t to)
{
	for (int64_t i = from; i < to; i++) {
		CLEANUP(json_putp) struct json_object *json = NULL;
		char name[64];

		if (call(self, KUBE_DELETE, chunk_name(name, generation, i), NULL, &json, NULL))
			break;
	}
}

static int save_generation(struct kube_store *self, int64_t next, int64_t n, const struct strbuf *packed,
			   struct err *err)
{
	struct chunk_version versions[MAX_CHUNKS];
	char claim[24];
	int r = look_at_chunks(self, next, n, versions, err);

	snprintf(claim, sizeof(claim), "%016llx", (unsigned long long)kube_client_random(self->client, 0, INT64_MAX));
	if (!r)
		r = head_save(self, &self->state, claim, err); /* as it was, but for the claim */
	return r ? r : save_chunks(self, next, n, packed, versions, err);
}

int store_kube_state_save(struct store *base, const char *text, size_t n, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf packed = STRBUF_INIT(MAX_CHUNKS * CHUNK_BYTES);
	struct kube_store *self = store_kube_of(base);
	struct state_head head;
	int64_t n_chunks, before;
	int r = pack(text, n, &packed, err);

	if (r)
		return r;
	n_chunks = (int64_t)((packed.len + CHUNK_BYTES - 1) / CHUNK_BYTES);
	r = save_generation(self, self->state.generation + 1, n_chunks, &packed, err);
	if (r)
		return r;
	head = self->state;
	head.generation++;
	before = head.chunks[head.generation & 1];
	head.chunks[head.generation & 1] = n_chunks;
	head.bytes = (int64_t)n;
	hash_of(text, n, head.hash);
	r = head_save(self, &head, "", err);
	if (r)
		return r;
	self->state = head;
	remove_rest(self, head.generation, n_chunks, before);
	return 0;
}
