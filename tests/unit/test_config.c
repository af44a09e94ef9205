/* SPDX-License-Identifier: Apache-2.0 */
#include "support/test.h"

#include "base/limits.h"
#include "base/str.h"
#include "base/timefmt.h"
#include "config/config.h"
#include "config/config_internal.h"
#include "generate/docs.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define VERSION "apiVersion: config.memtamer.io/v1alpha1\n"

static int load(const char *text, struct config **ret, struct err *err)
{
	return config_parse(text, strlen(text), "c.yaml", "/etc/memtamer", ret, err);
}

static struct config *must_load(const char *text)
{
	struct config *config = NULL;
	struct err err = ERR_INIT;
	int r = load(text, &config, &err);

	if (r)
		print_message("%s: %s\n", err.where, err.msg);
	assert_int_equal(r, 0);
	assert_non_null(config);
	return config;
}

static void defaults_are_the_documented_ones(void **state)
{
	CLEANUP(config_freep) struct config *c = config_new_default();

	(void)state;
	assert_non_null(c);
	assert_string_equal(c->file, "(defaults)");
	assert_int_equal(c->policy.mode, MODE_OBSERVE);
	assert_int_equal(c->store.kind, STORE_FILE);
	assert_string_equal(c->store.path, "profiles.json");
	assert_string_equal(c->prometheus.url, "http://127.0.0.1:9090");
	assert_null(c->prometheus.bearer_token_file);
	assert_int_equal(c->prometheus.timeout_ms, 30 * TIME_SECOND_MS);
	assert_int_equal(c->prometheus.deadline_ms, 10 * TIME_MINUTE_MS);
	assert_int_equal(c->prometheus.step_ms, 0);
	assert_int_equal(c->prometheus.history_ms, 14 * TIME_DAY_MS);
	assert_int_equal(c->prometheus.concurrency, 4);
	assert_int_equal(c->prometheus.n_headers, 0);
	assert_string_equal(c->webhook.listen, "127.0.0.1:8443");
	assert_null(c->webhook.cert_file);
	assert_string_equal(c->webhook.server_names[0], "localhost");
	assert_string_equal(c->webhook.server_names[1], "127.0.0.1");
	assert_null(c->webhook.server_names[2]);
	assert_int_equal(c->webhook.threads, 2);
	assert_int_equal(c->webhook.idle_timeout_ms, 120 * TIME_SECOND_MS);
	assert_int_equal(c->recommender.interval_ms, 5 * TIME_MINUTE_MS);
	assert_true(c->recommender.run_events);
	assert_null(c->recommender.namespaces[0]);
	assert_string_equal(c->log.level, "info");
	assert_string_equal(c->log.format, "logfmt");
	assert_int_equal(c->n_node_shapes, 0);
	assert_null(c->policy.excluded_namespaces[0]);
	assert_null(c->policy.own_namespace);
}

static void check_same_list(const char *const *a, const char *const *b)
{
	for (; *a && *b; a++, b++)
		assert_string_equal(*a, *b);
	assert_ptr_equal(*a, *b);
}

/* policy_default and the table say the same; a change of one alone ends here. */
static void the_table_and_the_policy_agree(void **state)
{
	CLEANUP(config_freep) struct config *c = config_new_default();
	const struct sizing_policy *a = &c->policy.sizing, *b;
	struct policy policy;

	(void)state;
	policy_default(&policy);
	b = &policy.sizing;
	assert_int_equal(c->policy.mode, policy.mode);
	assert_memory_equal(c->policy.actions, policy.actions, sizeof(policy.actions));
	assert_int_equal(a->size_class, b->size_class);
	assert_int_equal(a->quantile_permille, b->quantile_permille);
	assert_int_equal(a->buffer_min_permille, b->buffer_min_permille);
	assert_int_equal(a->buffer_spread_permille, b->buffer_spread_permille);
	assert_int_equal(a->floor_request_bytes, b->floor_request_bytes);
	assert_int_equal(a->floor_limit_bytes, b->floor_limit_bytes);
	assert_int_equal(a->ceiling_bytes, b->ceiling_bytes);
	assert_int_equal(a->min_runs, b->min_runs);
	assert_int_equal(a->no_history, b->no_history);
	assert_int_equal(a->lower_max_permille, b->lower_max_permille);
	assert_int_equal(a->lower_min_runs, b->lower_min_runs);
	assert_int_equal(a->change_min_permille, b->change_min_permille);
	assert_int_equal(a->no_history_request_bytes, b->no_history_request_bytes);
	assert_int_equal(a->no_history_ephemeral_request_bytes, b->no_history_ephemeral_request_bytes);
	assert_int_equal(a->over_share_permille, b->over_share_permille);
	check_same_list(c->policy.excluded_namespaces, policy.excluded_namespaces);
	check_same_list(c->policy.critical_priority_classes, policy.critical_priority_classes);
	assert_ptr_equal(c->policy.own_namespace, policy.own_namespace);
}

