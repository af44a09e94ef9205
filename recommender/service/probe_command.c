/* SPDX-License-Identifier: Apache-2.0 */
#include "service/probe_command.h"

#include "config/config.h"
#include "kube/kube_access.h"
#include "service/probe.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>

struct waiting {
	bool is_done;
	struct probe_outcome outcome;
};

static void probe_done(void *context, const struct probe_outcome *outcome)
{
	struct waiting *waiting = context;

	waiting->outcome = *outcome;
	waiting->is_done = true;
}

static int exit_code(enum probe_result result)
{
	if (result == PROBE_REACHED)
		return EXIT_CLEAN;
	return result == PROBE_NOT_CONFIGURED || result == PROBE_FAILED_OPEN ? EXIT_FINDINGS : EXIT_DEPENDENCY;
}

static int ask(const struct cli_args *args, const struct config *config, const struct kube_access *access)
{
	const char *given = cli_get(args, "namespace"), *own = given ? given : config->policy.own_namespace;
	struct waiting waiting = {.is_done = false};
	struct probe probe = {
		.client = access->client,
		.namespace = own && *own ? own : access->namespace,
		.configuration = config->webhook.mutating_configuration,
		.done = probe_done,
		.context = &waiting,
	};
	struct err err = ERR_INIT;

	probe_begin(&probe);
	while (!waiting.is_done)
		if (kube_client_poll(access->client, NULL, 0, 1000, &err) && !waiting.is_done) {
			probe_cancel(&probe);
			return cli_fail(args, &err, EXIT_DEPENDENCY);
		}
	fprintf(waiting.outcome.result == PROBE_REACHED ? stdout : stderr, "%s\n", waiting.outcome.text);
	return exit_code(waiting.outcome.result);
}

static int run(const struct cli_args *args)
{
	CLEANUP(kube_access_release) struct kube_access access = KUBE_ACCESS_INIT;
	CLEANUP(config_freep) struct config *config = NULL;
	const char *kubeconfig = cli_get(args, "kubeconfig"), *context = cli_get(args, "context");
	struct err err = ERR_INIT;
	int r;

	signal(SIGPIPE, SIG_IGN);
	if (config_load(cli_get(args, "config"), &config, &err))
		return cli_fail(args, &err, EXIT_USAGE);
	r = kube_access_open(kubeconfig ? kubeconfig : config->kubernetes.kubeconfig,
			     context ? context : config->kubernetes.context, "memtamer-recommender", &access, &err);
	if (r)
		return cli_fail(args, &err, r == -EINVAL ? EXIT_USAGE : EXIT_DEPENDENCY);
	return ask(args, config, &access);
}

static const struct cli_option options[] = {
	{"config", 0, CLI_STRING, "FILE", "Configuration file; without it, the defaults", NULL},
	{"kubeconfig", 0, CLI_STRING, "FILE", "Use the cluster of this kubeconfig", NULL},
	{"context", 0, CLI_STRING, "NAME", "Use this context of the kubeconfig", NULL},
	{"namespace", 'n', CLI_STRING, "NAMESPACE", "Namespace of memtamer", NULL},
	{.name = NULL},
};

const struct cli_command probe_command = {
	.name = "probe",
	.help = "Check whether the API server reaches the webhook",
	.example = "--config memtamer.yaml",
	.options = options,
	.run = run,
};
