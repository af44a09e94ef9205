/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* review_run: run `memtamer-webhook review` inside the test, in a folder of its own. */
#include "base/limits.h"
#include "base/strbuf.h"

#define MANIFESTS TEST_SOURCE_DIR "/support/manifests/"
#define JOB_HEAD                                                                                                       \
	"apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec:\n  template:\n    spec:\n      restartPolicy: "   \
	"Never\n"                                                                                                      \
	"      containers:\n      - name: c\n        image: i\n        resources:\n"
/* Nothing to say about this one. */
#define JOB_CLEAN                                                                                                      \
	JOB_HEAD "          requests: {cpu: 1, memory: 1Gi, ephemeral-storage: 1Gi}\n"                                 \
		 "          limits: {memory: 2Gi, nvidia.com/gpu: 1}\n"
/* One warning: a limit without history cannot be made up. */
#define JOB_WARN                                                                                                       \
	JOB_HEAD "          requests: {cpu: 1, memory: 1Gi, ephemeral-storage: 1Gi}\n"                                 \
		 "          limits: {nvidia.com/gpu: 1}\n"
#define JOB_PATCH JOB_HEAD "          limits: {nvidia.com/gpu: 1}\n"

struct output {
	int code;
	struct strbuf out, err;
};

void output_release(struct output *o);
/** Run with these words behind `review`, NULL-terminated; standard output and error are caught. Without -m and
 *  --config the mode is raise. */
struct output review(const char *const *words);
#define REVIEW(...) review((const char *const[]){__VA_ARGS__, NULL})
void write_n(const char *name, const char *text, size_t n);
void write_text(const char *name, const char *text);
/** Group set-up: make the folder and enter it; tear-down: leave and remove it. */
int enter_work(void **state);
int leave_work(void **state);
