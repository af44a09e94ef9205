/* SPDX-License-Identifier: Apache-2.0 */
#include "base/base64.h"
#include "base/limits.h"
#include "base/timefmt.h"
#include "certs/bundles.h"
#include "certs/tls_secret.h"
#include "k8s/keys.h"
#include "support/alloc_fail.h"
#include "support/test.h"

#include <errno.h>
#include <string.h>

#define NOW  ((int64_t)1800000000 * 1000)
#define LIFE (30 * TIME_DAY_MS)

static const char *const names[] = {"memtamer-webhook.memtamer.svc", NULL};
static const char *const more_names[] = {"new.memtamer.svc", NULL};

static struct tls_secret_names names_of(const char *const *server)
{
	struct tls_secret_names ret = {.namespace = "memtamer", .secret = "tls", .server = server};

	tls_secret_name_ca(&ret);
	return ret;
}

static struct rotation_view view_at(int64_t now_ms)
{
	return (struct rotation_view){.now_ms = now_ms, .times = rotation_times_for(LIFE, 10 * LIFE, 0)};
}

static struct json_object *encode(struct tls_secret *secret, const struct rotation_plan *plan, int64_t now_ms)
{
	const struct tls_secret_names secret_names = names_of(names);
	const struct rotation_view view = view_at(now_ms);
	const struct pki_pair in_use = {NULL, NULL};
	struct json_object *object = NULL;
	struct err err = ERR_INIT;

	assert_int_equal(tls_secret_encode(secret, &secret_names, &view, plan, &in_use, &object, &err), 0);
	return object;
}

static struct tls_secret decode_for(struct json_object *object, const char *const *server)
{
	const struct tls_secret_names secret_names = names_of(server);
	struct tls_secret secret = TLS_SECRET_INIT;
	struct err err = ERR_INIT;

	assert_int_equal(tls_secret_decode(object, &secret_names, &secret, &err), 0);
	return secret;
}

static struct tls_secret decode(struct json_object *object)
{
	return decode_for(object, names);
}

/* Writes the Secret with CAs, the newest of them new, and a leaf. */
static struct json_object *make_object(size_t n_cas)
{
	struct json_object *object = NULL;

	for (size_t i = 0; i < n_cas; i++) {
		struct tls_secret before = decode(object);
		const struct rotation_plan plan = {
			.makes_ca = true, .cas = before.facts.cas, .leaf = ROTATION_LEAF_MAKE};

		json_object_put(object);
		object = encode(&before, &plan, NOW + (int64_t)i);
		tls_secret_release(&before);
	}
	return object;
}

static struct tls_secret make(size_t n_cas)
{
	struct json_object *object = make_object(n_cas);
	struct tls_secret secret = decode(object);

	json_object_put(object);
	return secret;
}

static void set_data(struct json_object *object, const char *key, const char *text)
{
	struct strbuf encoded = STRBUF_INIT(MIB);

	base64_encode(text, strlen(text), &encoded);
	assert_int_equal(json_add(json_member(object, "data"), key, json_object_new_string(strbuf_text(&encoded))), 0);
	strbuf_release(&encoded);
}

static void test_there_and_back(void **state)
{
	(void)state;
	struct json_object *object = make_object(2), *again, *metadata;
	struct rotation_plan plan = {.leaf = ROTATION_LEAF_AS_IS};
	struct tls_secret before, after;

	assert_string_equal(json_object_get_string(json_member(object, "type")), "kubernetes.io/tls");
	metadata = json_member(object, "metadata");
	assert_string_equal(json_object_get_string(json_member(metadata, "name")), "tls");
	assert_string_equal(json_object_get_string(json_member(metadata, "namespace")), "memtamer");
	assert_int_equal(json_add(metadata, "resourceVersion", json_object_new_string("7")), 0);
	assert_int_equal(json_add(metadata, "labels", json_object_new_object()), 0);
	assert_int_equal(json_add(json_member(metadata, "labels"), "theirs", json_object_new_string("stays")), 0);
	set_data(object, "theirs", "stays too");
	before = decode(object);
	assert_int_equal(before.complaint.code, 0);
	assert_int_equal(before.facts.cas.n, 2);
	assert_true(before.facts.cas.certs[0].is_ours && before.facts.has_ca_key && before.facts.leaf.has_names);
	assert_memory_equal(before.facts.leaf.issuer, before.facts.cas.certs[0].id, ROTATION_ID_BYTES);
	assert_int_equal(before.facts.leaf.made_ms, NOW);
	assert_int_equal(before.facts.leaf.until_ms, NOW + LIFE);
	assert_string_equal(before.resource_version, "7");
	/* ends of leaves are written, and what is not ours is written back */
	plan.cas = before.facts.cas;
	plan.cas.certs[1].last_leaf_ms = NOW + 5000;
	again = encode(&before, &plan, NOW);
	metadata = json_member(again, "metadata");
	assert_string_equal(json_object_get_string(json_member(json_member(metadata, "labels"), "theirs")), "stays");
	assert_non_null(json_member(json_member(again, "data"), "theirs"));
	assert_string_equal(json_object_get_string(json_member(metadata, "resourceVersion")), "7");
	after = decode(again);
	assert_int_equal(after.complaint.code, 0);
	assert_int_equal(after.facts.cas.certs[0].last_leaf_ms, 0);
	assert_int_equal(after.facts.cas.certs[1].last_leaf_ms, NOW + 5000);
	assert_string_equal(before.ca_key_pem, after.ca_key_pem);
	assert_string_equal(before.leaf.key_pem, after.leaf.key_pem);
	json_object_put(again);
	json_object_put(object);
	tls_secret_release(&before);
	tls_secret_release(&after);
}

