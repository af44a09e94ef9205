/* SPDX-License-Identifier: Apache-2.0 */
/* The small writes of the file store beside commits: a person's word in one profile, and what a cycle did. */
#include "store/store_internal.h"

#include "base/io.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>

/* ---- spec.modeCap ---- */

static int take_profile(void *context, struct profile *take_profile, struct err *err)
{
	struct profile **ret = context;

	(void)err;
	profile_free(*ret);
	*ret = take_profile;
	return 0;
}

static int write_profile(struct store *base, const struct profile *old, const struct store_cap_words *words,
			 struct err *err)
{
	struct profile_spec spec = *old->spec;
	struct profile changed = *old;
	const struct profile *profiles[] = {&changed};
	const struct store_change change = {.profiles = profiles, .n_profiles = 1};

	snprintf(spec.mode_cap, sizeof(spec.mode_cap), "%s", words->cap);
	snprintf(spec.mode_cap_before_undo, sizeof(spec.mode_cap_before_undo), "%s", words->before_undo);
	changed.spec = &spec;
	return store_file_rewrite((struct file_store *)base, &change, NULL, 0, NULL, err);
}

int store_file_change_mode_cap(struct store *base, const struct store_cap *want, struct err *err)
{
	const struct store_name wanted = {want->namespace_name, want->name};
	struct profile made = {.namespace_name = want->namespace_name,
			       .name = want->name,
			       .workload = "",
			       .role = "",
			       .container = "",
			       .spec = &profile_spec_none};
	CLEANUP(profile_freep) struct profile *found = NULL;
	const struct store_visitor visitor = {.context = &found, .profile = take_profile};
	const struct profile *old;
	struct store_cap_words words;
	int r = store_visit_named(base, &visitor, &wanted, 1, err);

	if (r)
		return r;
	if (!found && want->act != CAP_LOWER)
		return err_set(err, -ENOENT, "%s has no MemoryProfile %s/%s", base->place, want->namespace_name,
			       want->name);
	old = found ? found : &made;
	if (old->spec->invalid)
		return err_set(err, -EINVAL,
			       "the spec of MemoryProfile %s/%s is invalid and has to be corrected first: %s",
			       want->namespace_name, want->name, old->spec->invalid);
	words = (struct store_cap_words){old->spec->mode_cap, old->spec->mode_cap_before_undo};
	return store_cap_change(want, &words) ? write_profile(base, old, &words, err) : 1;
}

/* ---- the last cycle ---- */

const char *store_file_status_place(const struct store *base, char *buf, size_t size)
{
	snprintf(buf, size, "%s.status", base->place);
	return buf;
}

int store_file_status_load(struct store *base, struct strbuf *ret_text, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(LIMIT_STATUS_BYTES);
	char path[PATH_MAX];
	int r = io_read_file(store_file_status_place(base, path, sizeof(path)), &text, err);

	if (r)
		return r == -ENOENT ? 1 : r;
	return strbuf_add(ret_text, strbuf_text(&text), text.len) ? err_set(err, ret_text->status, "out of memory") : 0;
}

int store_file_status_save(struct store *base, const char *text, size_t n, struct err *err)
{
	char path[PATH_MAX];

	return store_write_text(store_file_status_place(base, path, sizeof(path)), "", text, n, err);
}
