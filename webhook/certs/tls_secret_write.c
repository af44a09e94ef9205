/* SPDX-License-Identifier: Apache-2.0 */
#include "certs/tls_secret.h"

#include "base/base64.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "k8s/keys.h"

#include <errno.h>
#include <string.h>

#define LEAF_NAME "memtamer-webhook"

/* Finds the CA that signs, or makes a new one. */
static int get_signer(const struct tls_secret *self, const struct tls_secret_names *names,
		      const struct rotation_view *view, const struct rotation_plan *plan, struct pki_pair *ret,
		      struct err *err)
{
	if (plan->makes_ca)
		return pki_make_ca(names->ca, view->now_ms, view->times.ca_lifetime_ms, ret, err);
	if (!plan->cas.n || !self->ca_key_pem)
		return err_set(err, -EINVAL, "there is no CA to sign with");
	return pki_pair_copy(plan->cas.certs[0].pem, self->ca_key_pem, ret, err);
}

static int make_leaf(const struct tls_secret *self, const struct tls_secret_names *names,
		     const struct rotation_view *view, const struct rotation_plan *plan, const struct pki_pair *signer,
		     struct pki_pair *ret, struct err *err)
{
	const struct pki_leaf leaf = {
		.usage = PKI_SERVER,
		.common_name = LEAF_NAME,
		.names = names->server,
		.names_of = plan->keeps_names ? self->leaf.cert_pem : NULL,
		.now_ms = view->now_ms,
		.validity_ms = view->times.cert_lifetime_ms,
	};

	return pki_make_leaf(signer, &leaf, ret, err);
}

static int add_text(struct json_object *object, const char *key, const struct strbuf *text)
{
	return text->status ? text->status : json_add(object, key, json_object_new_string(strbuf_text(text)));
}

static int add_data(struct json_object *data, const char *key, const char *text)
{
	CLEANUP(strbuf_wipe) struct strbuf encoded = STRBUF_INIT(2 * LIMIT_CREDENTIAL_BYTES);

	if (text)
		base64_encode(text, strlen(text), &encoded);
	return add_text(data, key, &encoded);
}

static int add_cas(struct json_object *data, const struct rotation_plan *plan, const struct pki_pair *signer)
{
	CLEANUP(strbuf_release) struct strbuf cas = STRBUF_INIT(LIMIT_CREDENTIAL_BYTES);

	if (plan->makes_ca)
		strbuf_adds(&cas, signer->cert_pem);
	for (size_t i = 0; i < plan->cas.n; i++)
		strbuf_adds(&cas, plan->cas.certs[i].pem);
	return cas.status ? cas.status : add_data(data, TLS_SECRET_CA_CERT, strbuf_text(&cas));
}

static int add_ends(struct json_object *annotations, const struct rotation_bundle *cas)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(16 * KIB);
	char id[TLS_SECRET_SHORT_ID_BYTES], when[TIME_TEXT_BYTES];

	strbuf_addc(&text, '{');
	for (size_t i = 0; i < cas->n; i++)
		if (cas->certs[i].last_leaf_ms)
			strbuf_addf(&text, "%s\"%s\":\"%s\"", text.len > 1 ? "," : "",
				    tls_secret_short_id(cas->certs[i].id, id),
				    time_render(cas->certs[i].last_leaf_ms, when));
	strbuf_addc(&text, '}');
	return add_text(annotations, KEY_CERTIFICATES, &text);
}

/* Finds a member that is an object, or adds it. */
static int ensure_object(struct json_object *parent, const char *key, struct json_object **ret)
{
	int r = 0;

	if (!json_object_is_type(json_member(parent, key), json_type_object))
		r = json_add(parent, key, json_object_new_object());
	*ret = json_member(parent, key);
	return r;
}

static int make_object(const struct tls_secret_names *names, struct json_object **ret)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(4 * KIB);

	strbuf_adds(&text, "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"type\":\"" TLS_SECRET_TYPE
			   "\",\"metadata\":{\"name\":");
	strbuf_add_json_string(&text, names->secret);
	strbuf_adds(&text, ",\"namespace\":");
	strbuf_add_json_string(&text, names->namespace);
	strbuf_adds(&text, "}}");
	return text.status ? text.status : json_parse(text.text, text.len, 4, ret, NULL);
}

static int fill_object(struct json_object *object, const struct rotation_plan *plan, const struct pki_pair *signer,
		       const struct pki_pair *leaf)
{
	struct json_object *metadata = NULL, *annotations = NULL, *data = NULL;
	int r = ensure_object(object, "metadata", &metadata);

	if (!r)
		r = ensure_object(metadata, "annotations", &annotations);
	if (!r)
		r = add_ends(annotations, &plan->cas);
	if (!r)
		r = ensure_object(object, "data", &data);
	if (!r)
		r = add_cas(data, plan, signer);
	if (!r)
		r = add_data(data, TLS_SECRET_CA_KEY, signer->key_pem);
	if (!r)
		r = add_data(data, TLS_SECRET_TLS_CERT, leaf->cert_pem);
	return r ? r : add_data(data, TLS_SECRET_TLS_KEY, leaf->key_pem);
}

int tls_secret_encode(struct tls_secret *self, const struct tls_secret_names *names, const struct rotation_view *view,
		      const struct rotation_plan *plan, const struct pki_pair *in_use, struct json_object **ret,
		      struct err *err)
{
	CLEANUP(pki_pair_release) struct pki_pair signer = PKI_PAIR_INIT;
	CLEANUP(pki_pair_release) struct pki_pair made = PKI_PAIR_INIT;
	const struct pki_pair *leaves[] = {
		[ROTATION_LEAF_AS_IS] = &self->leaf, [ROTATION_LEAF_IN_USE] = in_use, [ROTATION_LEAF_MAKE] = &made};
	struct json_object *object = json_object_get(self->object);
	int r = get_signer(self, names, view, plan, &signer, err);

	if (!r && plan->leaf == ROTATION_LEAF_MAKE)
		r = make_leaf(self, names, view, plan, &signer, &made, err);
	if (r) {
		json_object_put(object);
		return r;
	}
	if (!object)
		r = make_object(names, &object);
	if (!r)
		r = fill_object(object, plan, &signer, leaves[plan->leaf]);
	if (r) {
		tls_secret_put_object(object);
		return err_set(err, r, r == -E2BIG ? "the CA bundle is too large" : "out of memory");
	}
	*ret = object;
	return 0;
}