static const struct config_key *key_of(const char *path)
{
	for (size_t i = 0; i < config_table.n; i++)
		if (streq(config_table.keys[i].path, path))
			return &config_table.keys[i];
	fail_msg("no key %s", path);
	return NULL;
}

static void check_choices(const char *path, const char *const *names, size_t n)
{
	CLEANUP(strbuf_release) struct strbuf joined = STRBUF_INIT(KIB);

	for (size_t i = 0; i < n; i++)
		strbuf_addf(&joined, "%s%s", i ? "|" : "", names[i]);
	assert_string_equal(key_of(path)->choices, strbuf_text(&joined));
}

static void choices_stand_in_the_order_of_their_enums(void **state)
{
	CLEANUP(config_freep) struct config *c = must_load(VERSION "store: {kind: kube}\nsizing: {noHistory: share}\n");

	(void)state;
	check_choices("mode", mode_names, MODE_COUNT_);
	check_choices("sizing.class", size_class_names, 3);
	check_choices("checks", check_action_names, ACTION_COUNT_);
	assert_int_equal(c->store.kind, STORE_KUBE);
	assert_int_equal(c->policy.sizing.no_history, NO_HISTORY_SHARE);
}

static const char full[] = VERSION
	"mode: enforce\n"
	"store: {kind: file, path: data/p.json}\n"
	"prometheus:\n"
	"  url: https://prom.example.org/base//\n"
	"  bearerTokenFile: /var/token\n"
	"  headers: {X-Scope-OrgID: team-a, X-B: \"1: 2\"}\n"
	"  extraMatchers: 'cluster=\"a\"'\n"
	"  tls:\n"
	"    caFile: ca.crt\n"
	"    insecureSkipVerify: true\n"
	"  step: 60s\n"
	"recommender:\n"
	"  interval: 1h\n"
	"  namespaces: [ml-a, ml-b]\n"
	"webhook:\n"
	"  listen: \"[::]:8443\"\n"
	"  tls: { certFile: tls.crt, keyFile: tls.key }\n"
	"  threads: \"8\"\n"
	"namespaces:\n"
	"  exclude:\n"
	"  - dev, test\n"
	"  - \"yes\"\n"
	"critical: {priorityClasses: []}\n"
	"sizing:\n"
	"  class: standing\n"
	"  quantile: 0.9\n"
	"  buffer: {min: 12.5%, spread: \"20%\"}\n"
	"  floors: {request: 64Mi, limit: 1G}\n"
	"  ceiling: 2Ti\n"
	"checks:\n"
	"  shm-small: off\n"
	"  besteffort-qos: deny\n"
	"nodeShapes:\n"
	"- {product: NVIDIA-H100-80GB-HBM3, count: 8, memory: 1900Gi, ephemeralStorage: 3Ti}\n"
	"- {name: cpu, count: 0, memory: 256Gi}\n"
	"log:\n";

