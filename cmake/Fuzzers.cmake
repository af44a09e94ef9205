# SPDX-License-Identifier: Apache-2.0
# memtamer_fuzz(NAME SOURCES more files... USES layers...): tests/fuzz/fuzz_<name>.c
#   replay_<name>  in every build: runs the corpus tests/fuzz/corpus/<name>/, and small changes of it, under ctest
#   fuzz_<name>    with MEMTAMER_FUZZ=ON (clang): the libFuzzer program
if(MEMTAMER_FUZZ)
  if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "MEMTAMER_FUZZ needs clang: cmake --preset fuzz")
  endif()
  # The layers themselves are instrumented too; else the fuzzer sees only the harness.
  target_compile_options(memtamer_sanitizers INTERFACE -fsanitize=fuzzer-no-link)
endif()

function(memtamer_fuzz name)
  cmake_parse_arguments(F "" "" "SOURCES;USES" ${ARGN})
  set(corpus "${CMAKE_CURRENT_SOURCE_DIR}/corpus/${name}")
  add_executable(replay_${name} fuzz_${name}.c replay.c ${F_SOURCES})
  target_link_libraries(replay_${name} PRIVATE ${F_USES} memtamer_warnings memtamer_sanitizers)
  target_include_directories(replay_${name} PRIVATE "${CMAKE_SOURCE_DIR}/tests")
  add_test(NAME fuzz-${name} COMMAND replay_${name} "${corpus}")
  set_tests_properties(fuzz-${name} PROPERTIES TIMEOUT 300 LABELS fuzz)
  if(MEMTAMER_FUZZ)
    add_executable(fuzz_${name} fuzz_${name}.c ${F_SOURCES})
    target_compile_definitions(fuzz_${name} PRIVATE MEMTAMER_FUZZ)
    target_link_libraries(fuzz_${name} PRIVATE ${F_USES} memtamer_warnings memtamer_sanitizers)
    target_include_directories(fuzz_${name} PRIVATE "${CMAKE_SOURCE_DIR}/tests")
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  endif()
endfunction()
