/* SPDX-License-Identifier: Apache-2.0 */
#include "review/review_command.h"

#include "base/limits.h"
#include "base/str.h"
#include "base/timefmt.h"
#include "config/config.h"
#include "review/namespaces.h"
#include "review/review_internal.h"
#include "review/review_store.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define NAME		   "memtamer-webhook review"
#define REVIEW_ARENA_BYTES (1 * GIB)
#define OUTPUT_BYTES	   (1 * GIB)

static int fail(int code, const struct err *err)
{
	char text[sizeof(err->where) + sizeof(err->msg) + 8];

	fprintf(stderr, "%s\n", err_text(err, text, sizeof(text)));
	return code;
}

static int load_config(const struct cli_args *args, struct config **ret, struct err *err)
{
	const char *path = cli_get(args, "config");

	if (path)
		return config_load(path, ret, err);
	*ret = config_new_default();
	return *ret ? 0 : err_set(err, -ENOMEM, "out of memory");
}

static int fill_snapshot(struct review *review, const struct cli_args *args, const struct config *config,
			 struct snapshot_builder *builder, int *ret_code, struct err *err)
{
	int r = review_store_read(review, args, config, builder, ret_code, err);

	for (size_t i = 0; !r && i < config->n_node_shapes; i++)
		if (snapshot_builder_put_shape(builder, &config->node_shapes[i]))
			return err_set(err, -ENOMEM, "out of memory");
	return r;
}

struct collection {
	struct review *review;
	struct snapshot_builder *builder;
};

static int collect_file(void *context, const struct manifest *manifest)
{
	struct collection *self = context;

	return namespaces_collect(self->review, manifest, self->builder);
}

/* The review itself comes by the same places, and says what is wrong with them. */
static void pass_over(void *context, const struct err *err)
{
	(void)context;
	(void)err;
}

static int collect_namespaces(struct review *review, const struct cli_args *args, struct snapshot_builder *builder,
			      struct err *err)
{
	struct collection collection = {.review = review, .builder = builder};
	const struct manifest_visitor visitor = {.context = &collection, .file = collect_file, .error = pass_over};

	for (size_t i = 0; i < args->n_operands; i++)
		if (manifests_visit(args->operands[i], &visitor))
			return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

/* @return an exit code. */
static int load_snapshot(struct review *review, const struct cli_args *args, const struct config *config,
			 struct err *err)
{
	struct snapshot_builder *builder = snapshot_builder_new(NULL);
	int code = EXIT_USAGE;
	int r = builder ? fill_snapshot(review, args, config, builder, &code, err)
			: err_set(err, -ENOMEM, "out of memory");