/* Decoding leaves no private key behind in the object, nor in what is kept of it. */
static void test_keys_are_wiped(void **state)
{
	(void)state;
	struct json_object *object = make_object(1), *data = json_member(object, "data");
	static const char *const keys[] = {"ca.key", "tls.key"};
	size_t n[ARRAY_LEN(keys)];
	struct tls_secret secret;

	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		n[i] = (size_t)json_object_get_string_len(json_member(data, keys[i]));
	secret = decode(object);
	assert_ptr_equal(secret.object, object);
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		assert_true(n[i] > 100);
		for (size_t j = 0; j < n[i]; j++)
			assert_int_equal(json_object_get_string(json_member(data, keys[i]))[j], 0);
	}
	json_object_put(object);
	tls_secret_release(&secret);
}

struct broken {
	const char *name;
	const char *key,
		*value; /* of the data; a value of one letter is another pair's: 'k' its CA key, 'l' its leaf's */
	bool is_marked;
	const char *type;
	bool is_refused, has_ca_key, has_leaf;
	const char *complaint;
};

static void test_broken(void **state)
{
	(void)state;
	static const struct broken rows[] = {
		{"whole", NULL, NULL, true, NULL, false, true, true, ""},
		{"whole, not marked", NULL, NULL, false, NULL, false, true, true, ""},
		{"another type", NULL, NULL, true, "example.com/x", true, true, true, "its type is example.com/x"},
		{"the type of a blank one", NULL, NULL, true, "Opaque", false, true, true, ""},
		{"garbage as CA", "ca.crt", "garbage", true, NULL, false, false, false, "no certificate"},
		{"garbage as CA key", "ca.key", "garbage", true, NULL, false, false, true, "ca.key belongs to no"},
		{"another CA's key", "ca.key", "k", true, NULL, false, false, true, "ca.key belongs to no"},
		{"no CA key", "ca.key", "", true, NULL, false, false, true, "there is no ca.key"},
		{"no CA key, not marked", "ca.key", "", false, NULL, true, false, true, "not made by memtamer"},
		{"garbage as leaf", "tls.crt", "garbage", true, NULL, false, true, false, "do not belong together"},
		{"another leaf's key", "tls.key", "l", true, NULL, false, true, false, "do not belong together"},
		{"no leaf key, not marked", "tls.key", "", false, NULL, true, true, false, "not made by memtamer"},
	};
	struct tls_secret other = make(1);

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct tls_secret got;
		struct json_object *object = make_object(1);
		const char *value = rows[i].value;

		test_row(rows[i].name);
		if (rows[i].key)
			set_data(object, rows[i].key,
				 streq(value, "k")   ? other.ca_key_pem
				 : streq(value, "l") ? other.leaf.key_pem
						     : value);
		if (rows[i].type)
			assert_int_equal(json_add(object, "type", json_object_new_string(rows[i].type)), 0);
		if (!rows[i].is_marked)
			json_object_object_del(json_member(json_member(object, "metadata"), "annotations"),
					       KEY_CERTIFICATES);
		got = decode(object);
		assert_int_equal(got.facts.is_refused, rows[i].is_refused);
		assert_int_equal(got.ca_key_pem != NULL, rows[i].has_ca_key);
		assert_int_equal(got.facts.has_ca_key, rows[i].has_ca_key);
		assert_int_equal(got.leaf.cert_pem != NULL, rows[i].has_leaf);
		assert_int_equal(got.facts.leaf.is_good, rows[i].has_leaf);
		assert_int_equal(got.complaint.code != 0, *rows[i].complaint != '\0');
		if (!strstr(got.complaint.msg, rows[i].complaint))
			fail_msg("\"%s\" lacks \"%s\"", got.complaint.msg, rows[i].complaint);
		json_object_put(object);
		tls_secret_release(&got);
	}
	tls_secret_release(&other);
}

