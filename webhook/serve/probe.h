/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* probe: answers /probe. When the API server cannot reach the webhook it admits pods unchanged, and nobody notices. So
 * the recommender dry-runs the creation of a ConfigMap at regular intervals; the answer to this review carries our name
 * in the annotation memtamer.io/probed-by. It does not need a snapshot and works before there is one. Cost: linear in
 * the body. Any thread. */
#include "serve/admission.h"

/** @param instance  our name: of the pod, or of the host.
 *  @param ret_answer  empty; receives the answer.
 *  @return 0; -EINVAL the uid of the review cannot be read; -ENOMEM; -E2BIG. */
int probe_answer(struct admission_scratch *scratch, const char *instance, const char *body, size_t n,
		 struct strbuf *ret_answer, struct err *err) ATTR_NODISCARD;
