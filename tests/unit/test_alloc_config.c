/* SPDX-License-Identifier: Apache-2.0 */
/* Memory runs out while a configuration is read, checked and printed: -ENOMEM, nothing leaked. */
#include "support/alloc_fail.h"
#include "support/test.h"

#include "config/config.h"

#include <errno.h>
#include <string.h>

static const char config_text[] = "apiVersion: config.memtamer.io/v1alpha1\n"
				  "mode: enforce\n"
				  "store: { kind: file, path: p.json }\n"
				  "prometheus:\n"
				  "  url: http://127.0.0.1:9090/prom/\n"
				  "  headers: { X-Scope-OrgID: a, X-Other: b }\n"
				  "webhook:\n"
				  "  listen: 127.0.0.1:8443\n"
				  "  tls: { certFile: tls.crt, keyFile: tls.key, serverNames: [a, b] }\n"
				  "namespaces: { exclude: [x, y] }\n"
				  "checks: { shm-small: off }\n"
				  "sizing: { quantile: 60%, floors: { request: 64Mi } }\n"
				  "nodeShapes:\n"
				  "  - { accelerator: nvidia.com/gpu, count: 8, memory: 2000Gi }\n"
				  "  - { accelerator: amd.com/gpu, count: 4, memory: 1000Gi, ephemeralStorage: 1Ti }\n";

static int parse_and_print(void *context, struct strbuf *ret)
{
	struct config *config = NULL;
	struct err err = ERR_INIT;
	int r = config_parse(context, strlen(context), "memtamer.yaml", "/etc/memtamer", &config, &err);

	if (r)
		return r;
	r = config_print(config, ret);
	config_free(config);
	return r;
}

static int print_defaults(void *context, struct strbuf *ret)
{
	struct config *config = config_new_default();
	int r;

	(void)context;
	if (!config)
		return -ENOMEM;
	r = config_print(config, ret);
	config_free(config);
	return r;
}

static void configs_survive(void **state)
{
	char text[sizeof(config_text)];

	(void)state;
	memcpy(text, config_text, sizeof(text));
	assert_true(alloc_fail_each("config_parse, config_print", parse_and_print, text) > 10);
	assert_true(alloc_fail_each("config_new_default, config_print", print_defaults, NULL) > 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(configs_survive)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
