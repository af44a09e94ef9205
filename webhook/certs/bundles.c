/* SPDX-License-Identifier: Apache-2.0 */
#include "certs/bundles.h"

#include "base/strbuf.h"
#include "kube/base64.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void bundles_release(struct bundles *self)
{
	for (size_t i = 0; i < self->n; i++) {
		free(self->entries[i].name);
		pki_bundle_release(&self->entries[i].bundle);
	}
	free(self->entries);
	free(self->facts);
	free(self->resource_version);
	*self = (struct bundles)BUNDLES_INIT;
}

/* What cannot be read counts as garbage, which is replaced. */
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
		r = pki_read_long_bundle(strbuf_text(&pem), pem.len, &entry->bundle, err);
	if (r == -ENOMEM)
		return err_set(err, r, "out of memory");
	/* a line's end alone is how some charts write "none" */
	entry->is_unreadable = r || (pem.len > 1 && !entry->bundle.n);
	return 0;
}

enum rank { RANK_OF_SECRET, RANK_OF_OUR_NAME, RANK_OTHER, RANK_COUNT };

static enum rank rank_of(const struct pki_cert *cert, const char *ca_name, const struct pki_bundle *cas)
{
	struct rotation_cert fact;

	if (pki_bundle_find(cas, cert->id) < cas->n)
		return RANK_OF_SECRET;
	material_cert_facts(cert, ca_name, &fact);
	return fact.is_ours ? RANK_OF_OUR_NAME : RANK_OTHER;
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
				material_cert_facts(&bundle->certs[i], ca_name, &ret->certs[ret->n++]);
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
	const char *name = "";
	int r;

	if (json_get_string(webhook, "", "name", &name, NULL))
		name = "";
	*entry = (struct bundles_entry){.name = strdup(name)};
	if (!entry->name)
		return err_set(err, -ENOMEM, "out of memory");
	r = read_bundle(json_member(webhook, "clientConfig"), entry, err);
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

const struct pki_cert *bundles_find(const struct bundles *self, const unsigned char *id)
{
	for (size_t i = 0; i < self->n; i++) {
		size_t at = pki_bundle_find(&self->entries[i].bundle, id);

		if (at < self->entries[i].bundle.n)
			return &self->entries[i].bundle.certs[at];
	}
	return NULL;
}

/* Ours that must be there, newest first, then what was there and stays. */
static int want(const struct bundles_entry *entry, const struct rotation_view *view, const struct material *secret,
		struct strbuf *pem)
{
	for (size_t i = 0; i < secret->cas.n && i < view->secret.cas.n; i++)
		if (rotation_wants(view, i))
			strbuf_adds(pem, secret->cas.certs[i].pem);
	for (size_t i = 0; i < entry->bundle.n; i++) {
		const struct pki_cert *cert = &entry->bundle.certs[i];
		size_t ca = pki_bundle_find(&secret->cas, cert->id);
		struct rotation_cert fact;

		material_cert_facts(cert, "", &fact);
		if (rotation_keeps(view, &fact) && (ca >= view->secret.cas.n || !rotation_wants(view, ca)))
			strbuf_adds(pem, cert->pem);
	}
	return pem->status;
}

static bool is_the_same(const struct bundles_entry *entry, const struct strbuf *pem)
{
	struct pki_bundle wanted = PKI_BUNDLE_INIT;
	bool is_same = !entry->is_unreadable && !entry->bundle.has_garbage &&
		       !pki_read_long_bundle(strbuf_text(pem), pem->len, &wanted, NULL) && wanted.n == entry->bundle.n;

	for (size_t i = 0; i < wanted.n && is_same; i++)
		is_same = pki_bundle_find(&entry->bundle, wanted.certs[i].id) < entry->bundle.n;
	pki_bundle_release(&wanted);
	return is_same;
}

static int add_operation(struct json_object *patch, const char *op, const char *path, struct json_object *take_value)
{
	struct json_object *operation = json_object_new_object();
	int r = operation ? 0 : -ENOMEM;

	if (!r)
		r = json_add(operation, "op", json_object_new_string(op));
	if (!r)
		r = json_add(operation, "path", json_object_new_string(path));
	if (r)
		json_object_put(take_value);
	else
		r = json_add(operation, "value", take_value);
	if (!r)
		return json_append(patch, operation);
	json_object_put(operation);
	return r;
}

static int patch_entry(const struct bundles *self, size_t i, const struct rotation_view *view,
		       const struct material *secret, struct json_object *patch)
{
	CLEANUP(strbuf_release) struct strbuf pem = STRBUF_INIT(LIMIT_KUBE_OBJECT_BYTES);
	CLEANUP(strbuf_release) struct strbuf encoded = STRBUF_INIT(2 * LIMIT_KUBE_OBJECT_BYTES);
	CLEANUP(strbuf_release) struct strbuf path = STRBUF_INIT(128);
	int r;

	if (rotation_is_right(view, &self->facts[i]))
		return 0;
	r = want(&self->entries[i], view, secret, &pem);
	/* the API server would take no CA for any CA of the system */
	if (r || !pem.len || is_the_same(&self->entries[i], &pem))
		return r;
	r = base64_encode(pem.text, pem.len, &encoded);
	strbuf_addf(&path, "/webhooks/%zu/clientConfig/caBundle", i);
	if (r || path.status)
		return r ? r : path.status;
	return add_operation(patch, "add", strbuf_text(&path), json_object_new_string(strbuf_text(&encoded)));
}

int bundles_patch(const struct bundles *self, const struct rotation_view *view, const struct material *secret,
		  struct json_object **ret, struct err *err)
{
	CLEANUP(json_putp) struct json_object *patch = json_object_new_array();
	int r = patch ? 0 : -ENOMEM;

	/* another version than the one that was read is a conflict */
	if (!r)
		r = add_operation(patch, "replace", "/metadata/resourceVersion",
				  json_object_new_string(self->resource_version));
	for (size_t i = 0; i < self->n && !r; i++)
		r = patch_entry(self, i, view, secret, patch);
	if (r)
		return err_set(err, r, r == -E2BIG ? "the CA bundle is too large" : "out of memory");
	if (json_object_array_length(patch) == 1)
		return 1;
	*ret = TAKE_PTR(patch);
	return 0;
}
