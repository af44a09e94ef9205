# SPDX-License-Identifier: Apache-2.0
if(TARGET webhook_cluster)
  memtamer_unit(cluster_owners USES webhook_cluster)
  memtamer_unit(cluster_owner_object USES webhook_cluster)
  foreach(test cluster cluster_shared cluster_vpas)
    memtamer_unit(${test} SOURCES fake_api.c USES webhook_cluster Threads::Threads)
    set_property(TEST unit-${test} APPEND PROPERTY LABELS threads)
  endforeach()
endif()
