/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* pulse: one thread declares how long its next step may take; another thread checks whether it took longer. Any
 * thread. */
#include "base/attr.h"
#include "base/timefmt.h"

#include <stdatomic.h>
#include <stdint.h>

struct pulse {
	_Atomic int64_t due_ms; /* time_monotonic_ms() of the deadline; 0: none was set */
};

/** Call it before a step: the next call will come within this time. */
static inline void pulse_promise(struct pulse *self, int64_t within_ms)
{
	atomic_store(&self->due_ms, time_monotonic_ms() + within_ms);
}

/** By how many ms the deadline has passed; 0: it has not. */
static inline int64_t pulse_late_ms(struct pulse *self)
{
	int64_t due_ms = atomic_load(&self->due_ms);

	return due_ms ? MAX(time_monotonic_ms() - due_ms, 0) : 0;
}
