# SPDX-License-Identifier: Apache-2.0
memtamer_unit(postmortem USES recommender_postmortem)
memtamer_unit(pod_series SOURCES fake_api.c USES recommender_postmortem Threads::Threads)
set_property(TEST unit-pod_series APPEND PROPERTY LABELS threads)
