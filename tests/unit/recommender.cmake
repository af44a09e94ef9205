# SPDX-License-Identifier: Apache-2.0
memtamer_unit(prom_stream USES recommender_evidence)
memtamer_unit(evidence USES recommender_evidence)
memtamer_unit(runs SOURCES fake_evidence.c USES recommender_runs)
memtamer_unit(engine SOURCES fake_evidence.c USES recommender_engine)
if(NOT MEMTAMER_SANITIZE MATCHES "thread") # ThreadSanitizer's allocator cannot be wrapped
  memtamer_unit(alloc_recommender SOURCES ../support/alloc_fail.c USES recommender_engine)
endif()
