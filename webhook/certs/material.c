/* SPDX-License-Identifier: Apache-2.0 */
#include "certs/material.h"

#include "base/hash.h"
#include "base/strbuf.h"
#include "base/timefmt.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEAF_NAME "memtamer-webhook"
#define MAX_NAMES 64

void material_wipe(char *text)
{
	if (text)
		explicit_bzero(text, strlen(text));
	free(text);
}

void material_release(struct material *self)
{
	json_putp(&self->rest);
	free(self->resource_version);
	free(self->uid);
	pki_bundle_release(&self->cas);
	material_wipe(self->ca_key_pem);
	pki_pair_release(&self->leaf);
	*self = (struct material)MATERIAL_INIT;
}

void material_ca_name(const char *namespace, const char *secret, char ret[MATERIAL_NAME_BYTES])
{
	uint64_t hash = hash_stable(hash_stable_text(HASH_STABLE_INIT, namespace), secret, strlen(secret));

	snprintf(ret, MATERIAL_NAME_BYTES, "memtamer-webhook CA %010llx", (unsigned long long)(hash & 0xffffffffffu));
}

/* Our certificates begin earlier than they were made. */
static int64_t made_ms(int64_t from_ms, int64_t until_ms)
{
	return until_ms - from_ms > PKI_BACKDATE_MS ? from_ms + PKI_BACKDATE_MS : from_ms;
}

void material_cert_facts(const struct pki_cert *cert, const char *ca_name, struct rotation_cert *ret)
{
	*ret = (struct rotation_cert){
		.made_ms = made_ms(cert->from_ms, cert->until_ms),
		.until_ms = cert->until_ms,
		.is_ours = cert->is_ca && streq(cert->common_name, ca_name),
	};
	memcpy(ret->id, cert->id, sizeof(ret->id));
}

void material_leaf_facts(const struct pki_pair *leaf, const unsigned char *issuer, const char *const *names,
			 struct rotation_leaf *ret)
{
	int64_t from_ms = 0, until_ms = 0;

	*ret = (struct rotation_leaf){.is_good = false};
	if (!leaf->cert_pem || pki_read_validity(leaf->cert_pem, &from_ms, &until_ms, NULL))
		return;
	*ret = (struct rotation_leaf){
		.is_good = true, .has_names = true, .made_ms = made_ms(from_ms, until_ms), .until_ms = until_ms};
	memcpy(ret->issuer, issuer, sizeof(ret->issuer));
	for (size_t i = 0; names && names[i] && ret->has_names; i++)
		ret->has_names = pki_check_name(leaf->cert_pem, names[i], NULL) == 0;
}

static int64_t end_of(const struct material *self, const unsigned char *ca)
{
	for (size_t i = 0; i < self->n_ends; i++)
		if (memcmp(self->ends[i].ca, ca, PKI_ID_BYTES) == 0)
			return self->ends[i].until_ms;
	return 0;
}

void material_facts(const struct material *self, const char *ca_name, const char *const *names,
		    struct rotation_secret *ret)
{
	*ret = (struct rotation_secret){
		.presence = self->presence,
		.is_refused = self->is_refused,
		.is_blank = self->is_blank,
		.has_ca_key = self->ca_key_pem != NULL,
	};
	ret->cas.n = MIN(self->cas.n, ARRAY_LEN(ret->cas.certs));
	for (size_t i = 0; i < ret->cas.n; i++) {
		material_cert_facts(&self->cas.certs[i], ca_name, &ret->cas.certs[i]);
		ret->cas.certs[i].last_leaf_ms = end_of(self, self->cas.certs[i].id);
	}
	material_leaf_facts(&self->leaf, self->leaf_issuer, names, &ret->leaf);
}

/* A leaf of this CA lives until then, at least. */
static void note_end(struct material *self, const unsigned char *ca, int64_t until_ms)
{
	for (size_t i = 0; i < self->n_ends; i++)
		if (memcmp(self->ends[i].ca, ca, PKI_ID_BYTES) == 0) {
			self->ends[i].until_ms = MAX(self->ends[i].until_ms, until_ms);
			return;
		}
	if (self->n_ends == ARRAY_LEN(self->ends))
		return; /* then the CA's own end counts */
	memcpy(self->ends[self->n_ends].ca, ca, PKI_ID_BYTES);
	self->ends[self->n_ends++].until_ms = until_ms;
}

void material_remember(struct material *self, const struct material *before)
{
	for (size_t i = 0; i < before->n_ends; i++)
		/* where nothing is said, the CA's own end counts, which is later still */
		if (end_of(self, before->ends[i].ca))
			note_end(self, before->ends[i].ca, before->ends[i].until_ms);
}

/* The bundle anew, from the text of its certificates; ends of those that are gone are forgotten. */
static int set_cas(struct material *self, const struct strbuf *text, struct err *err)
{
	struct pki_bundle fresh = PKI_BUNDLE_INIT;
	size_t kept = 0;
	int r = text->status ? err_set(err, text->status, "the CA bundle is too large")
			     : pki_read_bundle(strbuf_text(text), text->len, &fresh, err);

	if (r)
		return r;
	pki_bundle_release(&self->cas);
	self->cas = fresh;
	for (size_t i = 0; i < self->n_ends; i++)
		if (pki_bundle_find(&self->cas, self->ends[i].ca) < self->cas.n)
			self->ends[kept++] = self->ends[i];
	self->n_ends = kept;
	return 0;
}