static void every_kind_of_value_loads(void **state)
{
	CLEANUP(config_freep) struct config *c = must_load(full);

	(void)state;
	assert_int_equal(c->policy.mode, MODE_ENFORCE);
	assert_string_equal(c->store.path, "/etc/memtamer/data/p.json");
	assert_string_equal(c->prometheus.url, "https://prom.example.org/base");
	assert_string_equal(c->prometheus.bearer_token_file, "/var/token");
	assert_string_equal(c->prometheus.ca_file, "/etc/memtamer/ca.crt");
	assert_true(c->prometheus.insecure_skip_verify);
	assert_int_equal(c->prometheus.n_headers, 2);
	assert_string_equal(c->prometheus.headers[1].name, "X-B");
	assert_string_equal(c->prometheus.headers[1].value, "1: 2");
	assert_string_equal(c->prometheus.extra_matchers, "cluster=\"a\"");
	assert_int_equal(c->prometheus.step_ms, TIME_MINUTE_MS);
	assert_string_equal(c->recommender.namespaces[1], "ml-b");
	assert_null(c->recommender.namespaces[2]);
	assert_string_equal(c->webhook.listen, "[::]:8443");
	assert_int_equal(c->webhook.threads, 8);
	assert_string_equal(c->policy.excluded_namespaces[0], "dev, test");
	assert_string_equal(c->policy.excluded_namespaces[1], "yes");
	assert_null(c->policy.critical_priority_classes[0]);
	assert_int_equal(c->policy.sizing.size_class, CLASS_STANDING);
	assert_int_equal(c->policy.sizing.quantile_permille, 900);
	assert_int_equal(c->policy.sizing.buffer_min_permille, 125);
	assert_int_equal(c->policy.sizing.buffer_spread_permille, 200);
	assert_int_equal(c->policy.sizing.floor_limit_bytes, 1000000000);
	assert_int_equal(c->policy.sizing.ceiling_bytes, (int64_t)(2 * KIB * GIB));
	assert_int_equal(c->policy.actions[CHECK_SHM_SMALL], ACTION_OFF);
	assert_int_equal(c->policy.actions[CHECK_BESTEFFORT_QOS], ACTION_DENY);
	assert_int_equal(c->policy.actions[CHECK_SHM_UNBOUNDED], ACTION_WARN);
	assert_int_equal(c->n_node_shapes, 2);
	assert_string_equal(c->node_shapes[0].name, "shape-1");
	assert_string_equal(c->node_shapes[0].resource, "nvidia.com/gpu");
	assert_int_equal(c->node_shapes[0].accelerators, 8);
	assert_int_equal(c->node_shapes[0].memory_bytes, (int64_t)(1900 * GIB));
	assert_true(c->node_shapes[0].is_declared);
	assert_string_equal(c->node_shapes[1].name, "cpu");
	assert_string_equal(c->node_shapes[1].resource, "");
}