static void test_blank_is_ours(void **state)
{
	(void)state;
	struct json_object *object = json_object_new_object();
	struct tls_secret got;

	assert_int_equal(json_add(object, "type", json_object_new_string(TLS_SECRET_TYPE)), 0);
	assert_int_equal(json_add(object, "data", json_object_new_object()), 0);
	set_data(object, "tls.crt", "");
	set_data(object, "tls.key", "");
	got = decode(object);
	assert_true(got.facts.is_blank && !got.facts.is_refused);
	assert_int_equal(got.complaint.code, 0);
	json_object_put(object);
	tls_secret_release(&got);
}

/* A person has put the CAs in another order: the one that the key is of signs. */
static void test_order(void **state)
{
	(void)state;
	struct json_object *object = make_object(2);
	struct tls_secret secret = decode(object), got;
	CLEANUP(strbuf_release) struct strbuf cas = STRBUF_INIT(MIB);

	strbuf_adds(&cas, secret.cas.certs[1].pem);
	strbuf_adds(&cas, secret.cas.certs[0].pem);
	set_data(object, "ca.crt", strbuf_text(&cas));
	set_data(object, "ca.key", secret.ca_key_pem);
	got = decode(object);
	assert_memory_equal(got.cas.certs[0].id, secret.cas.certs[0].id, PKI_ID_BYTES);
	assert_memory_equal(got.facts.cas.certs[0].id, secret.cas.certs[0].id, PKI_ID_BYTES);
	assert_non_null(got.ca_key_pem);
	json_object_put(object);
	tls_secret_release(&secret);
	tls_secret_release(&got);
}

/* A new leaf has the names of the old one only where the plan says so. */
static void test_names_are_kept(void **state)
{
	(void)state;
	for (size_t keeps_names = 0; keeps_names < 2; keeps_names++) {
		const struct tls_secret_names secret_names = names_of(more_names);
		const struct rotation_view view = view_at(NOW);
		struct rotation_plan plan = {.leaf = ROTATION_LEAF_MAKE, .keeps_names = keeps_names};
		struct json_object *object = NULL, *first = make_object(1);
		struct tls_secret before = decode_for(first, more_names), after;
		struct err err = ERR_INIT;

		assert_false(before.facts.leaf.has_names);
		plan.cas = before.facts.cas;
		assert_int_equal(tls_secret_encode(&before, &secret_names, &view, &plan, NULL, &object, &err), 0);
		after = decode_for(object, more_names);
		assert_true(after.facts.leaf.has_names);
		assert_int_equal(pki_check_name(after.leaf.cert_pem, names[0], &err),
				 keeps_names ? 0 : PKI_NOT_TRUSTED);
		json_object_put(object);
		json_object_put(first);
		tls_secret_release(&before);
		tls_secret_release(&after);
	}
}

/* The leaf that a process uses goes into a Secret that was lost. */
static void test_leaf_in_use(void **state)
{
	(void)state;
	const struct tls_secret_names secret_names = names_of(names);
	const struct rotation_view view = view_at(NOW);
	struct rotation_plan plan = {.makes_ca = true, .leaf = ROTATION_LEAF_IN_USE};
	struct tls_secret lost = make(1), none = decode(NULL), after;
	struct json_object *object = NULL;
	struct err err = ERR_INIT;

	assert_int_equal(none.facts.presence, ROTATION_ABSENT);
	plan.cas = lost.facts.cas;
	assert_int_equal(tls_secret_encode(&none, &secret_names, &view, &plan, &lost.leaf, &object, &err), 0);
	after = decode(object);
	assert_int_equal(after.complaint.code, 0);
	assert_string_equal(after.leaf.cert_pem, lost.leaf.cert_pem);
	assert_memory_equal(after.facts.leaf.issuer, after.facts.cas.certs[1].id, ROTATION_ID_BYTES);
	json_object_put(object);
	tls_secret_release(&lost);
	tls_secret_release(&after);
}

