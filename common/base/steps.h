/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* steps: counts the work of code in test builds, so that tests can bound it without a clock.
 * Each loop of the admission path whose length depends on input calls STEPS. One step is one iteration, or one byte
 * that our own loop reads. memcpy, memset, memcmp and vector code count one step for 16 bytes (STEPS_BULK). A step
 * takes one to four nanoseconds. Without MEMTAMER_STEPS (release builds) no code is generated and the argument is not
 * evaluated. Each thread has its own counter. */
#include <stdint.h>

#ifdef MEMTAMER_STEPS
/** Steps of this thread so far. Tests set it to 0 or compute differences. */
extern _Thread_local uint64_t steps_counted;
#define STEPS(n) ((void)(steps_counted += (uint64_t)(n)))
#else
#define STEPS(n) ((void)sizeof(n))
#endif
#define STEPS_BULK(bytes) STEPS((bytes) / 16 + 1)
