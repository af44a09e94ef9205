/* SPDX-License-Identifier: Apache-2.0 */
#include "certs/bundles.h"

#include "base/base64.h"
#include "base/strbuf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void bundles_release(struct bundles *self)
{
	for (size_t i = 0; i < self->n; i++)
		pki_bundle_release(&self->entries[i].bundle);
	free(self->entries);
	free(self->facts);
	free(self->resource_version);
	*self = (struct bundles)BUNDLES_INIT;
}

/* A caBundle that cannot be read counts as garbage and is replaced. */
static int read_bundle(struct json_object *client_config, struct bundles_entry *entry, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf pem = STRBUF_INIT(LIMIT_KUBE_OBJECT_BYTES);
	struct json_object *value = json_member(client_config, "caBundle");
	int r;

	if (!value)
		return 0;
	r = json_object_is_type(value, json_type_string)
		    ? base64_decode(json_object_get_string(value), (size_t)json_object_get_string_len(value), &pem)
		    : -EINVAL;
	if (!r)
		r = pki_read_bundle(strbuf_text(&pem), pem.len, SIZE_MAX, &entry->bundle, err);
	if (r == -ENOMEM)
		return err_set(err, r, "out of memory");
	/* some charts write a single newline for "none" */
	entry->is_unreadable = r || (pem.len > 1 && !entry->bundle.n);
	return 0;
}

enum rank { RANK_OF_SECRET, RANK_OF_OUR_NAME, RANK_OTHER, RANK_COUNT };

static enum rank rank_of(const struct pki_cert *cert, const char *ca_name, const struct pki_bundle *cas)
{
	if (pki_bundle_find(cas, cert->id) < cas->n)
		return RANK_OF_SECRET;
	return tls_secret_cert_facts(cert, ca_name).is_ours ? RANK_OF_OUR_NAME : RANK_OTHER;
}

static void fill_facts(const struct bundles_entry *entry, const char *ca_name, const struct pki_bundle *cas,
		       struct rotation_bundle *ret)
{
	const struct pki_bundle *bundle = &entry->bundle;

	*ret = (struct rotation_bundle){.has_garbage = entry->is_unreadable || bundle->has_garbage};
	for (enum rank rank = RANK_OF_SECRET; rank < RANK_COUNT; rank++)
		for (size_t i = 0; i < bundle->n; i++) {
			if (rank_of(&bundle->certs[i], ca_name, cas) != rank)
				continue;
			if (ret->n < ARRAY_LEN(ret->certs))
				ret->certs[ret->n++] = tls_secret_cert_facts(&bundle->certs[i], ca_name);
			else
				ret->n_more++;
		}
}

void bundles_choose(struct bundles *self, const char *ca_name, const struct pki_bundle *cas)
{
	for (size_t i = 0; i < self->n; i++)
		fill_facts(&self->entries[i], ca_name, cas, &self->facts[i]);
}

static int read_entry(struct json_object *webhook, const char *ca_name, struct bundles *self, struct err *err)
{
	struct bundles_entry *entry = &self->entries[self->n];
	int r = read_bundle(json_member(webhook, "clientConfig"), entry, err);

	fill_facts(entry, ca_name, &(const struct pki_bundle)PKI_BUNDLE_INIT, &self->facts[self->n++]);
	return r;
}

static int decode(struct json_object *object, const char *ca_name, struct bundles *self, struct err *err)
{
	struct json_object *webhooks = NULL;
	const char *version = "";
	size_t n;
	int r = json_get_array(object, "", "webhooks", &webhooks, err);

	if (r >= 0)
		r = json_get_string(json_member(object, "metadata"), "metadata", "resourceVersion", &version, err);
	if (r < 0)
		return r;
	n = webhooks ? json_object_array_length(webhooks) : 0;
	self->resource_version = strdup(version);
	self->entries = calloc(n + 1, sizeof(*self->entries));
	self->facts = calloc(n + 1, sizeof(*self->facts));
	if (!self->resource_version || !self->entries || !self->facts)
		return err_set(err, -ENOMEM, "out of memory");
	r = 0;
	for (size_t i = 0; i < n && !r; i++)
		r = read_entry(json_object_array_get_idx(webhooks, i), ca_name, self, err);
	return r;
}

int bundles_decode(struct json_object *object, const char *ca_name, struct bundles *ret, struct err *err)
{
	struct bundles fresh = {.presence = object ? ROTATION_PRESENT : ROTATION_ABSENT};
	int r = object ? decode(object, ca_name, &fresh, err) : 0;

	if (r)
		bundles_release(&fresh);
	else
		*ret = fresh;
	return r;
}

/* Appends the wanted certificates: our own, newest first, then those of the caBundle that stay. */
static int want(const struct bundles_entry *entry, const struct rotation_view *view, const struct tls_secret *secret,
		struct strbuf *pem)
{
	for (size_t i = 0; i < secret->cas.n && i < view->secret.cas.n; i++)
		if (rotation_wants(view, i))
			strbuf_adds(pem, secret->cas.certs[i].pem);
	for (size_t i = 0; i < entry->bundle.n; i++) {
		const struct pki_cert *cert = &entry->bundle.certs[i];
		size_t ca = pki_bundle_find(&secret->cas, cert->id);
		struct rotation_cert fact = tls_secret_cert_facts(cert, "");

		if (rotation_keeps(view, &fact) && (ca >= view->secret.cas.n || !rotation_wants(view, ca)))
			strbuf_adds(pem, cert->pem);
	}
	return pem->status;
}

static int patch_entry(const struct bundles *self, size_t i, const struct rotation_view *view,
		       const struct tls_secret *secret, struct strbuf *patch)
{
	CLEANUP(strbuf_release) struct strbuf pem = STRBUF_INIT(LIMIT_KUBE_OBJECT_BYTES);
	int r;

	if (rotation_is_right(view, &self->facts[i]))
		return 0;
	r = want(&self->entries[i], view, secret, &pem);
	/* with an empty caBundle the API server would trust the CAs of its system */
	if (r || !pem.len)
		return r;
	strbuf_addf(patch, ",{\"op\":\"add\",\"path\":\"/webhooks/%zu/clientConfig/caBundle\",\"value\":\"", i);
	base64_encode(pem.text, pem.len, patch);
	return strbuf_adds(patch, "\"}");
}

int bundles_patch(const struct bundles *self, const struct rotation_view *view, const struct tls_secret *secret,
		  struct json_object **ret, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf patch = STRBUF_INIT(4 * LIMIT_KUBE_OBJECT_BYTES);
	size_t empty;
	int r = 0;

	/* if the configuration has another version than we read, the API server answers with a conflict */
	strbuf_adds(&patch, "[{\"op\":\"replace\",\"path\":\"/metadata/resourceVersion\",\"value\":");
	strbuf_add_json_string(&patch, self->resource_version);
	strbuf_addc(&patch, '}');
	empty = patch.len;
	for (size_t i = 0; i < self->n && !r; i++)
		r = patch_entry(self, i, view, secret, &patch);
	if (!r && patch.len == empty)
		return 1;
	if (!r)
		r = strbuf_addc(&patch, ']');
	if (!r)
		r = json_parse(patch.text, patch.len, 4, ret, NULL);
	return r ? err_set(err, r, r == -E2BIG ? "the CA bundle is too large" : "out of memory") : 0;
}
