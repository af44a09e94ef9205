# SPDX-License-Identifier: Apache-2.0
foreach(test store_file store_file_foreign store_file_crash)
  memtamer_unit(${test} USES store)
endforeach()
foreach(test store_small store_kube_read store_kube_write store_kube_state)
  memtamer_unit(${test} SOURCES fake_api.c fake_objects.c USES store kube Threads::Threads)
  set_property(TEST unit-${test} APPEND PROPERTY LABELS threads)
endforeach()
if(NOT MEMTAMER_SANITIZE MATCHES "thread") # ThreadSanitizer's allocator cannot be wrapped
  memtamer_unit(alloc_store_kube SOURCES ../support/alloc_fail.c fake_api.c fake_objects.c
                USES store kube Threads::Threads)
endif()
