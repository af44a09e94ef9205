# SPDX-License-Identifier: Apache-2.0
option(MEMTAMER_HARDEN "Hardening flags of the release build" OFF)
add_library(memtamer_hardening INTERFACE)
if(MEMTAMER_HARDEN)
  # The same sources make the same programs, whatever folder they are in.
  target_compile_options(memtamer_hardening INTERFACE "-ffile-prefix-map=${CMAKE_SOURCE_DIR}=.")
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)
  target_compile_options(memtamer_hardening INTERFACE
    -O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fstack-clash-protection -fcf-protection)
  target_link_options(memtamer_hardening INTERFACE -pie -Wl,-z,relro,-z,now,-z,noexecstack)
endif()