static void fractions(void **state)
{
	static const struct {
		const char *text;
		int r;
		int64_t permille;
	} rows[] = {
		{"5%", 0, 50},
		{"12.5%", 0, 125},
		{"0.05", 0, 50},
		{"0.125", 0, 125},
		{"1", 0, 1000},
		{"100%", 0, 1000},
		{"0", 0, 0},
		{"0%", 0, 0},
		{".5", 0, 500},
		{"5.%", 0, 50},
		{"0.1250", 0, 125},
		{"1.5", 0, 1500},
		{"12.25%", -ERANGE, 0},
		{"0.0005", -ERANGE, 0},
		{"99999999999999999999", -ERANGE, 0},
		{"", -EINVAL, 0},
		{"%", -EINVAL, 0},
		{".", -EINVAL, 0},
		{"1.2.3", -EINVAL, 0},
		{"-5%", -EINVAL, 0},
		{"5 %", -EINVAL, 0},
		{"5%%", -EINVAL, 0},
		{"1e-2", -EINVAL, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int64_t permille = -1;

		test_row(rows[i].text);
		assert_int_equal(config_parse_fraction(rows[i].text, strlen(rows[i].text), &permille), rows[i].r);
		assert_int_equal(permille, rows[i].r ? -1 : rows[i].permille);
	}
}

static void refused_rows(void **state)
{
	static const struct {
		const char *name, *text, *where, *msg;
	} rows[] = {
		{"empty", "", "c.yaml:1:1", "apiVersion: missing; write apiVersion: config.memtamer.io/v1alpha1"},
		{"only comments", "# x\n", "c.yaml:1:1", "apiVersion: missing"},
		{"no version", "mode: raise\n", "c.yaml:1:1", "apiVersion: missing"},
		{"other version", "apiVersion: v1\n", "c.yaml:1:13",
		 "apiVersion: \"v1\" is not supported; this program reads"},
		{"no mapping", "- a\n", "c.yaml:1:1", "a configuration is a mapping of keys"},
		{"second document", VERSION "---\nmode: fill\n", "c.yaml:3:1", "a second document"},
		{"unknown key", VERSION "moode: raise\n", "c.yaml:2:1", "unknown key moode; did you mean mode?"},
		{"unknown key inside", VERSION "sizing:\n  minRun: 3\n", "c.yaml:3:3",
		 "unknown key sizing.minRun; did you mean minRuns?"},
		{"unknown key deeper", VERSION "webhook:\n  tls:\n    zzz: 3\n", "c.yaml:4:5",
		 "unknown key webhook.tls.zzz"},
		{"unknown section", VERSION "promtheus: {}\n", "c.yaml:2:1",
		 "unknown key promtheus; did you mean prometheus?"},
		{"dotted key", VERSION "sizing.minRuns: 3\n", "c.yaml:2:1", "unknown key"},
		{"duplicate key", VERSION "mode: fill\nmode: fill\n", "c.yaml:3:1",
		 "duplicate key \"mode\", first at line 2"},
		{"unknown anchor", VERSION "mode: *a\n", "c.yaml:2:7", "unknown anchor *a"},
		{"tab", VERSION "sizing:\n\tminRuns: 3\n", "c.yaml:3:1", "a tab"},
		{"section is a text", VERSION "sizing: 3\n", "c.yaml:2:9", "sizing: must be a mapping"},
		{"section is a list", VERSION "sizing: [3]\n", "c.yaml:2:9", "sizing: must be a mapping"},
		{"value is a mapping", VERSION "mode: {a: b}\n", "c.yaml:2:7", "mode: must be a single value"},
		{"no value", VERSION "mode:\n", "c.yaml:2:6", "mode: has no value"},
		{"mode", VERSION "mode: rise\n", "c.yaml:2:7",
		 "mode: \"rise\" is none of off|observe|fill|raise|enforce; did you mean raise?"},
		{"mode by a template", VERSION "mode: false\n", "c.yaml:2:7", "mode: \"false\" is none of"},
		{"integer", VERSION "webhook: {threads: two}\n", "c.yaml:2:20",
		 "webhook.threads: \"two\" is not a whole number"},
		{"fraction for an integer", VERSION "webhook: {threads: 1.5}\n", "c.yaml:2:20",
		 "webhook.threads: \"1.5\" is not"},
		{"too small", VERSION "webhook: {threads: 0}\n", "c.yaml:2:20",
		 "webhook.threads: 0 is out of range: from 1 to 64"},
		{"too large", VERSION "webhook: {threads: 65}\n", "c.yaml:2:20", "webhook.threads: 65 is out of range"},
		{"beyond int64", VERSION "webhook: {threads: 99999999999999999999}\n", "c.yaml:2:20",
		 "webhook.threads: 99999999999999999999 is out of range"},
		{"duration without unit", VERSION "prometheus: {timeout: 30}\n", "c.yaml:2:23",
		 "prometheus.timeout: \"30\" is not a duration such as 30s"},
		{"duration out of range", VERSION "prometheus: {timeout: 2h}\n", "c.yaml:2:23",
		 "prometheus.timeout: 2h is out of range: from 1s to 1h"},
		{"quantity", VERSION "sizing: {ceiling: 10 Gi}\n", "c.yaml:2:19",
		 "sizing.ceiling: \"10 Gi\" is not a quantity such as"},
		{"quantity of bytes", VERSION "sizing: {ceiling: 10GB}\n", "c.yaml:2:19",
		 "sizing.ceiling: \"10GB\" is not"},
		{"negative quantity", VERSION "sizing: {ceiling: -1Gi}\n", "c.yaml:2:19",
		 "sizing.ceiling: -1Gi is out of range"},
		{"fraction", VERSION "sizing: {quantile: p50}\n", "c.yaml:2:20",
		 "sizing.quantile: \"p50\" is not a fraction"},
		{"percent without sign", VERSION "sizing: {quantile: 50}\n", "c.yaml:2:20",
		 "sizing.quantile: 50 is out of range: from 1% to 99%"},
		{"too fine", VERSION "sizing: {quantile: 0.0005}\n", "c.yaml:2:20",
		 "sizing.quantile: \"0.0005\" is too large or finer than 0.1%"},
		{"bool", VERSION "prometheus: {tls: {insecureSkipVerify: yes}}\n", "c.yaml:2:40",
		 "prometheus.tls.insecureSkipVerify: \"yes\" is neither true nor false"},
		{"url scheme", VERSION "prometheus: {url: prom:9090}\n", "c.yaml:2:19",
		 "prometheus.url: \"prom:9090\" does not"},
		{"url without host", VERSION "prometheus: {url: \"http:///x\"}\n", "c.yaml:2:19",
		 "prometheus.url: \"http:///x\" names"},
		{"url with password", VERSION "prometheus: {url: \"http://a:b@c\"}\n", "c.yaml:2:19",
		 "prometheus.url: no user or password in the URL"},
		{"url with query", VERSION "prometheus: {url: \"http://c/?q=1\"}\n", "c.yaml:2:19",
		 "prometheus.url: \"http://c/?q=1\":"},
		{"listen without port", VERSION "webhook: {listen: 127.0.0.1}\n", "c.yaml:2:19",
		 "webhook.listen: \"127.0.0.1\" is no"},
		{"listen, bad port", VERSION "webhook: {listen: \":70000\"}\n", "c.yaml:2:19",
		 "webhook.listen: \":70000\" is no"},
		{"listen, bare IPv6", VERSION "webhook: {listen: \"::1:8443\"}\n", "c.yaml:2:19",
		 "webhook.listen: \"::1:8443\": write"},
		{"list is a text", VERSION "namespaces: {exclude: a}\n", "c.yaml:2:23",
		 "namespaces.exclude: must be a list"},
		{"empty item", VERSION "namespaces: {exclude: [\"\"]}\n", "c.yaml:2:24", "namespaces.exclude: an item"},
		{"list in a list", VERSION "namespaces: {exclude: [[a]]}\n", "c.yaml:2:24",
		 "namespaces.exclude: an item"},
		{"control character", VERSION "store: {path: \"a\\nb\"}\n", "c.yaml:2:15",
		 "store.path: a control character"},
		{"header name", VERSION "prometheus: {headers: {\"a b\": c}}\n", "c.yaml:2:24",
		 "prometheus.headers: \"a b\" is no"},
		{"header split", VERSION "prometheus: {headers: {a: \"b\\r\\nc: d\"}}\n", "c.yaml:2:27",
		 "prometheus.headers: the value of a must be one line"},
		{"authorization", VERSION "prometheus: {headers: {authorization: b}}\n", "c.yaml:2:24",
		 "prometheus.headers: authorization cannot be set here: use bearerTokenFile or basicAuth"},
		{"unknown check", VERSION "checks: {shm-smal: off}\n", "c.yaml:2:10",
		 "checks: unknown check \"shm-smal\"; did you mean shm-small?"},
		{"unknown action", VERSION "checks: {shm-small: fix}\n", "c.yaml:2:21",
		 "checks.shm-small: must be one of off, warn, patch, deny"},
		{"shape without memory", VERSION "nodeShapes: [{count: 8}]\n", "c.yaml:2:14",
		 "nodeShapes[].memory: is missing"},
		{"shape with an unknown key", VERSION "nodeShapes: [{count: 8, memry: 1Gi}]\n", "c.yaml:2:25",
		 "unknown key nodeShapes[].memry; did you mean memory?"},
		{"shape with a bad count", VERSION "nodeShapes: [{count: -1, memory: 1Gi}]\n", "c.yaml:2:22",
		 "nodeShapes[].count: -1 is out of range: from 0 to 1024"},
		{"shape without memory of its own", VERSION "nodeShapes: [{count: 1, memory: 0}]\n", "c.yaml:2:33",
		 "nodeShapes[].memory: 0 is out of range"},
		{"shape that is a text", VERSION "nodeShapes: [a]\n", "c.yaml:2:14", "nodeShapes[]: must be a mapping"},
		{"two shapes of one name",
		 VERSION "nodeShapes: [{name: a, count: 1, memory: 1Gi}, {name: a, count: 1, memory: 1Gi}]\n",
		 "c.yaml:2:48", "nodeShapes[]: a second shape named \"a\""},
		{"certificate without key", VERSION "webhook:\n  tls:\n    certFile: a\n", "c.yaml:4",
		 "webhook.tls.certFile: needs webhook.tls.keyFile as well"},
		{"user without password", VERSION "prometheus:\n  basicAuth:\n    username: a\n", "c.yaml:4",
		 "prometheus.basicAuth.username: needs prometheus.basicAuth.passwordFile as well"},
		{"client name without CA", VERSION "webhook:\n  tls:\n    clientName: a\n", "c.yaml:4",
		 "webhook.tls.clientName: needs"},
		{"ceiling below floors", VERSION "sizing:\n  ceiling: 50Mi\n", "c.yaml:3",
		 "sizing.ceiling: is below sizing.floors"},
	};

	CLEANUP(config_freep) struct config *untouched = config_new_default();

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct config *config = untouched;
		struct err err = ERR_INIT;

		test_row(rows[i].name);
		assert_int_equal(load(rows[i].text, &config, &err), -EINVAL);
		assert_ptr_equal(config, untouched);
		if (strncmp(err.msg, rows[i].msg, strlen(rows[i].msg)) != 0)
			assert_string_equal(err.msg, rows[i].msg);
		assert_string_equal(err.where, rows[i].where);
	}
}