static void test_ends_are_kept(void **state)
{
	(void)state;
	struct tls_secret now = make(2), backup = make(1);

	backup.facts.cas = now.facts.cas;
	backup.facts.cas.certs[0].last_leaf_ms = NOW;
	now.facts.cas.certs[0].last_leaf_ms = NOW + LIFE;
	now.facts.cas.certs[1].last_leaf_ms = NOW + LIFE;
	tls_secret_keep_ends(&backup, &now);
	assert_int_equal(backup.facts.cas.certs[0].last_leaf_ms, NOW + LIFE);
	/* unknown means the CA's own end, which is later */
	assert_int_equal(backup.facts.cas.certs[1].last_leaf_ms, 0);
	tls_secret_release(&now);
	tls_secret_release(&backup);
}

static void test_ca_names(void **state)
{
	(void)state;
	struct tls_secret_names a = {.namespace = "memtamer", .secret = "tls"}, b = a;

	tls_secret_name_ca(&a);
	tls_secret_name_ca(&b);
	assert_string_equal(a.ca, b.ca);
	assert_int_equal(strlen(a.ca), 30);
	b.namespace = "memtamer2";
	tls_secret_name_ca(&b);
	assert_string_not_equal(a.ca, b.ca);
	b = (struct tls_secret_names){.namespace = "memtame", .secret = "rtls"};
	tls_secret_name_ca(&b);
	assert_string_not_equal(a.ca, b.ca);
}

/* ---- caBundles ---- */

static struct json_object *make_configuration(const char *const *bundles)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(4 * MIB);
	struct json_object *object = NULL;
	struct err err = ERR_INIT;

	strbuf_adds(&text, "{\"metadata\":{\"name\":\"a0\",\"resourceVersion\":\"12\"},\"webhooks\":[");
	for (size_t i = 0; bundles[i]; i++) {
		strbuf_addf(&text, "%s{\"name\":\"w%zu\",\"clientConfig\":{\"url\":\"https://x\",\"caBundle\":\"",
			    i ? "," : "", i);
		base64_encode(bundles[i], strlen(bundles[i]), &text);
		strbuf_adds(&text, "\"}}");
	}
	strbuf_adds(&text, "]}");
	assert_int_equal(json_parse(strbuf_text(&text), text.len, 16, &object, &err), 0);
	return object;
}

static struct rotation_view view_of(const struct tls_secret *secret, const struct bundles *bundles)
{
	struct rotation_view view = view_at(NOW);

	view.secret = secret->facts;
	view.configurations[0] = (struct rotation_configuration){bundles->presence, bundles->facts, bundles->n};
	view.configurations[1] = (struct rotation_configuration){.presence = ROTATION_ABSENT};
	return view;
}

/* The patch sets caBundle of those entries that need it, and nothing else; others' certificates stay, garbage goes. */
static void test_patch(void **state)
{
	(void)state;
	struct tls_secret secret = make(2), foreign = make(1);
	CLEANUP(strbuf_release) struct strbuf right = STRBUF_INIT(MIB);
	CLEANUP(strbuf_release) struct strbuf mixed = STRBUF_INIT(MIB);
	CLEANUP(json_putp) struct json_object *patch = NULL;
	struct json_object *configuration;
	struct bundles bundles = BUNDLES_INIT;
	struct rotation_view view;
	struct err err = ERR_INIT;
	const char *texts[] = {NULL, NULL, "", "\n", NULL};
	CLEANUP(strbuf_release) struct strbuf pem = STRBUF_INIT(MIB);
	const char *value;

	strbuf_adds(&right, secret.cas.certs[1].pem); /* in whatever order */
	strbuf_adds(&right, secret.cas.certs[0].pem);
	strbuf_addf(&mixed, "%s-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
		    foreign.cas.certs[0].pem);
	texts[0] = strbuf_text(&right);
	texts[1] = strbuf_text(&mixed);
	configuration = make_configuration(texts);
	assert_int_equal(bundles_decode(configuration, names_of(names).ca, &bundles, &err), 0);
	assert_int_equal(bundles.n, 4);
	assert_false(bundles.facts[0].has_garbage);
	assert_true(bundles.facts[1].has_garbage);
	assert_int_equal(bundles.facts[1].n, 1);
	assert_false(bundles.facts[2].has_garbage || bundles.facts[3].has_garbage);
	view = view_of(&secret, &bundles);
	assert_int_equal(bundles_patch(&bundles, &view, &secret, &patch, &err), 0);
	assert_int_equal(json_object_array_length(patch), 4);
	assert_string_equal(json_object_to_json_string_ext(json_object_array_get_idx(patch, 0),
							   JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE),
			    "{\"op\":\"replace\",\"path\":\"/metadata/resourceVersion\",\"value\":\"12\"}");
	assert_string_equal(json_object_get_string(json_member(json_object_array_get_idx(patch, 1), "path")),
			    "/webhooks/1/clientConfig/caBundle");
	value = json_object_get_string(json_member(json_object_array_get_idx(patch, 1), "value"));
	assert_int_equal(base64_decode(value, strlen(value), &pem), 0);
	assert_non_null(strstr(pem.text, secret.cas.certs[0].pem));
	assert_non_null(strstr(pem.text, secret.cas.certs[1].pem));
	assert_non_null(strstr(pem.text, foreign.cas.certs[0].pem));
	assert_null(strstr(pem.text, "AAAA\n"));
	json_object_put(configuration);
	bundles_release(&bundles);
	/* nothing to do */
	texts[1] = NULL;
	configuration = make_configuration(texts);
	assert_int_equal(bundles_decode(configuration, names_of(names).ca, &bundles, &err), 0);
	view = view_of(&secret, &bundles);
	json_putp(&patch);
	assert_int_equal(bundles_patch(&bundles, &view, &secret, &patch, &err), 1);
	json_object_put(configuration);
	bundles_release(&bundles);
	tls_secret_release(&secret);
	tls_secret_release(&foreign);
}

