/* SPDX-License-Identifier: Apache-2.0 */
/* variant: a stable hash of those parts of image and command line that decide how much memory a container needs.
 * Arguments that name the run or the rank are left out by a table of flags; times, hashes and random ids by the rules
 * of stem.c, anywhere in an argument. */
#include "base/attr.h"
#include "base/hash.h"
#include "base/str.h"
#include "model/identity.h"
#include "model/stem.h"

#include <stdio.h>

/* Flags whose value differs by run or rank (without leading dashes; '-' equals '_'). */
static const char *const volatile_flags[] = {
	"run-name",	 "run-id",
	"job-id",	 "job-name",
	"exp-name",	 "experiment-name",
	"wandb-run-id",	 "output-dir",
	"output",	 "out-dir",
	"log-dir",	 "logdir",
	"logging-dir",	 "checkpoint-dir",
	"ckpt-dir",	 "save-dir",
	"save",		 "seed",
	"random-seed",	 "timestamp",
	"resume",	 "resume-from-checkpoint",
	"load",		 "rdzv-id",
	"rdzv-endpoint", "rdzv-conf",
	"master-addr",	 "master-port",
	"node-rank",	 "local-rank",
	"rank",		 "machine-rank",
	"host",		 "hostname",
	"port",
};

static bool flag_equals(struct str flag, const char *name)
{
	size_t n = strlen(name);

	if (flag.n != n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (flag.p[i] != name[i] && !(name[i] == '-' && flag.p[i] == '_'))
			return false;
	return true;
}

static bool is_volatile_flag(struct str flag)
{
	STEPS(ARRAY_LEN(volatile_flags));
	for (size_t i = 0; i < ARRAY_LEN(volatile_flags); i++)
		if (flag.n && flag.p[0] == volatile_flags[i][0] && flag_equals(flag, volatile_flags[i]))
			return true;
	return false;
}

static bool is_word(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Hashes the text without its volatile tokens. */
static uint64_t hash_tokens(uint64_t hash, struct str text)
{
	for (size_t at = 0; at < text.n;) {
		size_t end = at;

		while (end < text.n && is_word(text.p[end]))
			end++;
		STEPS(end - at + 1);
		if (end == at) {
			hash = hash_stable(hash, &text.p[at++], 1);
			continue;
		}
		if (!stem_is_volatile_token((struct str){text.p + at, end - at}))
			hash = hash_stable(hash, text.p + at, end - at);
		at = end;
	}
	return hash_stable(hash, "", 1);
}

static uint64_t hash_arguments(uint64_t hash, const char *const *arguments, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct str text = str_c(arguments[i] ? arguments[i] : ""), flag = text;
		const char *equals = text.n ? memchr(text.p, '=', text.n) : NULL;

		STEPS(1);
		STEPS_BULK(text.n);
		while (flag.n > 0 && flag.p[0] == '-') {
			flag.p++;
			flag.n--;
		}
		if (equals)
			flag.n = (size_t)(equals - flag.p);
		if ((flag.p > text.p || equals) && is_volatile_flag(flag)) {
			/* "--seed 3": the value is the next argument, unless that is a flag. */
			if (!equals && i + 1 < n && arguments[i + 1] && arguments[i + 1][0] != '-')
				i++;
			continue;
		}
		hash = hash_tokens(hash, text);
	}
	return hash_stable(hash, "", 1);
}

static bool has_tag(struct str name)
{
	for (size_t i = name.n; i > 0 && name.p[i - 1] != '/'; i--)
		if (name.p[i - 1] == ':')
			return true;
	return false;
}

static void drop_prefix(struct str *name, const char *prefix)
{
	size_t n = strlen(prefix);

	if (name->n > n && !memcmp(name->p, prefix, n))
		*name = (struct str){name->p + n, name->n - n};
}

/* Hashes repository and tag; a digest counts only without a tag. A runtime writes "docker.io/library/python:latest" for
 * the pod's "python" (github.com/distribution/reference, normalize.go), and metrics contain what the runtime writes. */
static uint64_t hash_image(uint64_t hash, const char *image)
{
	struct str text = str_c(image ? image : ""), name = text;
	const char *digest = text.n ? memchr(text.p, '@', text.n) : NULL;

	if (digest)
		name.n = (size_t)(digest - text.p);
	if (digest && !has_tag(name))
		name = text;
	drop_prefix(&name, "index.docker.io/");
	drop_prefix(&name, "docker.io/");
	drop_prefix(&name, "library/");
	hash = hash_stable(hash, name.p, name.n);
	if (name.n && !digest && !has_tag(name))
		hash = hash_stable(hash, ":latest", strlen(":latest"));
	return hash_stable(hash, "", 1);
}

uint64_t identity_variant_base(const char *image, const char *const *command, size_t n_command, const char *const *args,
			       size_t n_args)
{
	uint64_t hash = hash_arguments(hash_image(HASH_STABLE_INIT, image), command, n_command);

	return hash_arguments(hash, args, n_args);
}

void identity_variant_of(uint64_t base, int64_t world_size, char ret[11])
{
	char world[24];
	int n = snprintf(world, sizeof(world), "%lld", (long long)world_size);

	snprintf(ret, 11, "%010llx", (unsigned long long)(identity_mix(hash_stable(base, world, (size_t)n)) >> 24));
}

void identity_variant(const char *image, const char *const *command, size_t n_command, const char *const *args,
		      size_t n_args, int64_t world_size, char ret[11])
{
	identity_variant_of(identity_variant_base(image, command, n_command, args, n_args), world_size, ret);
}
