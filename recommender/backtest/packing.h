/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* packing: how often a node that is packed by requests has more memory in use than it has. Monte Carlo, with a fixed
 * seed: a node is filled with scored runs, each drawn with a probability in proportion to its duration, until one does
 * not fit by its request or PACKING_PODS run there. Each run then uses what it used at a random moment of its own.
 * Assumptions: all nodes are alike, and the runs on a node are independent of each other, in particular not the ranks
 * of one gang. All rules see the same sequence of random numbers. */
#include "backtest/trace.h"

enum { PACKING_PODS = 110 /* the kubelet's default */ };

struct packing;

/** Prepares the trace's use for drawing. Memory: 512 B for each run. The trace is borrowed. NULL: out of memory. */
struct packing *packing_new(const struct trace *trace, int64_t node_bytes) ATTR_NODISCARD;
/** NULL is allowed. */
void packing_free(struct packing *self);
/** The share of simulated nodes whose use exceeds their memory. `requests`: of each run of the trace, 0: it is not
 * scored. A run whose request exceeds the node is left out. Cost: constant number of draws, each logarithmic in the
 * runs.
 * @return 0; -ENOMEM. */
int packing_overrun_share(const struct packing *self, const int64_t *requests, double *ret) ATTR_NODISCARD;
