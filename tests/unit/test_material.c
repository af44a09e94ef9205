/* SPDX-License-Identifier: Apache-2.0 */
#include "base/limits.h"
#include "base/timefmt.h"
#include "certs/bundles.h"
#include "certs/material.h"
#include "kube/base64.h"
#include "support/alloc_fail.h"
#include "support/test.h"

#include <errno.h>
#include <string.h>

#define NOW  ((int64_t)1800000000 * 1000)
#define LIFE (30 * TIME_DAY_MS)
#define NAME "memtamer-webhook CA 0123456789"

static const char *const names[] = {"memtamer-webhook.memtamer.svc", NULL};

static struct material make(size_t n_cas)
{
	struct material material = {.presence = ROTATION_ABSENT};
	struct err err = ERR_INIT;

	for (size_t i = 0; i < n_cas; i++)
		assert_int_equal(material_add_ca(&material, NAME, NOW + (int64_t)i, 10 * LIFE, LIFE, &err), 0);
	assert_int_equal(material_make_leaf(&material, names, false, NOW, LIFE, &err), 0);
	return material;
}

static struct json_object *encode(const struct material *material)
{
	struct json_object *object = NULL;
	struct err err = ERR_INIT;

	assert_int_equal(material_encode(material, "memtamer", "tls", &object, &err), 0);
	return object;
}

static struct material decode(struct json_object *object)
{
	struct material material = MATERIAL_INIT;
	struct err err = ERR_INIT;

	assert_int_equal(material_decode(object, &material, &err), 0);
	return material;
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
	struct material before = make(2), after;
	struct json_object *object = encode(&before), *again, *metadata;
	struct rotation_secret a, b;

	assert_string_equal(json_object_get_string(json_member(object, "type")), "kubernetes.io/tls");
	metadata = json_member(object, "metadata");
	assert_int_equal(json_add(metadata, "resourceVersion", json_object_new_string("7")), 0);
	assert_int_equal(json_add(metadata, "labels", json_object_new_object()), 0);
	assert_int_equal(json_add(json_member(metadata, "labels"), "theirs", json_object_new_string("stays")), 0);
	set_data(object, "theirs", "stays too");
	after = decode(object);
	assert_int_equal(after.complaint.code, 0);
	assert_false(after.is_refused);
	material_facts(&before, NAME, names, &a);
	material_facts(&after, NAME, names, &b);
	b.presence = a.presence;
	/* times in the annotation are whole seconds */
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(a.cas.certs[i].last_leaf_ms / 1000, b.cas.certs[i].last_leaf_ms / 1000);
	assert_int_equal(b.cas.n, 2);
	assert_true(b.cas.certs[0].is_ours && b.has_ca_key && b.leaf.is_good && b.leaf.has_names);
	assert_memory_equal(b.leaf.issuer, b.cas.certs[0].id, ROTATION_ID_BYTES);
	assert_int_equal(b.leaf.made_ms, NOW);
	assert_int_equal(b.leaf.until_ms, NOW + LIFE);
	assert_int_equal(b.cas.certs[1].last_leaf_ms / 1000, (NOW + 1 + LIFE) / 1000);
	assert_string_equal(before.ca_key_pem, after.ca_key_pem);
	/* what is not ours is written back */
	again = encode(&after);
	assert_string_equal(
		json_object_get_string(json_member(json_member(json_member(again, "metadata"), "labels"), "theirs")),
		"stays");
	assert_non_null(json_member(json_member(again, "data"), "theirs"));
	assert_string_equal(json_object_get_string(json_member(json_member(again, "metadata"), "resourceVersion")),
			    "7");
	material_put_object(again);
	material_put_object(object);
	material_release(&before);
	material_release(&after);
}

