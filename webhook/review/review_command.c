/* SPDX-License-Identifier: Apache-2.0 */
#include "review/review_command.h"

#include "base/limits.h"
#include "base/str.h"
#include "base/timefmt.h"
#include "config/config.h"
#include "review/namespaces.h"
#include "review/review_internal.h"
#include "review/review_store.h"
#include "review/runtimes.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define REVIEW_ARENA_BYTES (1 * GIB)
#define OUTPUT_BYTES	   (1 * GIB)

static int fail(int code, const struct err *err)
{
	char text[sizeof(err->where) + sizeof(err->msg) + 8];

	fprintf(stderr, "%s\n", err_text(err, text, sizeof(text)));
	return code;
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
	int r = namespaces_collect(self->review, manifest, self->builder);

	return r ? r : runtimes_collect(self->review, manifest);
}

/* Reads the objects that affect pods of other files. */
static int collect_context(struct review *review, const struct cli_args *args, struct snapshot_builder *builder,
			   struct err *err)
{
	struct collection collection = {.review = review, .builder = builder};
	/* inputs that cannot be read are reported by the review itself, which visits the same files */
	const struct manifest_visitor visitor = {
		.context = &collection, .file = collect_file, .excludes = review->excludes};

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
		r = collect_context(review, args, builder, err);
	if (!r && namespaces_put_vpas(review, builder))
		r = err_set(err, -ENOMEM, "out of memory");
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

static int visit_error(void *context, const struct manifest *manifest, const struct err *err)
{
	return review_report(context, manifest, err);
}

static int visit_passed(void *context, const char *path, enum manifest_passed why)
{
	static const enum review_status statuses[] = {
		[MANIFEST_HIDDEN] = REVIEW_HIDDEN,
		[MANIFEST_EXCLUDED] = REVIEW_EXCLUDED,
		[MANIFEST_LINKED] = REVIEW_LINKED,
	};
	const struct review_subject subject = {.status = statuses[why], .file = path};

	return review_note(context, &subject);
}

static bool wants_colour(void)
{
	const char *terminal = getenv("TERM"), *no_colour = getenv("NO_COLOR");

	return isatty(STDOUT_FILENO) && terminal && !streq(terminal, "dumb") && (!no_colour || !*no_colour);
}

static int print(const struct review *review, const struct cli_args *args)
{
	CLEANUP(strbuf_release) struct strbuf buf = STRBUF_INIT(OUTPUT_BYTES);
	const char *format = cli_get(args, "output");
	int r = 0;

	if (streq(format, "text"))
		r = render_text(review, wants_colour(), cli_has(args, "verbose"), &buf);
	else if (streq(format, "json"))
		r = render_json(review, &buf);
	else if (streq(format, "sarif"))
		r = render_sarif(review, &buf);
	if (r)
		return cli_fail(args, &(struct err){.msg = "the output is too large"}, EXIT_DEPENDENCY);
	fwrite(strbuf_text(&buf), 1, buf.len, stdout);
	return EXIT_CLEAN;
}

/* Whether there is a finding of at least this action. */
static bool review_has(const struct review *self, enum check_action action)
{
	for (size_t i = 0; i < self->findings.n; i++)
		if (self->findings.items[i].action >= action)
			return true;
	return false;
}

static bool is_object(enum review_status status)
{
	return status < REVIEW_HIDDEN && status != REVIEW_NO_OBJECT;
}

/* Notes an operand without any object, which is probably a mistake. */
static int note_empty(struct review *review, const char *operand, size_t first, size_t n_errors)
{
	const struct review_subject subject = {.status = REVIEW_EMPTY, .file = operand};
	const struct manifest manifest = {.path = operand};
	struct err err = ERR_INIT;

	if (review->errors.n > n_errors)
		return 0;
	for (size_t i = first; i < review->subjects.n; i++)
		if (is_object(review->subjects.items[i].status))
			return 0;
	if (!review->is_strict)
		return review_note(review, &subject);
	err_set_at(&err, -EINVAL, operand, 0, 0, "%s", review_statuses[REVIEW_EMPTY].words);
	return review_report(review, &manifest, &err);
}

static int review_all(struct review *review, const struct cli_args *args)
{
	const struct manifest_visitor visitor = {
		.context = review,
		.excludes = review->excludes,
		.file = visit_file,
		.passed = visit_passed,
		.error = visit_error,
	};
	int code;

	for (size_t i = 0; i < args->n_operands; i++) {
		size_t n_subjects = review->subjects.n, n_errors = review->errors.n;

		if (manifests_visit(args->operands[i], &visitor) ||
		    note_empty(review, args->operands[i], n_subjects, n_errors))
			return EXIT_DEPENDENCY;
	}
	code = print(review, args);
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
	vec_release(&self->subjects);
	strmap_release(&self->runtimes);
	strmap_release(&self->vpas);
	vec_release(&self->errors);
	strbuf_release(&self->input);
	arena_release(&self->arena);
}

/* NULL-terminated. NULL: out of memory. */
static const char *const *excludes_of(const struct cli_args *args, struct arena *arena)
{
	const char **excludes;
	size_t n = 0;

	while (cli_list(args, "exclude", n))
		n++;
	excludes = arena_array(arena, n + 1, sizeof(*excludes));
	for (size_t i = 0; excludes && i < n; i++)
		excludes[i] = cli_list(args, "exclude", i);
	return excludes;
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
		.is_single = args->n_operands == 1,
		.is_strict = cli_has(args, "strict"),
	};
	struct err err = ERR_INIT;
	int code;

