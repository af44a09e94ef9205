# SPDX-License-Identifier: Apache-2.0
# memtamer_layer(NAME path-prefix SOURCES ... USES other layers and libraries)
# A layer is one static library. Its headers are included as "<directory>/<file>.h"; a layer sees the headers of
# the layers it USES and no others, because each layer exports only a folder of links to its own directory.
function(memtamer_layer name)
  cmake_parse_arguments(L "" "" "SOURCES;USES" ${ARGN})
  add_library(${name} STATIC ${L_SOURCES})
  set(view "${CMAKE_BINARY_DIR}/include/${name}")
  file(MAKE_DIRECTORY "${view}")
  get_filename_component(dir "${CMAKE_CURRENT_SOURCE_DIR}" NAME)
  file(CREATE_LINK "${CMAKE_CURRENT_SOURCE_DIR}" "${view}/${dir}" SYMBOLIC)
  target_include_directories(${name} PUBLIC "${view}")
  target_link_libraries(${name} PUBLIC ${L_USES} PRIVATE memtamer_warnings memtamer_sanitizers memtamer_hardening)
endfunction()

# memtamer_program(NAME SOURCES ... USES ...): an executable of ours.
function(memtamer_program name)
  cmake_parse_arguments(P "" "" "SOURCES;USES" ${ARGN})
  add_executable(${name} ${P_SOURCES})
  target_link_libraries(${name} PRIVATE ${P_USES} memtamer_warnings memtamer_sanitizers memtamer_hardening)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
  if(name MATCHES "^(kubectl-)?memtamer(-webhook|-recommender)?$")
    install(TARGETS ${name} RUNTIME DESTINATION bin)
  endif()
endfunction()
