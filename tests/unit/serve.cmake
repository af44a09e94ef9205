# SPDX-License-Identifier: Apache-2.0
if(TARGET webhook_serve)
  memtamer_unit(metrics USES webhook_serve Threads::Threads)
  memtamer_unit(admission USES webhook_serve Threads::Threads)
  memtamer_unit(certificates USES webhook_serve)
  foreach(name metrics admission certificates)
    set_property(TEST unit-${name} APPEND PROPERTY LABELS threads)
  endforeach()
endif()
