/* SPDX-License-Identifier: Apache-2.0 */
/* The Secret as JSON. */
#include "certs/material.h"

#include "base/hash.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "kube/base64.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CA_CERT	 "ca.crt"
#define CA_KEY	 "ca.key"
#define TLS_CERT "tls.crt"
#define TLS_KEY	 "tls.key"
/* Of an id in the annotation, in hexadecimal digits: enough to tell CAs of one Secret apart. */
#define SHORT_ID_BYTES 8

static const char *const data_keys[] = {CA_CERT, CA_KEY, TLS_CERT, TLS_KEY};

/* Bytes of the Secret's data, decoded. */
struct data {
	struct strbuf values[ARRAY_LEN(data_keys)];
};

enum { AT_CA_CERT, AT_CA_KEY, AT_TLS_CERT, AT_TLS_KEY };

static void data_release(struct data *self)
{
	for (size_t i = 0; i < ARRAY_LEN(self->values); i++) {
		if (self->values[i].text)
			explicit_bzero(self->values[i].text, self->values[i].capacity);
		strbuf_release(&self->values[i]);
	}
}

/* json-c gives away its own memory, const by name only. */
static void wipe_string(struct json_object *value)
{
	union {
		const char *constant;
		char *text;
	} memory;

	if (!json_object_is_type(value, json_type_string))
		return;
	memory.constant = json_object_get_string(value);
	explicit_bzero(memory.text, (size_t)json_object_get_string_len(value));
}

static void wipe_keys(struct json_object *object)
{
	struct json_object *data = json_member(object, "data");

	wipe_string(json_member(data, CA_KEY));
	wipe_string(json_member(data, TLS_KEY));
}

void material_put_object(struct json_object *object)
{
	wipe_keys(object);
	json_object_put(object);
}

/* True: the first complaint. Later ones follow from it. */
static void complain(struct material *self, const char *what)
{
	if (!self->complaint.code)
		err_set(&self->complaint, -EINVAL, "%s", what);
}

static int read_data(struct json_object *object, struct data *ret, struct err *err)
{
	struct json_object *data = json_member(object, "data");

	for (size_t i = 0; i < ARRAY_LEN(data_keys); i++) {
		struct json_object *value = json_member(data, data_keys[i]);
		int r = 0;

		if (json_object_is_type(value, json_type_string))
			r = base64_decode(json_object_get_string(value), (size_t)json_object_get_string_len(value),
					  &ret->values[i]);
		if (r == -ENOMEM)
			return err_set(err, r, "out of memory");
		if (r) /* what the API server never writes */
			strbuf_clear(&ret->values[i]);
	}
	return 0;
}

/* Bytes of a text of hexadecimal digits. */
static bool parse_id(const char *text, unsigned char ret[SHORT_ID_BYTES])
{
	for (size_t i = 0; i < SHORT_ID_BYTES; i++) {
		unsigned int value = 0;

		for (size_t j = 0; j < 2; j++) {
			static const char digits[] = "0123456789abcdef";
			const char *at = text[2 * i + j] ? strchr(digits, text[2 * i + j]) : NULL;

			if (!at)
				return false;
			value = value * 16 + (unsigned int)(at - digits);
		}
		ret[i] = (unsigned char)value;
	}
	return text[2 * (size_t)SHORT_ID_BYTES] == '\0';
}

/* {"<id>": "<time>"}; what cannot be read is not known: then a CA stays until its own end. */
static void read_ends(struct material *self, const char *text)
{
	CLEANUP(json_putp) struct json_object *ends = NULL;

	if (json_parse(text, strlen(text), 2, &ends, NULL) || !json_object_is_type(ends, json_type_object))
		return;
	json_object_object_foreach(ends, key, value)
	{
		unsigned char id[SHORT_ID_BYTES];
		int64_t until_ms;

		if (!json_object_is_type(value, json_type_string) || !parse_id(key, id) ||
		    time_parse(json_object_get_string(value), (size_t)json_object_get_string_len(value), &until_ms))
			continue;
		for (size_t i = 0; i < self->cas.n && self->n_ends < ARRAY_LEN(self->ends); i++)
			if (memcmp(self->cas.certs[i].id, id, sizeof(id)) == 0) {
				memcpy(self->ends[self->n_ends].ca, self->cas.certs[i].id, PKI_ID_BYTES);
				self->ends[self->n_ends++].until_ms = until_ms;
			}
	}
}

/* The CA that ours signs with goes to the front. */
static void bring_to_front(struct pki_bundle *cas, size_t i)
{
	struct pki_cert first = cas->certs[i];

	memmove(&cas->certs[1], &cas->certs[0], i * sizeof(first));
	cas->certs[0] = first;
}

