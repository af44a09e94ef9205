/* SPDX-License-Identifier: Apache-2.0 */
/* Collector state as one ConfigMap `memtamer-collector`, compressed by gzip, whose checksum and length show damage. A
 * save replaces the object at the resourceVersion that was seen last, so of two writers (one of which has just lost its
 * Lease and does not know yet) the later one is refused.
 *
 * Version 0.1 kept up to 64 pieces of gzip in ConfigMaps `memtamer-collector-PARITY-N`, and in `memtamer-collector`
 * which of the two sets counts. Pieces are read until the first save, which deletes them. */
#include "store/store_kube.h"

#include "base/base64.h"
#include "base/gzip.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define STATE_NAME "memtamer-collector"
#define STATE_KEY  "state.gz"
#define MAX_BYTES  MIB /* of gzip: all that the API server takes in a ConfigMap */
#define MAX_PIECES 64

/* `take_body` is NULL unless the verb is KUBE_CREATE or KUBE_UPDATE. @return 0; a kube_condition; -errno. */
static int call(struct kube_store *self, enum kube_verb verb, const char *name, char *take_body,
		struct json_object **ret, struct err *err)
{
	CLEANUP(json_putp) struct json_object *body = take_body ? store_kube_body(take_body) : NULL;
	struct kube_request request = {.verb = verb,
				       .resource = {"", "v1", "configmaps"},
				       .namespace = self->own_namespace,
				       .name = verb == KUBE_CREATE ? NULL : name,
				       .body = body,
				       .max_answer_bytes = 4 * MIB};
	int r;

	if (take_body && !body)
		return err_set(err, -ENOMEM, "out of memory");
	r = kube_client_call(self->client, &request, ret, err);
	if (r && err)
		err_wrap(err, "ConfigMap %s/%s", self->own_namespace, name);
	return r;
}

/* Appends the gzip in an object. @return 0; 1: there is none in it; -EINVAL; -ENOMEM. */
static int add_packed(struct json_object *object, struct strbuf *packed, struct err *err)
{
	const char *text = "";
	int r = json_get_string(json_member(object, "binaryData"), "binaryData", STATE_KEY, &text, err);

	if (r)
		return r;
	r = base64_decode(text, strlen(text), packed);
	return r ? err_set(err, r == -ENOMEM ? r : -EINVAL, "binaryData." STATE_KEY ": not base64, or too long") : 0;
}

static int get_number(struct json_object *data, const char *key, int64_t max, int64_t *ret, struct err *err)
{
	const char *text = "0";
	char *end = NULL;

	if (json_get_string(data, "data", key, &text, err) < 0)
		return -EINVAL;
	*ret = strtoll(text, &end, 10);
	return *text && !*end && *ret >= 0 && *ret <= max
		       ? 0
		       : err_set(err, -EINVAL, "data.%s: \"%.40s\" is no number", key, text);
}

static const char *piece_name(char ret[64], int64_t parity, int64_t i)
{
	snprintf(ret, 64, STATE_NAME "-%d-%" PRId64, (int)parity, i);
	return ret;
}

/* What version 0.1 wrote. @return 0; 1: nothing; -errno. */
static int load_pieces(struct kube_store *self, struct json_object *data, struct strbuf *packed, struct err *err)
{
	int64_t generation;
	char name[64];
	int r = get_number(data, "generation", INT64_MAX, &generation, err);

	r = r ? r : get_number(data, "chunks0", MAX_PIECES, &self->n_pieces[0], err);
	r = r ? r : get_number(data, "chunks1", MAX_PIECES, &self->n_pieces[1], err);
	if (r || !generation)
		return r ? r : 1;
	for (int64_t i = 0; i < self->n_pieces[generation & 1] && !r; i++) {
		CLEANUP(json_putp) struct json_object *piece = NULL;

		r = call(self, KUBE_GET, piece_name(name, generation & 1, i), NULL, &piece, err);
		r = r == KUBE_NOT_FOUND ? -EINVAL : r ? store_kube_errno(r) : add_packed(piece, packed, err);
		if (r > 0)
			r = err_set(err, -EINVAL, "ConfigMap %s/%s has no " STATE_KEY, self->own_namespace, name);
	}
	return r;
}

