/* SPDX-License-Identifier: Apache-2.0 */
#include "base/steps.h"

#ifdef MEMTAMER_STEPS
_Thread_local uint64_t steps_counted;
#endif