/* A configuration without comments: what it says, not where it came from. */
static void strip_origins(const char *text, struct strbuf *ret)
{
	while (*text) {
		size_t n = strcspn(text, "\n");
		const char *comment = memmem(text, n, "  # ", 4);

		strbuf_add(ret, text, comment ? (size_t)(comment - text) : n);
		strbuf_addc(ret, '\n');
		text += n + 1;
	}
}

static void print_loads_to_the_same(void **state)
{
	static const char *const rows[] = {VERSION, full, VERSION "mode: off\nlog: {level: debug, format: json}\n"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_release) struct strbuf first = STRBUF_INIT(MIB), second = STRBUF_INIT(MIB);
		CLEANUP(strbuf_release) struct strbuf a = STRBUF_INIT(MIB), b = STRBUF_INIT(MIB);
		CLEANUP(config_freep) struct config *c = must_load(rows[i]), *again = NULL;

		assert_int_equal(config_print(c, &first), 0);
		again = must_load(strbuf_text(&first));
		assert_int_equal(config_print(again, &second), 0);
		strip_origins(strbuf_text(&first), &a);
		strip_origins(strbuf_text(&second), &b);
		assert_string_equal(strbuf_text(&a), strbuf_text(&b));
		assert_true(a.len > 1000);
	}
}