static bool has_fact(const struct rotation_bundle *facts, const unsigned char *id)
{
	for (size_t i = 0; i < facts->n; i++)
		if (memcmp(facts->certs[i].id, id, PKI_ID_BYTES) == 0)
			return true;
	return false;
}

/* All CAs of the web beside ours: none of them is lost, and ours are seen wherever they stand. */
static void test_long_bundle(void **state)
{
	(void)state;
	const size_t n_others = LIMIT_CA_BUNDLE_CERTS + 8;
	struct tls_secret secret = make(1), lost = make(1), foreign = TLS_SECRET_INIT;
	CLEANUP(pki_pair_release) struct pki_pair theirs = PKI_PAIR_INIT;
	CLEANUP(strbuf_release) struct strbuf others = STRBUF_INIT(MIB);
	CLEANUP(strbuf_release) struct strbuf all = STRBUF_INIT(MIB);
	CLEANUP(json_putp) struct json_object *patch = NULL;
	struct json_object *configuration;
	struct bundles bundles = BUNDLES_INIT;
	struct rotation_view view;
	struct err err = ERR_INIT;
	const char *texts[] = {NULL, NULL, NULL};
	CLEANUP(strbuf_release) struct strbuf pem = STRBUF_INIT(MIB);
	struct pki_bundle written = PKI_BUNDLE_INIT;
	const char *value;

	for (size_t i = 0; i < n_others; i++) {
		CLEANUP(pki_pair_release) struct pki_pair ca = PKI_PAIR_INIT;

		assert_int_equal(pki_make_ca("theirs", NOW, 10 * LIFE, &ca, &err), 0);
		strbuf_adds(&others, ca.cert_pem);
	}
	assert_int_equal(pki_make_ca("theirs too", NOW, 10 * LIFE, &theirs, &err), 0);
	assert_int_equal(pki_read_bundle(theirs.cert_pem, strlen(theirs.cert_pem), 1, &foreign.cas, &err), 0);
	strbuf_addf(&all, "%s%s%s%s", strbuf_text(&others), lost.cas.certs[0].pem, foreign.cas.certs[0].pem,
		    secret.cas.certs[0].pem);
	texts[0] = strbuf_text(&others);
	texts[1] = strbuf_text(&all);
	configuration = make_configuration(texts);
	assert_int_equal(bundles_decode(configuration, names_of(names).ca, &bundles, &err), 0);
	assert_false(bundles.facts[0].has_garbage || bundles.facts[1].has_garbage);
	assert_int_equal(bundles.facts[0].n, LIMIT_CA_BUNDLE_CERTS);
	assert_int_equal(bundles.facts[0].n_more, 8);
	assert_int_equal(bundles.facts[1].n_more, 11);
	assert_true(has_fact(&bundles.facts[1], secret.cas.certs[0].id));
	assert_true(has_fact(&bundles.facts[1], lost.cas.certs[0].id));
	/* one that the Secret holds counts by whatever name */
	assert_false(has_fact(&bundles.facts[1], foreign.cas.certs[0].id));
	bundles_choose(&bundles, names_of(names).ca, &foreign.cas);
	assert_true(has_fact(&bundles.facts[1], foreign.cas.certs[0].id));
	bundles_choose(&bundles, names_of(names).ca, &secret.cas);
	/* the one that lacks ours gets it, and loses none; the other stays as it is */
	view = view_of(&secret, &bundles);
	assert_int_equal(bundles_patch(&bundles, &view, &secret, &patch, &err), 0);
	assert_int_equal(json_object_array_length(patch), 2);
	assert_string_equal(json_object_get_string(json_member(json_object_array_get_idx(patch, 1), "path")),
			    "/webhooks/0/clientConfig/caBundle");
	value = json_object_get_string(json_member(json_object_array_get_idx(patch, 1), "value"));
	assert_int_equal(base64_decode(value, strlen(value), &pem), 0);
	assert_int_equal(pki_read_bundle(strbuf_text(&pem), pem.len, LIMIT_CA_BUNDLE_CERTS, &written, &err), -E2BIG);
	assert_int_equal(pki_read_bundle(strbuf_text(&pem), pem.len, SIZE_MAX, &written, &err), 0);
	assert_int_equal(written.n, n_others + 1);
	assert_int_equal(pki_bundle_find(&written, secret.cas.certs[0].id), 0);
	pki_bundle_release(&written);
	json_object_put(configuration);
	bundles_release(&bundles);
	tls_secret_release(&secret);
	tls_secret_release(&lost);
	tls_secret_release(&foreign);
}