/* Decoding leaves no private key behind in the object, nor in what is kept of it. */
static void test_keys_are_wiped(void **state)
{
	(void)state;
	struct material before = make(1), after;
	struct json_object *object = encode(&before), *data = json_member(object, "data");
	size_t n = (size_t)json_object_get_string_len(json_member(data, "ca.key"));

	after = decode(object);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(json_object_get_string(json_member(data, "ca.key"))[i], 0);
	assert_null(json_member(json_member(after.rest, "data"), "ca.key"));
	assert_null(json_member(json_member(after.rest, "data"), "tls.key"));
	material_put_object(object);
	material_release(&before);
	material_release(&after);
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
	struct material other = make(1);

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct material material = make(1), got;
		struct json_object *object = encode(&material);
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
					       MATERIAL_ANNOTATION);
		got = decode(object);
		assert_int_equal(got.is_refused, rows[i].is_refused);
		assert_int_equal(got.ca_key_pem != NULL, rows[i].has_ca_key);
		assert_int_equal(got.leaf.cert_pem != NULL, rows[i].has_leaf);
		assert_int_equal(got.complaint.code != 0, *rows[i].complaint != '\0');
		if (!strstr(got.complaint.msg, rows[i].complaint))
			fail_msg("\"%s\" lacks \"%s\"", got.complaint.msg, rows[i].complaint);
		material_put_object(object);
		material_release(&material);
		material_release(&got);
	}
	material_release(&other);
}

static void test_blank_is_ours(void **state)
{
	(void)state;
	struct json_object *object = json_object_new_object();
	struct material got;

	assert_int_equal(json_add(object, "type", json_object_new_string(MATERIAL_TYPE)), 0);
	assert_int_equal(json_add(object, "data", json_object_new_object()), 0);
	set_data(object, "tls.crt", "");
	set_data(object, "tls.key", "");
	got = decode(object);
	assert_true(got.is_blank && !got.is_refused);
	assert_int_equal(got.complaint.code, 0);
	material_put_object(object);
	material_release(&got);
}

/* A person has put the CAs in another order: the one that the key is of signs. */
static void test_order(void **state)
{
	(void)state;
	struct material material = make(2), got;
	struct json_object *object = encode(&material);
	struct strbuf cas = STRBUF_INIT(MIB);

	strbuf_adds(&cas, material.cas.certs[1].pem);
	strbuf_adds(&cas, material.cas.certs[0].pem);
	set_data(object, "ca.crt", strbuf_text(&cas));
	got = decode(object);
	assert_memory_equal(got.cas.certs[0].id, material.cas.certs[0].id, PKI_ID_BYTES);
	assert_non_null(got.ca_key_pem);
	strbuf_release(&cas);
	material_put_object(object);
	material_release(&material);
	material_release(&got);
}

static void test_steps(void **state)
{
	(void)state;
	static const char *const more[] = {"new.memtamer.svc", NULL};
	struct material material = make(1), other = make(1);
	struct rotation_secret facts;
	struct err err = ERR_INIT;

	assert_int_equal(material_adopt(&material, &other.cas.certs[0], NOW + 5, &err), 0);
	material_facts(&material, NAME, more, &facts);
	assert_int_equal(facts.cas.n, 2);
	assert_int_equal(facts.cas.certs[1].last_leaf_ms, NOW + 5);
	assert_false(facts.leaf.has_names);
	/* names of an old leaf are kept where asked for */
	assert_int_equal(material_make_leaf(&material, more, true, NOW, LIFE, &err), 0);
	assert_int_equal(pki_check_name(material.leaf.cert_pem, names[0], &err), 0);
	assert_int_equal(pki_check_name(material.leaf.cert_pem, more[0], &err), 0);
	assert_int_equal(material_make_leaf(&material, more, false, NOW, LIFE, &err), 0);
	assert_int_equal(pki_check_name(material.leaf.cert_pem, names[0], &err), PKI_NOT_TRUSTED);
	assert_int_equal(material_prune(&material, 2, &err), 0);
	assert_int_equal(material.cas.n, 1);
	assert_int_equal(material.n_ends, 1);
	/* a full bundle: the oldest goes, but not the one of the leaf */
	for (size_t i = 0; i < LIMIT_CA_BUNDLE_CERTS + 3; i++)
		assert_int_equal(material_add_ca(&material, NAME, NOW, LIFE, LIFE, &err), 0);
	assert_int_equal(material.cas.n, LIMIT_CA_BUNDLE_CERTS);
	assert_true(pki_bundle_find(&material.cas, material.leaf_issuer) < material.cas.n);
	material_release(&material);
	material_release(&other);
	material = decode(NULL);
	assert_int_equal(material.presence, ROTATION_ABSENT);
	material_release(&material);
}