static void print_says_where_values_come_from(void **state)
{
	static const char *const lines[] = {
		"mode: enforce  # c.yaml:2\n",
		"  url: https://prom.example.org/base  # c.yaml:5\n",
		"    X-Scope-OrgID: team-a  # c.yaml:7\n",
		"  timeout: 30s  # default\n",
		"    min: 12.5%  # c.yaml:28\n",
		"  minRuns: 3  # default\n",
		"  - \"yes\"  # c.yaml:21\n",
		"  priorityClasses: []  # c.yaml:24\n",
		"  shm-small: \"off\"  # c.yaml:32\n",
		"  shm-unbounded: warn  # default\n",
		"- name: shape-1  # c.yaml:34\n",
		"  memory: 1900Gi  # c.yaml:34\n",
		"  level: info  # default\n",
		"    certFile: /etc/memtamer/tls.crt  # c.yaml:18\n",
	};
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(MIB);
	CLEANUP(config_freep) struct config *c = must_load(full);

	(void)state;
	assert_int_equal(config_print(c, &text), 0);
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		test_row(lines[i]);
		assert_non_null(strstr(strbuf_text(&text), lines[i]));
	}
}

static void every_key_is_documented(void **state)
{
	CLEANUP(strbuf_release) struct strbuf page = STRBUF_INIT(MIB), checks = STRBUF_INIT(MIB);
	const struct config_key *keys = config_table.keys;

	(void)state;
	assert_int_equal(config_render_docs(&page), 0);
	for (size_t i = 0; i < config_table.n; i++) {
		CLEANUP(strbuf_release) struct strbuf row = STRBUF_INIT(KIB);

		strbuf_addf(&row, "\n| `%s` | ", keys[i].path);
		assert_non_null(strstr(strbuf_text(&page), strbuf_text(&row)));
		assert_true(strlen(keys[i].help) > 10);
	}
	assert_int_equal(checks_render_docs(&checks), 0);
	for (int i = 0; i < CHECK_COUNT_; i++)
		assert_non_null(strstr(strbuf_text(&checks), check_table[i].name));
}

