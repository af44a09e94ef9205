memtamer_unit(config USES config)

# Pages made of tables: docs/ must hold what memtamer-docs would write.
set(rendered "${CMAKE_CURRENT_BINARY_DIR}/rendered-docs")
file(MAKE_DIRECTORY "${rendered}")
add_test(NAME docs-render COMMAND memtamer-docs "${rendered}")
set_tests_properties(docs-render PROPERTIES FIXTURES_SETUP rendered_docs)
foreach(page CONFIGURATION.md CHECKS.md)
  add_test(NAME docs-${page} COMMAND ${CMAKE_COMMAND} -E compare_files "${rendered}/${page}" "${CMAKE_SOURCE_DIR}/docs/${page}")
  set_tests_properties(docs-${page} PROPERTIES FIXTURES_REQUIRED rendered_docs)
endforeach()
