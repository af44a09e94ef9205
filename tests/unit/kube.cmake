# SPDX-License-Identifier: Apache-2.0
memtamer_unit(base64 USES kube)
foreach(name kube_client kubectl kube_reflector kube_lease kube_events)
  memtamer_unit(${name} SOURCES fake_api.c USES kube Threads::Threads)
  set_property(TEST unit-${name} APPEND PROPERTY LABELS threads)
endforeach()
memtamer_unit(kube_lanes SOURCES fake_api.c USES kube net_pki Threads::Threads)
set_property(TEST unit-kube_lanes APPEND PROPERTY LABELS threads)
memtamer_unit(kube_tls USES kube net_http_server net_pki Threads::Threads)
if(NOT MEMTAMER_SANITIZE MATCHES "thread") # ThreadSanitizer's allocator cannot be wrapped
  memtamer_unit(alloc_reflector SOURCES ../support/alloc_fail.c fake_api.c USES kube Threads::Threads)
endif()