static void test_odd_configurations(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int code;
		size_t n;
		bool has_garbage;
	} rows[] = {
		{"{\"metadata\":{},\"webhooks\":[]}", 0, 0, false},
		{"{\"metadata\":{}}", 0, 0, false},
		{"{\"metadata\":{},\"webhooks\":{}}", -EINVAL, 0, false},
		{"{\"metadata\":{},\"webhooks\":[7,{\"clientConfig\":{\"caBundle\":7}}]}", 0, 2, true},
		{"{\"metadata\":{},\"webhooks\":[{},{\"clientConfig\":{\"caBundle\":\"?\"}}]}", 0, 2, true},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct bundles bundles = BUNDLES_INIT;
		struct json_object *object = NULL;
		struct err err = ERR_INIT;

		test_row(rows[i].text);
		assert_int_equal(json_parse(rows[i].text, strlen(rows[i].text), 16, &object, &err), 0);
		assert_int_equal(bundles_decode(object, names_of(names).ca, &bundles, &err), rows[i].code);
		assert_int_equal(bundles.n, rows[i].n);
		if (rows[i].n)
			assert_int_equal(bundles.facts[1].has_garbage, rows[i].has_garbage);
		json_object_put(object);
		bundles_release(&bundles);
	}
}

#ifdef MEMTAMER_ALLOC_FAIL
static int try_encode(void *context, struct strbuf *ret)
{
	struct json_object *object = NULL;
	struct err err = ERR_INIT;
	struct tls_secret *secret = context;
	const struct tls_secret_names secret_names = names_of(names);
	const struct rotation_view view = view_at(NOW);
	const struct rotation_plan plan = {.cas = secret->facts.cas};
	int r = tls_secret_encode(secret, &secret_names, &view, &plan, NULL, &object, &err);

	if (!r)
		r = alloc_fail_add_json(ret, object);
	tls_secret_put_object(object);
	return r;
}

static void test_no_memory(void **state)
{
	(void)state;
	struct tls_secret secret = make(2);

	assert_true(alloc_fail_each("tls_secret_encode", try_encode, &secret) > 10);
	tls_secret_release(&secret);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_there_and_back), cmocka_unit_test(test_keys_are_wiped),
		cmocka_unit_test(test_broken),	       cmocka_unit_test(test_blank_is_ours),
		cmocka_unit_test(test_order),	       cmocka_unit_test(test_names_are_kept),
		cmocka_unit_test(test_leaf_in_use),    cmocka_unit_test(test_ends_are_kept),
		cmocka_unit_test(test_ca_names),       cmocka_unit_test(test_patch),
		cmocka_unit_test(test_long_bundle),    cmocka_unit_test(test_odd_configurations),
#ifdef MEMTAMER_ALLOC_FAIL
		cmocka_unit_test(test_no_memory),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