static int take_cas(struct material *self, const struct data *data, struct err *err)
{
	const struct strbuf *cert = &data->values[AT_CA_CERT], *key = &data->values[AT_CA_KEY];
	size_t at = 0;
	int r = pki_read_bundle(strbuf_text(cert), cert->len, &self->cas, err);

	if (r == -ENOMEM)
		return r;
	if (r || self->cas.has_garbage || (cert->len && !self->cas.n))
		complain(self, CA_CERT " holds something that is no certificate");
	r = pki_find_key(strbuf_text(key), &self->cas, &at, NULL);
	if (r == -ENOMEM)
		return err_set(err, r, "out of memory");
	if (r) {
		if (key->len)
			complain(self, CA_KEY " belongs to no certificate of " CA_CERT);
		else if (cert->len)
			complain(self, "there is no " CA_KEY);
		return 0;
	}
	bring_to_front(&self->cas, at);
	self->ca_key_pem = strdup(strbuf_text(key));
	return self->ca_key_pem ? 0 : err_set(err, -ENOMEM, "out of memory");
}

static int take_leaf(struct material *self, const struct data *data, struct err *err)
{
	const char *cert = strbuf_text(&data->values[AT_TLS_CERT]), *key = strbuf_text(&data->values[AT_TLS_KEY]);
	struct pki_pair leaf = PKI_PAIR_INIT;
	size_t issuer = 0;
	int r;

	if (!*cert && !*key)
		return 0; /* as it is while a new CA is made known */
	if (pki_check_pair(cert, key, NULL)) {
		complain(self, TLS_CERT " and " TLS_KEY " do not belong together");
		return 0;
	}
	r = pki_find_issuer(cert, &self->cas, &issuer, NULL);
	if (r) {
		complain(self, TLS_CERT " was signed by no certificate of " CA_CERT);
		return r == -ENOMEM ? err_set(err, r, "out of memory") : 0;
	}
	leaf = (struct pki_pair){strdup(cert), strdup(key)};
	if (!leaf.cert_pem || !leaf.key_pem) {
		pki_pair_release(&leaf);
		return err_set(err, -ENOMEM, "out of memory");
	}
	self->leaf = leaf;
	memcpy(self->leaf_issuer, self->cas.certs[issuer].id, PKI_ID_BYTES);
	return 0;
}

/* Whose is it? */
static void judge(struct material *self, struct json_object *object, const struct data *data, const char *annotation)
{
	const char *type = "";
	bool is_blank = true;

	for (size_t i = 0; i < ARRAY_LEN(data->values); i++)
		is_blank &= data->values[i].len == 0;
	if (json_get_string(object, "", "type", &type, NULL) ||
	    (!streq(type, MATERIAL_TYPE) && !streq(type, MATERIAL_BLANK_TYPE))) {
		self->is_refused = true;
		err_set(&self->complaint, -EINVAL, "its type is %.60s, not " MATERIAL_TYPE, type);
	} else if (!annotation && !is_blank && (!self->ca_key_pem || !self->leaf.cert_pem)) {
		self->is_refused = true;
		if (!self->complaint.code)
			complain(self, "it lacks a part");
	}
	self->is_blank = is_blank && !annotation;
	if (self->is_refused)
		err_wrap(&self->complaint, "the Secret was not made by memtamer, and is neither used nor changed");
}

static int copy_text(struct json_object *metadata, const char *key, char **ret)
{
	const char *text = "";

	if (json_get_string(metadata, "metadata", key, &text, NULL))
		text = "";
	*ret = strdup(text);
	return *ret ? 0 : -ENOMEM;
}

/* All that is not ours, to be written back as it was. */
static int keep_rest(struct material *self, struct json_object *object)
{
	struct json_object *metadata = json_member(object, "metadata");
	int r = copy_text(metadata, "resourceVersion", &self->resource_version);

	if (!r)
		r = copy_text(metadata, "uid", &self->uid);
	if (!r && json_object_deep_copy(object, &self->rest, NULL))
		r = -ENOMEM;
	if (r)
		return r;
	if (json_object_is_type(json_member(self->rest, "metadata"), json_type_object))
		json_object_object_del(json_member(self->rest, "metadata"), "managedFields");
	if (json_object_is_type(json_member(self->rest, "data"), json_type_object))
		for (size_t i = 0; i < ARRAY_LEN(data_keys); i++)
			json_object_object_del(json_member(self->rest, "data"), data_keys[i]);
	return 0;
}

static int decode(struct json_object *object, struct material *self, struct err *err)
{
	CLEANUP(data_release)
	struct data data;
	struct json_object *annotations = json_member(json_member(object, "metadata"), "annotations");
	const char *annotation = NULL;
	int r;

	for (size_t i = 0; i < ARRAY_LEN(data.values); i++)
		data.values[i] = (struct strbuf)STRBUF_INIT(LIMIT_CREDENTIAL_BYTES);
	self->presence = ROTATION_PRESENT;
	if (json_get_string(annotations, "", MATERIAL_ANNOTATION, &annotation, NULL))
		annotation = NULL;
	r = read_data(object, &data, err);
	wipe_keys(object);
	if (!r && keep_rest(self, object))
		r = err_set(err, -ENOMEM, "out of memory");
	if (!r)
		r = take_cas(self, &data, err);
	if (!r)
		r = take_leaf(self, &data, err);
	if (r)
		return r;
	if (annotation)
		read_ends(self, annotation);
	judge(self, object, &data, annotation);
	return 0;
}

