/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* probe: the answer to /probe. Fail open is silent: a webhook that the API server cannot reach changes nothing, and
 * nobody sees it. So a ConfigMap is dry-run created every minute, and the answer to its review carries our name in the
 * annotation memtamer.io/probed-by. It says nothing of profiles; it works before there is a snapshot. Any thread. */
#include "serve/admission.h"

/** @param instance  our name: of the pod, or of the host.
 *  @return 0; -EINVAL: the review cannot be read far enough to be answered; -ENOMEM. */
int probe_answer(struct admission_scratch *scratch, const char *instance, const char *body, size_t n,
		 struct strbuf *ret_answer, struct err *err) ATTR_NODISCARD;