static int unpack(const struct strbuf *packed, struct strbuf *ret_text, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(LIMIT_COLLECTOR_BYTES);
	int r = gzip_unpack(strbuf_text(packed), packed->len, &text);

	if (r == -ENOMEM)
		return err_set(err, r, "out of memory");
	if (r == -E2BIG)
		return err_set(err, -EINVAL, "more than %zu MiB", LIMIT_COLLECTOR_BYTES / MIB);
	if (r)
		return err_set(err, -EINVAL, "no gzip, or damaged");
	return strbuf_add(ret_text, strbuf_text(&text), text.len) ? err_set(err, ret_text->status, "too long") : 0;
}

int store_kube_state_load(struct store *base, struct strbuf *ret_text, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf packed = STRBUF_INIT(MAX_PIECES * MAX_BYTES);
	CLEANUP(json_putp) struct json_object *json = NULL;
	struct kube_store *self = store_kube_of(base);
	struct kube_object object = {.json = NULL};
	int r = call(self, KUBE_GET, STATE_NAME, NULL, &json, err);

	self->state_version[0] = '\0';
	if (r == KUBE_NOT_FOUND)
		return 1;
	r = r ? store_kube_errno(r) : kube_object_read(json, &object, err);
	if (r)
		return r;
	snprintf(self->state_version, sizeof(self->state_version), "%s", object.resource_version);
	r = add_packed(json, &packed, err);
	if (r > 0)
		r = load_pieces(self, json_member(json, "data"), &packed, err);
	r = r ? r : unpack(&packed, ret_text, err);
	return r == -EINVAL ? err_set_at(err, r, base->state_place, 0, 0, "torn, or not the collector's state: %s",
					 err ? err->msg : "")
			    : r;
}

/* Only room is lost if that fails. */
static void remove_pieces(struct kube_store *self)
{
	char name[64];

	for (int64_t parity = 0; parity < 2; parity++)
		for (; self->n_pieces[parity] > 0; self->n_pieces[parity]--) {
			CLEANUP(json_putp) struct json_object *json = NULL;

			(void)!call(self, KUBE_DELETE, piece_name(name, parity, self->n_pieces[parity] - 1), NULL,
				    &json, NULL);
		}
}

int store_kube_state_save(struct store *base, const char *text, size_t n, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf packed = STRBUF_INIT(MAX_BYTES), body = STRBUF_INIT(2 * MIB);
	CLEANUP(json_putp) struct json_object *answer = NULL;
	struct kube_store *self = store_kube_of(base);
	struct kube_object object = {.json = NULL};
	bool is_known = *self->state_version;
	int r = gzip_pack(text, n, GZIP_SMALLEST, &packed);

	if (r == -E2BIG)
		return err_set(err, r, "%zu bytes do not fit a ConfigMap", n);
	if (r)
		return err_set(err, r, "out of memory");
	strbuf_addf(&body,
		    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"namespace\":\"%s\",\"name\":"
		    "\"" STATE_NAME "\",\"labels\":{\"app.kubernetes.io/managed-by\":\"memtamer\"}",
		    self->own_namespace);
	if (is_known)
		strbuf_addf(&body, ",\"resourceVersion\":\"%s\"", self->state_version);
	strbuf_adds(&body, "},\"binaryData\":{\"" STATE_KEY "\":\"");
	base64_encode(strbuf_text(&packed), packed.len, &body);
	strbuf_adds(&body, "\"}}");
	if (body.status)
		return err_set(err, body.status, "out of memory");
	r = call(self, is_known ? KUBE_UPDATE : KUBE_CREATE, STATE_NAME, strbuf_detach(&body), &answer, err);
	if (r == KUBE_NOT_FOUND)
		return err_set(err, -EAGAIN, "%s is gone", base->state_place);
	r = r ? store_kube_errno(r) : kube_object_read(answer, &object, err);
	if (r)
		return r;
	snprintf(self->state_version, sizeof(self->state_version), "%s", object.resource_version);
	remove_pieces(self);
	return 0;
}
