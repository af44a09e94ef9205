/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/certificates.h"

#include "base/hash.h"
#include "base/io.h"
#include "base/limits.h"
#include "base/timefmt.h"
#include "pki/pki.h"

#include <errno.h>
#include <stdlib.h>

#define OWN_CA_VALIDITY_MS   (3650 * TIME_DAY_MS)
#define OWN_LEAF_VALIDITY_MS (30 * TIME_DAY_MS)

struct certificates {
	struct http_server *server;
	struct pki_pair ca, leaf;
	struct pki_pair given; /* from certificates_give; empty: none yet */
	bool is_shared;	       /* certificates_give provides the certificate */
	char *chain;	       /* PEM of the certificate in use */
	int64_t renew_ms;      /* when to renew the self-made leaf */
	uint64_t names;	       /* hash of the names of the self-made leaf */
	int64_t expiry_ms;     /* when the certificate in use ends */
	uint64_t seen;	       /* hash of the input of the last check, valid or not */
	bool has_seen;
};

/* The input of the server's credentials, as text. */
struct credentials {
	struct strbuf cert, key, client_ca;
};

static void credentials_release(struct credentials *self)
{
	strbuf_release(&self->cert);
	strbuf_wipe(&self->key);
	strbuf_release(&self->client_ca);
}

struct certificates *certificates_new(struct http_server *server)
{
	struct certificates *self = calloc(1, sizeof(*self));

	if (self)
		self->server = server;
	return self;
}

void certificates_free(struct certificates *self)
{
	if (!self)
		return;
	pki_pair_release(&self->ca);
	pki_pair_release(&self->leaf);
	pki_pair_release(&self->given);
	free(self->chain);
	free(self);
}

void certificates_forget(struct certificates *self)
{
	self->has_seen = false;
}

int64_t certificates_expiry_ms(const struct certificates *self)
{
	return self->expiry_ms;
}

const char *certificates_own_ca(const struct certificates *self)
{
	return self->is_shared ? NULL : self->ca.cert_pem;
}

static uint64_t hash_of_names(const struct webhook_config *config)
{
	uint64_t hash = HASH_STABLE_INIT;

	for (size_t i = 0; config->server_names && config->server_names[i]; i++)
		hash = hash_stable_text(hash, config->server_names[i]);
	return hash;
}

static int make_own(struct certificates *self, const struct webhook_config *config, int64_t now_ms, struct err *err)
{
	const struct pki_leaf leaf = {
		.usage = PKI_SERVER,
		.common_name = "memtamer-webhook",
		.names = config->server_names,
		.now_ms = now_ms,
		.validity_ms = OWN_LEAF_VALIDITY_MS,
	};
	struct pki_pair fresh = PKI_PAIR_INIT;
	int r = 0;

	if (!self->ca.cert_pem)
		r = pki_make_ca("memtamer-webhook CA", now_ms, OWN_CA_VALIDITY_MS, &self->ca, err);
	if (!r)
		r = pki_make_leaf(&self->ca, &leaf, &fresh, err);
	if (r)
		return r;
	pki_pair_release(&self->leaf);
	self->leaf = fresh;
	self->renew_ms = now_ms + OWN_LEAF_VALIDITY_MS / 3 * 2;
	self->names = hash_of_names(config);
	return 0;
}

static bool needs_own(const struct certificates *self, const struct webhook_config *config, int64_t now_ms)
{
	return !self->leaf.cert_pem || now_ms >= self->renew_ms || self->names != hash_of_names(config);
}

static int read_pem(const char *path, struct strbuf *buf, struct err *err)
{
	int r = io_read_file(path, buf, err);

	if (r && err)
		err_set_at(err, r, path, 0, 0, "%s", err->msg);
	return r;
}

static int gather(struct certificates *self, const struct webhook_config *config, int64_t now_ms,
		  struct credentials *credentials, struct err *err)
{
	int r = 0;

