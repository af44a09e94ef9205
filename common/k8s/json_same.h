/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* json_same: compares the values of two JSON texts without building trees. Private to k8s/. */
#include "base/attr.h"
#include "base/str.h"

/** Whether both texts have the same value. The order of members and white space do not matter; numbers and strings are
 * compared as written (an API server writes both texts alike). Values are compared by 64-bit hashes with a seed for
 * each process. Malformed texts are equal only if all bytes are. Cost: linear in both texts. */
bool json_same(struct str a, struct str b);
