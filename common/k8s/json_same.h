/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* json_same: do two JSON texts have the same value? Without building either. Private to k8s/. */
#include "base/attr.h"
#include "base/str.h"

/** The order of members and white space do not count; numbers and strings do as they are written (an API server writes
 *  both texts alike, so that an escape means no change). Values are compared by 64-bit hashes that are seeded once a
 *  process. Text that is no JSON is the same only byte by byte. */
bool json_same(struct str a, struct str b);