int material_decode(struct json_object *object, struct material *ret, struct err *err)
{
	struct material fresh = MATERIAL_INIT;
	int r = 0;

	if (!object)
		fresh.presence = ROTATION_ABSENT;
	else
		r = decode(object, &fresh, err);
	if (r)
		material_release(&fresh);
	else
		*ret = fresh;
	return r;
}

static struct json_object *render_ends(const struct material *self)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(16 * KIB);
	char when[TIME_TEXT_BYTES];

	strbuf_addc(&text, '{');
	for (size_t i = 0; i < self->n_ends; i++) {
		strbuf_adds(&text, i ? ",\"" : "\"");
		for (size_t j = 0; j < SHORT_ID_BYTES; j++)
			strbuf_addf(&text, "%02x", (unsigned int)self->ends[i].ca[j]);
		strbuf_addf(&text, "\":\"%s\"", time_render(self->ends[i].until_ms, when));
	}
	strbuf_addc(&text, '}');
	return text.status ? NULL : json_object_new_string(strbuf_text(&text));
}

static int add_data(struct json_object *data, const char *key, const char *text, size_t n)
{
	struct strbuf encoded = STRBUF_INIT(2 * LIMIT_CREDENTIAL_BYTES);
	int r = base64_encode(text, n, &encoded);

	if (!r)
		r = json_add(data, key, json_object_new_string_len(strbuf_text(&encoded), (int)encoded.len));
	if (encoded.text)
		explicit_bzero(encoded.text, encoded.capacity);
	strbuf_release(&encoded);
	return r;
}

static int add_all_data(const struct material *self, struct json_object *data)
{
	CLEANUP(strbuf_release) struct strbuf cas = STRBUF_INIT(LIMIT_CREDENTIAL_BYTES);
	const char *key = self->ca_key_pem ? self->ca_key_pem : "";
	const char *leaf = self->leaf.cert_pem ? self->leaf.cert_pem : "";
	const char *leaf_key = self->leaf.key_pem ? self->leaf.key_pem : "";
	int r;

	for (size_t i = 0; i < self->cas.n; i++)
		strbuf_adds(&cas, self->cas.certs[i].pem);
	r = cas.status ? cas.status : add_data(data, CA_CERT, strbuf_text(&cas), cas.len);
	if (!r)
		r = add_data(data, CA_KEY, key, strlen(key));
	if (!r)
		r = add_data(data, TLS_CERT, leaf, strlen(leaf));
	return r ? r : add_data(data, TLS_KEY, leaf_key, strlen(leaf_key));
}

/* A member that is an object, made if need be. */
static int ensure_object(struct json_object *parent, const char *key, struct json_object **ret)
{
	int r = 0;

	if (!json_object_is_type(json_member(parent, key), json_type_object))
		r = json_add(parent, key, json_object_new_object());
	*ret = json_member(parent, key);
	return r;
}

static int fill_object(const struct material *self, struct json_object *object, const char *namespace, const char *name)
{
	struct json_object *metadata = NULL, *annotations = NULL, *data = NULL;
	int r = ensure_object(object, "metadata", &metadata);

	if (!r && !self->rest) {
		r = json_add(object, "apiVersion", json_object_new_string("v1"));
		if (!r)
			r = json_add(object, "kind", json_object_new_string("Secret"));
		if (!r)
			r = json_add(object, "type", json_object_new_string(MATERIAL_TYPE));
		if (!r)
			r = json_add(metadata, "name", json_object_new_string(name));
		if (!r)
			r = json_add(metadata, "namespace", json_object_new_string(namespace));
	}
	if (!r)
		r = ensure_object(metadata, "annotations", &annotations);
	if (!r)
		r = json_add(annotations, MATERIAL_ANNOTATION, render_ends(self));
	if (!r)
		r = ensure_object(object, "data", &data);
	return r ? r : add_all_data(self, data);
}

int material_encode(const struct material *self, const char *namespace, const char *name, struct json_object **ret,
		    struct err *err)
{
	struct json_object *object = NULL;
	int r = 0;

	if (!self->rest)
		object = json_object_new_object();
	else if (json_object_deep_copy(self->rest, &object, NULL))
		object = NULL;
	if (!object)
		r = -ENOMEM;
	if (!r)
		r = fill_object(self, object, namespace, name);
	if (r) {
		material_put_object(object);
		return err_set(err, r, r == -E2BIG ? "the CA bundle is too large" : "out of memory");
	}
	*ret = object;
	return 0;
}