	if (config->cert_file) {
		r = read_pem(config->cert_file, &credentials->cert, err);
		if (!r)
			r = read_pem(config->key_file, &credentials->key, err);
	} else if (self->is_shared && self->given.cert_pem) {
		if (strbuf_adds(&credentials->cert, self->given.cert_pem) ||
		    strbuf_adds(&credentials->key, self->given.key_pem))
			r = err_set(err, -ENOMEM, "out of memory");
	} else {
		if (needs_own(self, config, now_ms))
			r = make_own(self, config, now_ms, err);
		if (!r && (strbuf_adds(&credentials->cert, self->leaf.cert_pem) ||
			   strbuf_adds(&credentials->key, self->leaf.key_pem)))
			r = err_set(err, -ENOMEM, "out of memory");
	}
	if (!r && config->client_ca_file)
		r = read_pem(config->client_ca_file, &credentials->client_ca, err);
	return r;
}

static uint64_t hash_of(const struct credentials *credentials, const struct webhook_config *config,
			const struct err *err)
{
	const struct strbuf *const files[] = {&credentials->cert, &credentials->key, &credentials->client_ca};
	uint64_t hash = HASH_STABLE_INIT;

	/* The texts may contain NULs. */
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		hash = hash_stable(hash_stable(hash, strbuf_text(files[i]), files[i]->len), "", 1);
	hash = hash_stable_text(hash, config->client_name);
	hash = hash_stable_text(hash, err->where);
	return hash_stable_text(hash, err->msg);
}

static int apply(struct certificates *self, const struct webhook_config *config, const struct credentials *credentials,
		 struct err *err)
{
	const char *cert = strbuf_text(&credentials->cert), *key = strbuf_text(&credentials->key);
	const char *where = config->cert_file ? config->cert_file : "";
	int64_t from_ms, until_ms = 0;
	int r = pki_read_validity(cert, &from_ms, &until_ms, err);

	if (!r)
		r = pki_check_pair(cert, key, err);
	if (!r)
		r = http_server_set_credentials(self->server, cert, key,
						config->client_ca_file ? strbuf_text(&credentials->client_ca) : NULL,
						config->client_name, err);
	if (r) {
		struct err why = *err;

		return err_set_at(err, r, where, 0, 0, "certificate not used: %s", why.msg);
	}
	self->expiry_ms = until_ms;
	free(self->chain);
	self->chain = strdup(cert); /* used for comparisons only; NULL is allowed */
	return CERTIFICATES_LOADED;
}

int certificates_check(struct certificates *self, const struct webhook_config *config, int64_t now_ms, struct err *err)
{
	CLEANUP(credentials_release)
	struct credentials credentials = {
		.cert = STRBUF_INIT(LIMIT_CREDENTIAL_BYTES),
		.key = STRBUF_INIT(LIMIT_CREDENTIAL_BYTES),
		.client_ca = STRBUF_INIT(LIMIT_CREDENTIAL_BYTES),
	};
	struct err why = ERR_INIT;
	int r = gather(self, config, now_ms, &credentials, &why);
	uint64_t hash = hash_of(&credentials, config, &why);

	if (self->has_seen && hash == self->seen)
		return 0;
	self->seen = hash;
	self->has_seen = true;
	if (!r)
		r = apply(self, config, &credentials, &why);
	if (r < 0 && err)
		*err = why;
	return r;
}

void certificates_share(struct certificates *self, bool is_shared)
{
	/* load the self-made certificate again, because it becomes the one that clients expect */
	if (self->is_shared && !is_shared)
		self->has_seen = false;
	self->is_shared = is_shared;
	if (!is_shared)
		pki_pair_release(&self->given);
}

const char *certificates_chain(const struct certificates *self)
{
	return certificates_is_ready(self) ? self->chain : NULL;
}

bool certificates_is_ready(const struct certificates *self)
{
	return !self->is_shared || self->given.cert_pem;
}

int certificates_give(struct certificates *self, const struct webhook_config *config, const char *cert_pem,
		      const char *key_pem, int64_t now_ms, struct err *err)
{
	struct pki_pair fresh = PKI_PAIR_INIT, old = self->given;
	int r = pki_pair_copy(cert_pem, key_pem, &fresh, err);

	if (r)
		return r;
	self->given = fresh;
	self->has_seen = false;
	r = certificates_check(self, config, now_ms, err);
	if (r < 0)
		self->given = old;
	pki_pair_release(r < 0 ? &fresh : &old);
	return r;
}
