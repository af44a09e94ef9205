# SPDX-License-Identifier: Apache-2.0
set(MEMTAMER_SANITIZE "" CACHE STRING "Sanitizers, as -fsanitize= takes them")
add_library(memtamer_sanitizers INTERFACE)
if(MEMTAMER_SANITIZE)
  target_compile_options(memtamer_sanitizers INTERFACE
    -fsanitize=${MEMTAMER_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all -g -O1)
  target_link_options(memtamer_sanitizers INTERFACE -fsanitize=${MEMTAMER_SANITIZE})
endif()