static void test_remember(void **state)
{
	(void)state;
	struct material now = make(1), backup = decode(NULL);
	struct json_object *object = encode(&now);
	struct err err = ERR_INIT;

	material_release(&backup);
	backup = decode(object);
	assert_int_equal(material_make_leaf(&now, names, false, NOW + LIFE, LIFE, &err), 0);
	material_remember(&backup, &now);
	assert_int_equal(backup.ends[0].until_ms, NOW + 2 * LIFE);
	material_put_object(object);
	material_release(&now);
	material_release(&backup);
}

static void test_ca_names(void **state)
{
	(void)state;
	char a[MATERIAL_NAME_BYTES], b[MATERIAL_NAME_BYTES];

	material_ca_name("memtamer", "tls", a);
	material_ca_name("memtamer", "tls", b);
	assert_string_equal(a, b);
	material_ca_name("memtamer2", "tls", b);
	assert_string_not_equal(a, b);
	material_ca_name("memtame", "rtls", b);
	assert_string_not_equal(a, b);
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

static struct rotation_view view_of(const struct material *material, const struct bundles *bundles)
{
	struct rotation_view view = {.now_ms = NOW, .times = rotation_times_for(LIFE, 10 * LIFE, 0)};

	material_facts(material, NAME, names, &view.secret);
	view.secret.presence = ROTATION_PRESENT;
	view.configurations[0] = (struct rotation_configuration){bundles->presence, bundles->facts, bundles->n};
	view.configurations[1] = (struct rotation_configuration){.presence = ROTATION_ABSENT};
	return view;
}

/* The patch sets caBundle of those entries that need it, and nothing else; others' certificates stay, garbage goes. */
static void test_patch(void **state)
{
	(void)state;
	struct material material = make(2), foreign = make(1);
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

	strbuf_adds(&right, material.cas.certs[1].pem); /* in whatever order */
	strbuf_adds(&right, material.cas.certs[0].pem);
	strbuf_addf(&mixed, "%s-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
		    foreign.cas.certs[0].pem);
	texts[0] = strbuf_text(&right);
	texts[1] = strbuf_text(&mixed);
	configuration = make_configuration(texts);
	assert_int_equal(bundles_decode(configuration, NAME, &bundles, &err), 0);
	assert_int_equal(bundles.n, 4);
	assert_false(bundles.facts[0].has_garbage);
	assert_true(bundles.facts[1].has_garbage);
	assert_int_equal(bundles.facts[1].n, 1);
	assert_false(bundles.facts[2].has_garbage || bundles.facts[3].has_garbage);
	view = view_of(&material, &bundles);
	assert_int_equal(bundles_patch(&bundles, &view, &material, &patch, &err), 0);
	assert_int_equal(json_object_array_length(patch), 4);
	assert_string_equal(json_object_to_json_string_ext(json_object_array_get_idx(patch, 0),
							   JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE),
			    "{\"op\":\"replace\",\"path\":\"/metadata/resourceVersion\",\"value\":\"12\"}");
	assert_string_equal(json_object_get_string(json_member(json_object_array_get_idx(patch, 1), "path")),
			    "/webhooks/1/clientConfig/caBundle");
	value = json_object_get_string(json_member(json_object_array_get_idx(patch, 1), "value"));
	assert_int_equal(base64_decode(value, strlen(value), &pem), 0);
	assert_non_null(strstr(pem.text, material.cas.certs[0].pem));
	assert_non_null(strstr(pem.text, material.cas.certs[1].pem));
	assert_non_null(strstr(pem.text, foreign.cas.certs[0].pem));
	assert_null(strstr(pem.text, "AAAA\n"));
	assert_ptr_equal(bundles_find(&bundles, foreign.cas.certs[0].id), &bundles.entries[1].bundle.certs[0]);
	json_object_put(configuration);
	bundles_release(&bundles);
	/* nothing to do */
	texts[1] = NULL;
	configuration = make_configuration(texts);
	assert_int_equal(bundles_decode(configuration, NAME, &bundles, &err), 0);
	view = view_of(&material, &bundles);
	json_putp(&patch);
	assert_int_equal(bundles_patch(&bundles, &view, &material, &patch, &err), 1);
	json_object_put(configuration);
	bundles_release(&bundles);
	material_release(&material);
	material_release(&foreign);
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
	struct material material = make(1), lost = make(1), foreign = {.presence = ROTATION_ABSENT};
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
	assert_int_equal(material_add_ca(&foreign, "theirs too", NOW, 10 * LIFE, LIFE, &err), 0);
	strbuf_addf(&all, "%s%s%s%s", strbuf_text(&others), lost.cas.certs[0].pem, foreign.cas.certs[0].pem,
		    material.cas.certs[0].pem);
	texts[0] = strbuf_text(&others);
	texts[1] = strbuf_text(&all);
	configuration = make_configuration(texts);
	assert_int_equal(bundles_decode(configuration, NAME, &bundles, &err), 0);
	assert_false(bundles.facts[0].has_garbage || bundles.facts[1].has_garbage);
	assert_int_equal(bundles.facts[0].n, LIMIT_CA_BUNDLE_CERTS);
	assert_int_equal(bundles.facts[0].n_more, 8);
	assert_int_equal(bundles.facts[1].n_more, 11);
	assert_true(has_fact(&bundles.facts[1], material.cas.certs[0].id));
	assert_true(has_fact(&bundles.facts[1], lost.cas.certs[0].id));
	/* one that the Secret holds counts by whatever name */
	assert_false(has_fact(&bundles.facts[1], foreign.cas.certs[0].id));
	bundles_choose(&bundles, NAME, &foreign.cas);
	assert_true(has_fact(&bundles.facts[1], foreign.cas.certs[0].id));
	bundles_choose(&bundles, NAME, &material.cas);
	/* the one that lacks ours gets it, and loses none; the other stays as it is */
	view = view_of(&material, &bundles);
	assert_int_equal(bundles_patch(&bundles, &view, &material, &patch, &err), 0);
	assert_int_equal(json_object_array_length(patch), 2);
	assert_string_equal(json_object_get_string(json_member(json_object_array_get_idx(patch, 1), "path")),
			    "/webhooks/0/clientConfig/caBundle");
	value = json_object_get_string(json_member(json_object_array_get_idx(patch, 1), "value"));
	assert_int_equal(base64_decode(value, strlen(value), &pem), 0);
	assert_int_equal(pki_read_bundle(strbuf_text(&pem), pem.len, &written, &err), -E2BIG);
	assert_int_equal(pki_read_long_bundle(strbuf_text(&pem), pem.len, &written, &err), 0);
	assert_int_equal(written.n, n_others + 1);
	assert_int_equal(pki_bundle_find(&written, material.cas.certs[0].id), 0);
	pki_bundle_release(&written);
	json_object_put(configuration);
	bundles_release(&bundles);
	material_release(&material);
	material_release(&lost);
	material_release(&foreign);
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
		assert_int_equal(bundles_decode(object, NAME, &bundles, &err), rows[i].code);
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
	int r = material_encode(context, "memtamer", "tls", &object, &err);

	if (!r)
		r = alloc_fail_add_json(ret, object);
	material_put_object(object);
	return r;
}

static void test_no_memory(void **state)
{
	(void)state;
	struct material material = make(2);

	assert_true(alloc_fail_each("material_encode", try_encode, &material) > 10);
	material_release(&material);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_there_and_back),
		cmocka_unit_test(test_keys_are_wiped),
		cmocka_unit_test(test_broken),
		cmocka_unit_test(test_blank_is_ours),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_remember),
		cmocka_unit_test(test_ca_names),
		cmocka_unit_test(test_patch),
		cmocka_unit_test(test_long_bundle),
		cmocka_unit_test(test_odd_configurations),
#ifdef MEMTAMER_ALLOC_FAIL
		cmocka_unit_test(test_no_memory),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
