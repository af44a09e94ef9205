# SPDX-License-Identifier: Apache-2.0
# Tests that start threads: tests/run runs these under ThreadSanitizer.
foreach(name snapshot http_server http_server_limits http_client net reload)
  if(TEST unit-${name})
    set_property(TEST unit-${name} APPEND PROPERTY LABELS threads)
  endif()
endforeach()
