/* SPDX-License-Identifier: Apache-2.0 */
/* Any file is read or refused. What decodes is written in a form that decodes to the same text again, and within its
 * size; and the fast way of reading for admission finds the profiles that the slow one finds. */
#include "base/limits.h"
#include "base/str.h"
#include "store/store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
	struct snapshot_builder *builder;
};

static void require(bool is_true, const char *what)
{
	if (is_true)
		return;
	fprintf(stderr, "%s\n", what);
	abort();
}

static struct json_object *parse(const struct strbuf *text)
{
	struct json_object *object = NULL;
	struct err err = ERR_INIT;

	require(json_parse(strbuf_text(text), text->len, 32, &object, &err) == 0, "our own JSON does not parse");
	return object;
}

static int on_profile(void *context, struct profile *take_profile, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf first = STRBUF_INIT(MIB), second = STRBUF_INIT(MIB);
	CLEANUP(json_putp) struct json_object *object = NULL;
	struct profile *again = NULL;
	struct seen *seen = context;

	require(profile_encode(take_profile, &first) == 0, "profile does not encode");
	object = parse(&first);
	require(profile_decode(object, &again, err) == 0, "our own profile does not decode");
	require(profile_encode(again, &second) == 0, "profile does not encode again");
	require(streq(strbuf_text(&first), strbuf_text(&second)), "profile is no fixed point");
	profile_free(again);
	return snapshot_builder_put(seen->builder, take_profile);
}

static int on_history(void *context, struct history *take_history, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf first = STRBUF_INIT(MIB), second = STRBUF_INIT(MIB);
	CLEANUP(history_freep) struct history *history = take_history, *again = NULL;
	CLEANUP(arena_release) struct arena scratch = ARENA_INIT(LIMIT_OBJECT_DOC_BYTES);

	(void)context;
	if (history_encode(history, &first) == -E2BIG)
		return 0; /* a sketch or names alone are longer than a history may be */
	require(first.len <= LIMIT_STORE_ITEM_BYTES, "history is too long for a store");
	require(history_read(first.text, first.len, &scratch, &again, err) == 0, "our own history does not decode");
	require(history_encode(again, &second) == 0, "history does not encode again");
	require(streq(strbuf_text(&first), strbuf_text(&second)), "history is no fixed point");
	return 0;
}

static int on_shape(void *context, const struct node_shape *shape, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf first = STRBUF_INIT(MIB), second = STRBUF_INIT(MIB);
	CLEANUP(arena_release) struct arena scratch = ARENA_INIT(LIMIT_OBJECT_DOC_BYTES);
	struct node_shape again;

	(void)context;
	require(node_shape_encode(shape, &first) == 0, "shape does not encode");
	require(node_shape_read(first.text, first.len, &scratch, &again, err) == 0, "our own shape does not decode");
	require(node_shape_encode(&again, &second) == 0, "shape does not encode again");
	require(streq(strbuf_text(&first), strbuf_text(&second)), "shape is no fixed point");
	return 0;
}

static void check(struct store *store)
{
	struct seen seen = {.builder = snapshot_builder_new(NULL)};
	struct store_visitor visitor = {
		.context = &seen, .profile = on_profile, .history = on_history, .shape = on_shape};
	struct snapshot_builder *builder = snapshot_builder_new(NULL);
	struct snapshot *slow, *fast;
	struct err err = ERR_INIT;
	int slow_r, fast_r;

	require(seen.builder && builder, "out of memory");
	slow_r = store_visit(store, &visitor, &err);
	require(slow_r == 0 || err.msg[0], "refused without a word");
	fast_r = store_read_profiles(store, builder, &err);
	require(slow_r != 0 || fast_r == 0, "read, but not for admission");
	slow = snapshot_builder_finish(seen.builder, 0);
	fast = snapshot_builder_finish(builder, 0);
	require(slow && fast, "out of memory");
	require(slow_r != 0 || snapshot_profile_count(slow) == snapshot_profile_count(fast),
		"another number of profiles");
	snapshot_unref(slow);
	snapshot_unref(fast);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("store", MFD_CLOEXEC);
	struct store *store = NULL;
	struct err err = ERR_INIT;
	char path[64];

	require(fd >= 0 && (size == 0 || write(fd, data, size) == (ssize_t)size), "no file");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	require(store_open_file(path, false, &store, &err) == 0, "cannot open");
	check(store);
	store_close(store);
	close(fd);
	return 0;
}