	if (config_load(cli_get(args, "config"), &config, &err))
		return fail(EXIT_USAGE, &err);
	review.policy = config->policy;
	if (cli_get(args, "mode"))
		review.policy.mode = (enum mode)mode_parse(cli_get(args, "mode"));
	review.excludes = excludes_of(args, &review.arena);
	if (!review.excludes) {
		err_set(&err, -ENOMEM, "out of memory");
		return fail(EXIT_DEPENDENCY, &err);
	}
	/* output without the inputs that could not be read must not look complete */
	review.is_strict |= review.wants_yaml;
	code = load_snapshot(&review, args, config, &err);
	if (code)
		return fail(code, &err);
	return review_all(&review, args);
}

static const struct cli_option options[] = {
	{"config", 'c', CLI_STRING, "FILE", "Configuration file; without it, every key has its default", NULL},
	STORE_ACCESS_OPTIONS,
	{"namespace", 'n', CLI_STRING, "NAMESPACE", "Namespace of objects without one, in place of the kubeconfig's",
	 "default"},
	{"mode", 'm', CLI_STRING, "off|observe|fill|raise|enforce", "Mode to use in place of the configuration's",
	 NULL},
	{"output", 'o', CLI_STRING, "text|json|yaml|sarif",
	 "Output format; yaml prints the manifests with their sizes changed in place", "text"},
	{"verbose", 'v', CLI_FLAG, NULL, "Also list what has no findings, and what was not examined and why", NULL},
	{"exclude", 0, CLI_LIST, "GLOB",
	 "Files and folders to skip in a folder: a pattern without a slash matches names at any depth, one with a "
	 "slash paths below the folder",
	 NULL},
	{"strict", 0, CLI_FLAG, NULL,
	 "Exit with 2 also for files in a folder that cannot be read, templates, and paths without objects", NULL},
	{"fail-on", 0, CLI_STRING, "warn|patch|deny", "Exit with 1 when a finding is at least this", "warn"},
	{0},
};

const struct cli_command review_command = {
	.name = "review",
	.operands = "FILE|DIR|-...",
	.help = "Review manifests offline, as the webhook would\n\nReads YAML and JSON with pods and with workloads "
		"of any known kind (Job, PyTorchJob, JobSet, RayJob ...); of a folder, all *.yaml, *.yml and *.json "
		"files below it that are not hidden. Each finding has its place and what would be set. Namespace, "
		"LimitRange, ResourceQuota and VerticalPodAutoscaler objects count for the pods of their namespace, "
		"wherever they stand. Other "
		"objects, documents that are no Kubernetes objects and Helm templates in a folder are counted.\n\n"
		"History comes from --store or --config, else from the cluster of --kubeconfig or of the kubeconfig "
		"that kubectl would take; then its LimitRanges, ResourceQuotas, VerticalPodAutoscalers and labels of "
		"namespaces count too. "
		"--store none uses no history.\n\n"
		"Exit codes: 0 no finding at or above --fail-on, 1 findings, 2 a named file that cannot be read or is "
		"a template, or a wrong option, 3 the cluster or the output failed. With -o yaml nothing may be "
		"missing, as with --strict. Only sizes change there; a document that shares them by "
		"aliases or merge keys is printed as it is, with an error.",
	.example = "-v --store none job.yaml",
	.options = options,
	.run = review_run,
};
