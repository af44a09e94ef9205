# SPDX-License-Identifier: Apache-2.0
add_test(NAME runner-selftest COMMAND "${CMAKE_SOURCE_DIR}/tests/lib/selftest.sh")
set_tests_properties(runner-selftest PROPERTIES TIMEOUT 60 LABELS unit)