/* Which certificate has to go for a new one; n: none. */
static size_t find_victim(const struct material *self)
{
	if (self->cas.n < LIMIT_CA_BUNDLE_CERTS)
		return self->cas.n;
	for (size_t i = self->cas.n - 1; i > 0; i--)
		if (!self->leaf.cert_pem || memcmp(self->cas.certs[i].id, self->leaf_issuer, PKI_ID_BYTES) != 0)
			return i;
	return 0;
}

int material_add_ca(struct material *self, const char *ca_name, int64_t now_ms, int64_t lifetime_ms,
		    int64_t cert_lifetime_ms, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(LIMIT_CREDENTIAL_BYTES);
	CLEANUP(pki_pair_release) struct pki_pair ca = PKI_PAIR_INIT;
	size_t victim = find_victim(self);
	int r = pki_make_ca(ca_name, now_ms, lifetime_ms, &ca, err);

	if (r)
		return r;
	if (self->cas.n)
		note_end(self, self->cas.certs[0].id, now_ms + cert_lifetime_ms);
	strbuf_adds(&text, ca.cert_pem);
	for (size_t i = 0; i < self->cas.n; i++)
		if (i != victim)
			strbuf_adds(&text, self->cas.certs[i].pem);
	r = set_cas(self, &text, err);
	if (r)
		return r;
	material_wipe(self->ca_key_pem);
	self->ca_key_pem = TAKE_PTR(ca.key_pem);
	return 0;
}

int material_adopt(struct material *self, const struct pki_cert *cert, int64_t last_leaf_ms, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(LIMIT_CREDENTIAL_BYTES);
	int r;

	for (size_t i = 0; i < self->cas.n; i++)
		strbuf_adds(&text, self->cas.certs[i].pem);
	strbuf_adds(&text, cert->pem);
	r = set_cas(self, &text, err);
	if (!r)
		note_end(self, cert->id, last_leaf_ms);
	return r;
}

int material_prune(struct material *self, uint32_t mask, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(LIMIT_CREDENTIAL_BYTES);

	for (size_t i = 0; i < self->cas.n; i++)
		if (i >= 32 || !(mask & (1u << i)))
			strbuf_adds(&text, self->cas.certs[i].pem);
	return set_cas(self, &text, err);
}

/* `names`, then those lines of `others` that are not among them. */
static size_t merge_names(const char *const *names, char *others, const char *ret[MAX_NAMES + 1])
{
	size_t n = 0;
	char *save = NULL;

	for (size_t i = 0; names && names[i] && n < MAX_NAMES; i++)
		ret[n++] = names[i];
	for (char *line = strtok_r(others, "\n", &save); line && n < MAX_NAMES; line = strtok_r(NULL, "\n", &save)) {
		bool is_there = false;

		for (size_t i = 0; i < n; i++)
			is_there |= strcasecmp(ret[i], line) == 0;
		if (!is_there)
			ret[n++] = line;
	}
	ret[n] = NULL;
	return n;
}

int material_make_leaf(struct material *self, const char *const *names, bool keeps_names, int64_t now_ms,
		       int64_t lifetime_ms, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf others = STRBUF_INIT(16 * KIB);
	CLEANUP(pki_pair_release) struct pki_pair fresh = PKI_PAIR_INIT;
	char nothing[] = "";
	const char *all[MAX_NAMES + 1];
	const struct pki_leaf leaf = {
		.usage = PKI_SERVER,
		.common_name = LEAF_NAME,
		.names = all,
		.now_ms = now_ms,
		.validity_ms = lifetime_ms,
	};
	struct pki_pair ca;
	int r;

	if (!self->cas.n || !self->ca_key_pem)
		return err_set(err, -EINVAL, "there is no CA to sign with");
	if (keeps_names && self->leaf.cert_pem && pki_read_names(self->leaf.cert_pem, &others, err))
		strbuf_clear(&others);
	merge_names(names, others.text ? others.text : nothing, all);
	ca = (struct pki_pair){self->cas.certs[0].pem, self->ca_key_pem};
	r = pki_make_leaf(&ca, &leaf, &fresh, err);
	return r ? r : material_set_leaf(self, &fresh, self->cas.certs[0].id, err);
}

int material_set_leaf(struct material *self, const struct pki_pair *leaf, const unsigned char *issuer, struct err *err)
{
	CLEANUP(pki_pair_release) struct pki_pair copy = PKI_PAIR_INIT;
	int64_t from_ms, until_ms = 0;
	int r = pki_read_validity(leaf->cert_pem, &from_ms, &until_ms, err);

	if (r)
		return r;
	copy = (struct pki_pair){strdup(leaf->cert_pem), strdup(leaf->key_pem)};
	if (!copy.cert_pem || !copy.key_pem)
		return err_set(err, -ENOMEM, "out of memory");
	note_end(self, issuer, until_ms);
	memmove(self->leaf_issuer, issuer, sizeof(self->leaf_issuer));
	pki_pair_release(&self->leaf);
	self->leaf = (struct pki_pair){TAKE_PTR(copy.cert_pem), TAKE_PTR(copy.key_pem)};
	return 0;
}
