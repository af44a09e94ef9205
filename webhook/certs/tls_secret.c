/* SPDX-License-Identifier: Apache-2.0 */
#include "certs/tls_secret.h"

#include "base/base64.h"
#include "base/hash.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "k8s/keys.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The Secret's data, decoded. */
enum { CA_CERT, CA_KEY, TLS_CERT, TLS_KEY, PARTS };

static const char *const data_keys[PARTS] = {TLS_SECRET_CA_CERT, TLS_SECRET_CA_KEY, TLS_SECRET_TLS_CERT,
					     TLS_SECRET_TLS_KEY};

struct data {
	struct strbuf parts[PARTS];
};

static void data_release(struct data *self)
{
	for (size_t i = 0; i < PARTS; i++)
		strbuf_wipe(&self->parts[i]);
}

void tls_secret_name_ca(struct tls_secret_names *self)
{
	uint64_t hash = hash_stable(hash_stable_text(HASH_STABLE_INIT, self->namespace), self->secret,
				    strlen(self->secret));

	snprintf(self->ca, sizeof(self->ca), "memtamer-webhook CA %010llx", (unsigned long long)(hash & 0xffffffffffu));
}

const char *tls_secret_short_id(const unsigned char *id, char ret[TLS_SECRET_SHORT_ID_BYTES])
{
	for (size_t i = 0; i < TLS_SECRET_SHORT_ID_BYTES / 2; i++)
		snprintf(ret + 2 * i, 3, "%02x", (unsigned int)id[i]);
	return ret;
}

/* json-c returns its own memory, which is const by type only. */
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

	wipe_string(json_member(data, TLS_SECRET_CA_KEY));
	wipe_string(json_member(data, TLS_SECRET_TLS_KEY));
}

void tls_secret_put_object(struct json_object *object)
{
	wipe_keys(object);
	json_object_put(object);
}

void tls_secret_release(struct tls_secret *self)
{
	json_putp(&self->object);
	pki_bundle_release(&self->cas);
	if (self->ca_key_pem)
		explicit_bzero(self->ca_key_pem, strlen(self->ca_key_pem));
	free(self->ca_key_pem);
	pki_pair_release(&self->leaf);
	*self = (struct tls_secret)TLS_SECRET_INIT;
}

/* Records the first complaint; later ones follow from it. */
static void complain(struct tls_secret *self, const char *what)
{
	if (!self->complaint.code)
		err_set(&self->complaint, -EINVAL, "%s", what);
}

static int read_data(struct json_object *data, struct data *ret, struct err *err)
{
	for (size_t i = 0; i < PARTS; i++) {
		struct json_object *value = json_member(data, data_keys[i]);
		int r = 0;

		if (json_object_is_type(value, json_type_string))
			r = base64_decode(json_object_get_string(value), (size_t)json_object_get_string_len(value),
					  &ret->parts[i]);
		if (r == -ENOMEM)
			return err_set(err, r, "out of memory");
		if (r) /* not base64, which the API server never writes */
			strbuf_clear(&ret->parts[i]);
	}
	return 0;
}

/* Our certificates are valid from PKI_BACKDATE_MS before they were made. */
static int64_t made_ms(int64_t from_ms, int64_t until_ms)
{
	return until_ms - from_ms > PKI_BACKDATE_MS ? from_ms + PKI_BACKDATE_MS : from_ms;
}

struct rotation_cert tls_secret_cert_facts(const struct pki_cert *cert, const char *ca_name)
{
	struct rotation_cert fact = {
		.made_ms = made_ms(cert->from_ms, cert->until_ms),
		.until_ms = cert->until_ms,
		.is_ours = cert->is_ca && streq(cert->common_name, ca_name),
		.pem = cert->pem,
	};

	memcpy(fact.id, cert->id, sizeof(fact.id));
	return fact;
}

/* Reads {"<id>": "<time>"}. Entries that cannot be read are ignored: then a CA stays until its own end. */
static void read_ends(struct rotation_bundle *cas, const char *annotation)
{
	CLEANUP(json_putp) struct json_object *ends = NULL;
	char id[TLS_SECRET_SHORT_ID_BYTES];
	const char *text;

	if (json_parse(annotation, strlen(annotation), 2, &ends, NULL))
		return;
	for (size_t i = 0; i < cas->n; i++)
		if (json_get_string(ends, "", tls_secret_short_id(cas->certs[i].id, id), &text, NULL) ||
		    time_parse(text, strlen(text), &cas->certs[i].last_leaf_ms))
			cas->certs[i].last_leaf_ms = 0;
}

/* Moves the CA that signs our certificates to the front. */
static void bring_to_front(struct pki_bundle *cas, size_t i)
{
	struct pki_cert first = cas->certs[i];

	memmove(&cas->certs[1], &cas->certs[0], i * sizeof(first));
	cas->certs[0] = first;
}