	if (!r)
		r = collect_namespaces(review, args, builder, err);
	if (r) {
		snapshot_builder_free(builder);
		return code;
	}
	review->snapshot = snapshot_builder_finish(builder, review->now_ms);
	if (!review->snapshot) {
		err_set(err, -ENOMEM, "out of memory");
		return EXIT_DEPENDENCY;
	}
	if (snapshot_profile_count(review->snapshot))
		review->history_note = NULL;
	else if (!review->history_note)
		review->history_note = "the store has no profiles";
	return EXIT_CLEAN;
}

static int visit_file(void *context, const struct manifest *manifest)
{
	return review_file(context, manifest);
}

static void visit_error(void *context, const struct err *err)
{
	review_report(context, err);
}

static bool wants_colour(void)
{
	const char *terminal = getenv("TERM"), *no_colour = getenv("NO_COLOR");

	return isatty(STDOUT_FILENO) && terminal && !streq(terminal, "dumb") && (!no_colour || !*no_colour);
}

static int print(const struct review *review, const char *format)
{
	CLEANUP(strbuf_release) struct strbuf buf = STRBUF_INIT(OUTPUT_BYTES);
	int r = 0;

	if (streq(format, "text"))
		r = render_text(review, wants_colour(), &buf);
	else if (streq(format, "json"))
		r = render_json(review, &buf);
	else if (streq(format, "sarif"))
		r = render_sarif(review, &buf);
	if (r) {
		fprintf(stderr, NAME ": the output is too large\n");
		return EXIT_DEPENDENCY;
	}
	fwrite(strbuf_text(&buf), 1, buf.len, stdout);
	return EXIT_CLEAN;
}

/* Is a finding at least as bad as this? */
static bool review_has(const struct review *self, enum check_action action)
{
	for (size_t i = 0; i < self->findings.n; i++)
		if (self->findings.items[i].action >= action)
			return true;
	return false;
}

static int review_all(struct review *review, const struct cli_args *args)
{
	const struct manifest_visitor visitor = {.context = review, .file = visit_file, .error = visit_error};
	int code;

	for (size_t i = 0; i < args->n_operands; i++)
		if (manifests_visit(args->operands[i], &visitor))
			return EXIT_DEPENDENCY;
	code = print(review, cli_get(args, "output"));
	if (code)
		return code;
	if (review->errors.n)
		return EXIT_USAGE;
	return review_has(review, (enum check_action)check_action_parse(cli_get(args, "fail-on"))) ? EXIT_FINDINGS
												   : EXIT_CLEAN;
}

static void review_release(struct review *self)
{
	self->snapshot = snapshot_unref(self->snapshot);
	vec_release(&self->findings);
	vec_release(&self->errors);
	strbuf_release(&self->input);
	arena_release(&self->arena);
}

static int review_run(const struct cli_args *args)
{
	CLEANUP(config_freep) struct config *config = NULL;
	CLEANUP(review_release)
	struct review review = {
		.arena = ARENA_INIT(REVIEW_ARENA_BYTES),
		.input = STRBUF_INIT(LIMIT_MANIFEST_BYTES),
		.default_namespace = cli_get(args, "namespace"),
		.now_ms = time_now_ms(),
		.wants_yaml = streq(cli_get(args, "output"), "yaml"),
	};
	struct err err = ERR_INIT;
	int code;

	if (load_config(args, &config, &err))
		return fail(EXIT_USAGE, &err);
	review.policy = config->policy;
	if (cli_get(args, "mode"))
		review.policy.mode = (enum mode)mode_parse(cli_get(args, "mode"));
	code = load_snapshot(&review, args, config, &err);
	if (code)
		return fail(code, &err);
	return review_all(&review, args);
}

static const struct cli_option options[] = {
	{"config", 'c', CLI_STRING, "FILE", "configuration; without one, every key has its default", NULL},
	STORE_ACCESS_OPTIONS,
	{"namespace", 'n', CLI_STRING, "NAMESPACE",
	 "namespace of objects that name none (default: the kubeconfig's, else \"default\")", "default"},
	{"mode", 'm', CLI_STRING, "off|observe|fill|raise|enforce", "how far to go, instead of the configuration's",
	 NULL},
	{"output", 'o', CLI_STRING, "text|json|yaml|sarif", "yaml prints the manifests as they would be patched",
	 "text"},
	{"fail-on", 0, CLI_STRING, "warn|patch|deny", "exit with 1 when a finding is at least this", "warn"},
	{0},
};

const struct cli_command review_command = {
	.name = "review",
	.operands = "FILE|DIR|-...",
	.help = "review manifests offline, as the webhook would\n\nReads YAML and JSON with pods and with workloads "
		"of any known "
		"kind (Job, PyTorchJob, JobSet, RayJob ...); of a folder, all *.yaml, *.yml and *.json files below it. "
		"Says for "
		"each finding where it is and what would be set. Namespace, LimitRange and ResourceQuota objects among "
		"them "
		"count for the pods of their namespace, wherever they stand. Other objects are passed over.\n\n"
		"History comes from --store or --config, else from the cluster of --kubeconfig or of the kubeconfig "
		"that "
		"kubectl would take; then its LimitRanges, ResourceQuotas and labels of namespaces count too. "
		"--store none asks nobody.",
	.options = options,
	.run = review_run,
};
