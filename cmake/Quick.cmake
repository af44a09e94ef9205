# SPDX-License-Identifier: Apache-2.0
# Quicker builds where the machine has what makes them quick.
# With ccache installed a file is compiled once for all clones of this machine: their folder does not count.
find_program(MEMTAMER_CCACHE ccache)
mark_as_advanced(MEMTAMER_CCACHE)
if(MEMTAMER_CCACHE AND NOT CMAKE_C_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}" CCACHE_NOHASHDIR=1
      "${MEMTAMER_CCACHE}")
endif()
# lld links a debug build in a fifth of the time. A release is linked by the distribution's own linker.
find_program(MEMTAMER_LLD ld.lld)
mark_as_advanced(MEMTAMER_LLD)
if(MEMTAMER_LLD AND CMAKE_BUILD_TYPE STREQUAL "Debug")
  add_link_options(-fuse-ld=lld)
endif()