static int take_cas(struct tls_secret *self, const struct data *data, const char *ca_name, struct err *err)
{
	const struct strbuf *cert = &data->parts[CA_CERT], *key = &data->parts[CA_KEY];
	size_t signer;
	int r = pki_read_bundle(strbuf_text(cert), cert->len, ROTATION_CERTS, &self->cas, err);

	if (r == -ENOMEM)
		return r;
	if (r || self->cas.has_garbage || (cert->len && !self->cas.n))
		complain(self, TLS_SECRET_CA_CERT " holds something that is no certificate");
	signer = pki_find_key(strbuf_text(key), &self->cas);
	if (signer < self->cas.n) {
		bring_to_front(&self->cas, signer);
		self->ca_key_pem = strdup(strbuf_text(key));
		if (!self->ca_key_pem)
			return err_set(err, -ENOMEM, "out of memory");
		self->facts.has_ca_key = true;
	} else if (key->len) {
		complain(self, TLS_SECRET_CA_KEY " belongs to no certificate of " TLS_SECRET_CA_CERT);
	} else if (cert->len) {
		complain(self, "there is no " TLS_SECRET_CA_KEY);
	}
	for (size_t i = 0; i < self->cas.n; i++)
		self->facts.cas.certs[self->facts.cas.n++] = tls_secret_cert_facts(&self->cas.certs[i], ca_name);
	return 0;
}

static int take_leaf(struct tls_secret *self, const struct data *data, const char *const *names, struct err *err)
{
	const char *cert = strbuf_text(&data->parts[TLS_CERT]), *key = strbuf_text(&data->parts[TLS_KEY]);
	struct rotation_leaf *leaf = &self->facts.leaf;
	size_t issuer = pki_find_issuer(cert, &self->cas);
	int64_t from_ms;

	if (!*cert && !*key)
		return 0; /* normal while API servers learn about a new CA */
	if (pki_check_pair(cert, key, NULL) || pki_read_validity(cert, &from_ms, &leaf->until_ms, NULL)) {
		complain(self, TLS_SECRET_TLS_CERT " and " TLS_SECRET_TLS_KEY " do not belong together");
		return 0;
	}
	if (issuer == self->cas.n) {
		complain(self, TLS_SECRET_TLS_CERT " was signed by no certificate of " TLS_SECRET_CA_CERT);
		return 0;
	}
	leaf->is_good = leaf->has_names = true;
	leaf->made_ms = made_ms(from_ms, leaf->until_ms);
	memcpy(leaf->issuer, self->cas.certs[issuer].id, sizeof(leaf->issuer));
	for (; names && *names; names++)
		leaf->has_names &= pki_check_name(cert, *names, NULL) == 0;
	return pki_pair_copy(cert, key, &self->leaf, err);
}

/* Decides whether the Secret was made by memtamer. */
static void judge(struct tls_secret *self, const struct data *data, const char *annotation)
{
	struct rotation_secret *facts = &self->facts;
	const char *type = "";
	bool is_blank = true;

	for (size_t i = 0; i < PARTS; i++)
		is_blank &= data->parts[i].len == 0;
	if (json_get_string(self->object, "", "type", &type, NULL) ||
	    (!streq(type, TLS_SECRET_TYPE) && !streq(type, TLS_SECRET_BLANK_TYPE))) {
		facts->is_refused = true;
		err_set(&self->complaint, -EINVAL, "its type is %.60s, not " TLS_SECRET_TYPE, type);
	} else if (!annotation && !is_blank && (!facts->has_ca_key || !facts->leaf.is_good)) {
		facts->is_refused = true;
		complain(self, "it lacks a part");
	}
	facts->is_blank = is_blank && !annotation;
	if (facts->is_refused)
		err_wrap(&self->complaint, "the Secret was not made by memtamer, and is neither used nor changed");
}

static int decode(const struct tls_secret_names *names, struct tls_secret *self, struct err *err)
{
	CLEANUP(data_release)
	struct data data;
	struct json_object *metadata = json_member(self->object, "metadata");
	const char *annotation = NULL;
	int r;

	for (size_t i = 0; i < PARTS; i++)
		data.parts[i] = (struct strbuf)STRBUF_INIT(LIMIT_CREDENTIAL_BYTES);
	if (json_get_string(metadata, "", "resourceVersion", &self->resource_version, NULL))
		self->resource_version = "";
	if (json_get_string(metadata, "", "uid", &self->uid, NULL))
		self->uid = "";
	if (json_get_string(json_member(metadata, "annotations"), "", KEY_CERTIFICATES, &annotation, NULL))
		annotation = NULL;
	r = read_data(json_member(self->object, "data"), &data, err);
	wipe_keys(self->object);
	if (!r)
		r = take_cas(self, &data, names->ca, err);
	if (!r)
		r = take_leaf(self, &data, names->server, err);
	if (r)
		return r;
	if (annotation)
		read_ends(&self->facts.cas, annotation);
	judge(self, &data, annotation);
	return 0;
}

int tls_secret_decode(struct json_object *object, const struct tls_secret_names *names, struct tls_secret *ret,
		      struct err *err)
{
	struct tls_secret fresh = TLS_SECRET_INIT;
	int r;

	fresh.facts.presence = object ? ROTATION_PRESENT : ROTATION_ABSENT;
	fresh.object = json_object_get(object);
	r = object ? decode(names, &fresh, err) : 0;
	if (r)
		tls_secret_release(&fresh);
	else
		*ret = fresh;
	return r;
}

void tls_secret_keep_ends(struct tls_secret *self, const struct tls_secret *before)
{
	const struct rotation_bundle *old = &before->facts.cas;
	struct rotation_bundle *cas = &self->facts.cas;

	for (size_t i = 0; i < cas->n; i++)
		for (size_t j = 0; j < old->n && cas->certs[i].last_leaf_ms; j++)
			if (memcmp(cas->certs[i].id, old->certs[j].id, ROTATION_ID_BYTES) == 0)
				cas->certs[i].last_leaf_ms = MAX(cas->certs[i].last_leaf_ms,
								 old->certs[j].last_leaf_ms);
}
