/* SPDX-License-Identifier: Apache-2.0 */
#include "postmortem/triage_command.h"

#include "base/io.h"
#include "base/limits.h"
#include "model/identity.h"
#include "postmortem/cluster.h"
#include "postmortem/known_workload.h"
#include "postmortem/prometheus.h"
#include "postmortem/recorded_crash.h"
#include "triage/verify.h"

#include <stdio.h>
#include <stdlib.h>

static int fail_memory(const struct cli_args *args)
{
	return cli_fail(args, &(struct err){.msg = "no memory left"}, EXIT_DEPENDENCY);
}

static bool find_input(const char *option, enum input *ret)
{
	static const char *const names[] = {
		[INPUT_LOG] = "log", [INPUT_DMESG] = "dmesg", [INPUT_SMI] = "nvidia-smi", [INPUT_NODE] = "node"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (streq(option, names[i])) {
			*ret = (enum input)i;
			return true;
		}
	return false;
}

/* A file, or with --config a node of Prometheus. */
static int read_input(struct triage *triage, struct prometheus *prometheus, const char *path, enum input input,
		      struct err *err)
{
	bool is_node = input == INPUT_NODE && prometheus_is_node(path);
	int r;

	if (is_node && prometheus->reader)
		return prometheus_read_node(prometheus, triage, path) ? err_set(err, -ENOMEM, "no memory left") : 0;
	r = facts_read(&triage->facts, path, input, err);
	return is_node && r == -ENOENT
		       ? err_set(err, r, "no such file; a node of Prometheus can be read with --config FILE")
		       : r;
}

/* Reads the files of the command line in their order, as ranks without a clock are compared by it. */
static int read_inputs(const struct cli_args *args, struct triage *triage, struct prometheus *prometheus)
{
	struct err err = ERR_INIT;
	bool is_input_read = false;

	for (size_t i = 0; i < args->n_given; i++)
		if (streq(args->given[i].option->name, "log"))
			facts_expect(&triage->facts, args->given[i].value);
	for (size_t i = 0; i < args->n_given; i++) {
		const char *name = args->given[i].option->name, *path = args->given[i].value;
		enum input input;
		int r;

		if (!find_input(name, &input))
			continue;
		if (streq(path, "-") && is_input_read)
			return cli_usage_error(args->command, "standard input can be read only once");
		is_input_read = is_input_read || streq(path, "-");
		if (triage->facts.sources.n >= LIMIT_TRIAGE_SOURCES)
			return cli_usage_error(args->command, "more than %d files", LIMIT_TRIAGE_SOURCES);
		r = read_input(triage, prometheus, path, input, &err);
		if (r)
			return cli_fail(args, &err, r == -ENOMEM ? EXIT_DEPENDENCY : EXIT_USAGE);
	}
	return EXIT_CLEAN;
}

/* ---- the crash that a run is compared with ---- */

/* Whether a file of another option is standard input. */
static bool is_input_taken(const struct cli_args *args)
{
	enum input input;

	for (size_t i = 0; i < args->n_given; i++)
		if (find_input(args->given[i].option->name, &input) && streq(args->given[i].value, "-"))
			return true;
	return false;
}

/* Without --against the crash is read in the cluster, after the pods. */
static int read_crash(const struct cli_args *args, struct triage *triage, struct crash *buf)
{
	const char *path = cli_get(args, "against");
	struct err err = ERR_INIT;
	int r;

	if (path && !cli_has(args, "verify"))
		return cli_usage_error(args->command, "--against is for --verify");
	if (!path && cli_has(args, "verify") && !args->n_operands)
		return cli_usage_error(args->command,
				       "--verify without a pod or KIND/NAME needs --against FILE: what triage -o json "
				       "printed of the crash");
	if (!path)
		return EXIT_CLEAN;
	if (streq(path, "-") && is_input_taken(args))
		return cli_usage_error(args->command, "standard input can be read only once");
	r = crash_read_file(path, buf, &err);
	if (r)
		return cli_fail(args, &err, r == -ENOMEM ? EXIT_DEPENDENCY : EXIT_USAGE);
	triage->crash = buf;
	return EXIT_CLEAN;
}

static int find_crash(const struct cli_args *args, struct postmortem *postmortem, struct crash *buf, struct err *err)
{
	struct triage *triage = postmortem->triage;
	int r;

	if (!cli_has(args, "verify") || triage->crash)
		return 0;
	r = recorded_crash_read(postmortem, buf, err);
	if (r)
		return r;
	triage->crash = buf;
	triage->is_crash = !recorded_crash_is_over(postmortem, buf);
	return 0;
}

/* ---- the answer ---- */

/* A signal or a code does not say who has ended the container; a counter of the kernel's kills may. */
static void say_prometheus(const struct cli_args *args, struct triage *triage)
{
	static const enum signal_id open_ends[] = {SIGNAL_EXIT_137, SIGNAL_EXIT_CODE, SIGNAL_STATUS_UNKNOWN,
						   SIGNAL_WORKER_KILLED, SIGNAL_CHILD_KILLED};
	const struct triage_subject *subject = &triage->subject;

	for (size_t i = 0; i < ARRAY_LEN(open_ends) && triage->verdict.kind == KIND_UNKNOWN; i++)
		if (triage->verdict.rule->signal == open_ends[i] && !cli_get(args, "config"))
			triage_note(&triage->next,
				    "kubectl memtamer triage --config FILE -n %s %s   # FILE names a Prometheus: by "
				    "container_oom_events_total, whether the kernel killed a task of the container",
				    *subject->pod ? subject->namespace : "NAMESPACE",
				    *subject->pod ? subject->pod : "POD");
}

static int render_verification(const struct triage *triage, const char *format, struct strbuf *buf)
{
	struct verification verification;
	int r;

	verify_init(&verification, triage);
	if (streq(format, "json"))
		r = verify_json(&verification, buf);
	else
		r = streq(format, "markdown") ? verify_markdown(&verification, buf) : verify_text(&verification, buf);
	verify_release(&verification);
	return r;
}

static int render(const struct triage *triage, const char *format, struct strbuf *buf)
{
	if (triage->crash)
		return render_verification(triage, format, buf);
	if (streq(format, "json"))
		return triage_json(triage, buf);
	return streq(format, "markdown") ? triage_markdown(triage, buf) : triage_text(triage, buf);
}

static int print(const struct cli_args *args, const struct triage *triage)
{
	CLEANUP(strbuf_release) struct strbuf buf = STRBUF_INIT(LIMIT_TRIAGE_OUTPUT_BYTES);

	if (render(triage, cli_get(args, "output"), &buf))
		return fail_memory(args);
	fwrite(strbuf_text(&buf), 1, buf.len, stdout);
	return EXIT_CLEAN;
}

/* ---- a cluster ---- */

static const char *find_namespace(const struct cli_args *args, const struct cluster *cluster)
{
	const char *namespace = cli_get(args, "namespace");

	return namespace ? namespace : cluster->access.namespace;
}

static bool is_namespace(const char *text)
{
	size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-");

	return n && !text[n] && n <= LIMIT_NAMESPACE_BYTES;
}

/* `owner` NULL: the files are all there is, beside what is recorded of the workload. */
static int decide_with_cluster(const struct cli_args *args, struct postmortem *postmortem, const struct owner *owner,
			       struct err *err)
{
	struct triage *triage = postmortem->triage;
	struct known_workload known;
	int r = owner ? postmortem_read(postmortem, owner, err) : 0;

	if (!r && known_workload_read(postmortem, cli_get(args, "workload"), &known))
		r = err_set(err, -ENOMEM, "no memory left");
	if (r)
		return r;
	/* What --node says is of a node with pods. */
	triage->facts.node.is_kubernetes = triage->facts.node.is_kubernetes || owner;
	triage_decide(triage);
	known_workload_apply(postmortem, &known);
	if (owner)
		postmortem_conclude(postmortem);
	say_prometheus(args, triage);
	return 0;
}

static int open_cluster(const struct cli_args *args, const struct config *config, struct cluster *ret, struct err *err)
{
	const char *kubeconfig = cli_get(args, "kubeconfig"), *context = cli_get(args, "context");

	if (config && !kubeconfig)
		kubeconfig = config->kubernetes.kubeconfig;
	if (config && !context)
		context = config->kubernetes.context;
	return cluster_open(kubeconfig, context, ret, err);
}

static int read_cluster(const struct cli_args *args, struct triage *triage, const struct prometheus *prometheus,
			const struct owner *owner)
{
	struct postmortem postmortem;
	struct cluster cluster;
	struct crash crash;
	struct err err = ERR_INIT;
	int r = open_cluster(args, prometheus->config, &cluster, &err), code;

	if (r) {
		cluster_close(&cluster);
		return cli_fail(args, &err, r == -EINVAL || r == -ENOENT ? EXIT_USAGE : EXIT_DEPENDENCY);
	}
	postmortem_init(&postmortem, triage, &cluster.requests.source, find_namespace(args, &cluster));
	postmortem.reader = prometheus->reader;
	r = decide_with_cluster(args, &postmortem, owner, &err);
	if (!r)
		r = find_crash(args, &postmortem, &crash, &err);
	if (r)
		code = cli_fail(args, &err, r == POSTMORTEM_NOT_FOUND ? EXIT_USAGE : EXIT_DEPENDENCY);
	else
		code = print(args, triage);
	postmortem_release(&postmortem);
	cluster_close(&cluster);
	return code;
}

/* The operand, or only a workload beside files. */
static int read_objects(const struct cli_args *args, struct triage *triage, const struct prometheus *prometheus)
{
	const char *namespace = cli_get(args, "namespace"), *workload = cli_get(args, "workload");
	struct err err = ERR_INIT;
	struct owner owner;

	if (namespace && !is_namespace(namespace))
		return cli_usage_error(args->command, "%.100s: not the name of a namespace", namespace);
	if (workload && (!*workload || strlen(workload) > IDENTITY_KEY_BYTES))
		return cli_usage_error(args->command, "%.100s: not a workload; give KIND/NAME", workload);
	if (!args->n_operands)
		return read_cluster(args, triage, prometheus, NULL);
	if (owner_parse(args->operands[0], &owner, &err))
		return cli_fail(args, &err, EXIT_USAGE);
	return read_cluster(args, triage, prometheus, &owner);
}

/* ---- files ---- */

/* Without an operand: the files are all there is. */
static int decide_files(const struct cli_args *args, struct triage *triage)
{
	if (!triage->facts.sources.n)
		return cli_usage_error(args->command,
				       "nothing to read; give a pod, KIND/NAME, --log FILE, --dmesg FILE, "
				       "--nvidia-smi FILE or --node FILE (-: standard input), or --workload KIND/NAME");
	triage_decide(triage);
	say_prometheus(args, triage);
	return print(args, triage);
}

static int read_all(const struct cli_args *args, struct triage *triage)
{
	CLEANUP(prometheus_close) struct prometheus prometheus = {.config = NULL};
	struct err err = ERR_INIT;
	int code;

	if (cli_get(args, "config") && prometheus_open(cli_get(args, "config"), &prometheus, &err))
		return cli_fail(args, &err, EXIT_USAGE);
	code = read_inputs(args, triage, &prometheus);
	if (!code)
		code = args->n_operands || cli_get(args, "workload") ? read_objects(args, triage, &prometheus)
								     : decide_files(args, triage);
	return code;
}

static int triage_command_run(const struct cli_args *args)
{
	struct triage *triage = malloc(sizeof(*triage));
	struct crash crash;
	int code;

	if (!triage)
		return fail_memory(args);
	code = triage_init(triage) ? fail_memory(args) : read_crash(args, triage, &crash);
	if (!code)
		code = read_all(args, triage);
	triage_release(triage);
	free(triage);
	return code;
}

static const struct cli_option triage_options[] = {
	{"log", 0, CLI_LIST, "FILE", "Log of the run, or of one rank or pod of it (-: standard input)", NULL},
	{"dmesg", 0, CLI_LIST, "FILE", "Kernel log of the node, as dmesg or journalctl -k print it", NULL},
	{"nvidia-smi", 0, CLI_LIST, "FILE",
	 "What nvidia-smi prints on the node: its table, -q, -q -x, or --query-gpu and --query-compute-apps as CSV; or "
	 "the text of dcgm-exporter, dcgmi health or dcgmi diag",
	 NULL},
	{"node", 0, CLI_STRING, "FILE|FOLDER|node/NAME",
	 "Settings of the node, by the command in docs/TRIAGE.md, or / on the node itself (reads /proc and /sys); with "
	 "--config, node/NAME reads the series of node_exporter",
	 NULL},
	{"workload", 0, CLI_STRING, "KIND/NAME",
	 "Read what the recommender has recorded of this workload's runs in the namespace (its MemoryProfile); for a "
	 "pod "
	 "or object that is named, it is read without this option",
	 NULL},
	{"config", 0, CLI_STRING, "FILE",
	 "Configuration file; its Prometheus is asked for the last hours of the containers", NULL},
	{"verify", 0, CLI_FLAG, NULL,
	 "Tell whether a fix holds: compare what is given of the new run with the crash that was diagnosed before",
	 NULL},
	{"against", 0, CLI_STRING, "FILE",
	 "The crash for --verify, as -o json printed it (-: standard input); unless given, status.diagnosis of the "
	 "workload's MemoryProfile",
	 NULL},
	{"namespace", 'n', CLI_STRING, "NAMESPACE",
	 "Namespace of the pod or object (default: that of kubectl's context)", NULL},
	{"kubeconfig", 0, CLI_STRING, "FILE", "Read the cluster of this kubeconfig", NULL},
	{"context", 0, CLI_STRING, "NAME", "Use this context of the kubeconfig", NULL},
	{"output", 'o', CLI_STRING, "text|json|markdown", "Output format", "text"},
	{.name = NULL},
};

const struct cli_command triage_command = {
	.name = "triage",
	.operands = "[POD|KIND/NAME]",
	.help = "Tell what kind of out-of-memory ended a pod or a run, and what to do first",
	.example = "-n ml-team pytorchjob/resnet-train",
	.options = triage_options,
	.run = triage_command_run,
};
