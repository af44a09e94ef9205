/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* kube_split: a list of the API server as a stream: its items one by one, without ever holding more than one.
 * Feed bytes as they come. Each object in the top level's "items" array goes to the callback as text; what is left,
 * with an empty array in their place, is the envelope (kind, metadata). Item texts are not checked beyond their
 * brackets: whoever takes one parses it. Memory: one item and the envelope. */
#include "base/err.h"
#include "base/strbuf.h"

/** One item. Too long or with too many tokens: `text` is NULL. Non-zero stops. */
typedef int kube_item_fn(void *context, const char *text, size_t n);

struct kube_split {
	struct strbuf item, envelope;
	struct strbuf key; /* the last string on the top level */
	size_t depth, tokens;
	bool is_in_string, is_escaped, is_in_items, is_value, has_ended;
	kube_item_fn *take_item;
	void *context;
};

void kube_split_init(struct kube_split *self, kube_item_fn *take_item, void *context);
void kube_split_release(struct kube_split *self);
/** For the next list. */
void kube_split_reset(struct kube_split *self);
/** @return 0; what the callback returned; -EINVAL (not a JSON object, text behind it, nested too deep); -E2BIG
 *  (envelope); -ENOMEM. */
int kube_split_feed(struct kube_split *self, const char *bytes, size_t n) ATTR_NODISCARD;
/** Was it a whole object? Then `envelope` is. */
bool kube_split_is_whole(const struct kube_split *self);
