# SPDX-License-Identifier: Apache-2.0
# memtamer_alloc(NAME layers...): an allocation-failure test, once its layers are there.
# ThreadSanitizer's allocator cannot be wrapped, and these tests have one thread.
function(memtamer_alloc name)
  if(MEMTAMER_SANITIZE MATCHES "thread")
    return()
  endif()
  foreach(layer IN LISTS ARGN)
    if(NOT TARGET ${layer})
      return()
    endif()
  endforeach()
  memtamer_unit(${name} SOURCES ../support/alloc_fail.c USES ${ARGN})
endfunction()

memtamer_alloc(alloc_read k8s yaml)
memtamer_alloc(alloc_model model)
memtamer_alloc(alloc_config config)
memtamer_alloc(alloc_decide policy)
memtamer_alloc(alloc_store store)
