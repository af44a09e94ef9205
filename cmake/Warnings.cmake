# SPDX-License-Identifier: Apache-2.0
# One INTERFACE target that every target of ours links: the warnings are the same everywhere.
add_library(memtamer_warnings INTERFACE)
target_compile_options(memtamer_warnings INTERFACE
  -Wall -Wextra -Wconversion -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wformat=2 -Wundef
  -Wcast-qual -Wwrite-strings -Wimplicit-fallthrough
  # messages are cut to their buffers by design
  $<$<C_COMPILER_ID:GNU>:-Wno-format-truncation>)
target_compile_definitions(memtamer_warnings INTERFACE _GNU_SOURCE)