static void files_are_read_from_their_folder(void **state)
{
	char folder[] = "/tmp/memtamer-test-XXXXXX", path[64], expected[128];
	CLEANUP(config_freep) struct config *c = NULL;
	CLEANUP(freep) char *real = NULL;
	struct err err = ERR_INIT;
	FILE *file;

	(void)state;
	assert_non_null(mkdtemp(folder));
	real = realpath(folder, NULL);
	snprintf(path, sizeof(path), "%s/c.yaml", folder);
	assert_int_equal(config_load(path, &c, &err), -ENOENT);
	file = fopen(path, "w");
	fputs(VERSION "webhook: {tls: {certFile: a, keyFile: ../b}}\n", file);
	fclose(file);
	assert_int_equal(config_load(path, &c, &err), 0);
	assert_string_equal(c->file, path);
	snprintf(expected, sizeof(expected), "%s/a", real);
	assert_string_equal(c->webhook.cert_file, expected);
	snprintf(expected, sizeof(expected), "%s/profiles.json", real);
	assert_string_equal(c->store.path, expected);
	unlink(path);
	rmdir(folder);
	config_freep(&c);
	assert_int_equal(config_load("/tmp", &c, &err), -EISDIR);
}

static void a_large_file_is_refused(void **state)
{
	CLEANUP(freep) char *text = malloc(LIMIT_CONFIG_BYTES + 2);
	struct config *config = NULL;
	struct err err = ERR_INIT;

	(void)state;
	memset(text, '#', LIMIT_CONFIG_BYTES + 1);
	text[LIMIT_CONFIG_BYTES + 1] = '\0';
	assert_int_equal(load(text, &config, &err), -E2BIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_are_the_documented_ones),
		cmocka_unit_test(the_table_and_the_policy_agree),
		cmocka_unit_test(choices_stand_in_the_order_of_their_enums),
		cmocka_unit_test(every_kind_of_value_loads),
		cmocka_unit_test(fractions),
		cmocka_unit_test(refused_rows),
		cmocka_unit_test(print_loads_to_the_same),
		cmocka_unit_test(print_says_where_values_come_from),
		cmocka_unit_test(every_key_is_documented),
		cmocka_unit_test(files_are_read_from_their_folder),
		cmocka_unit_test(a_large_file_is_refused),
	};

	return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
