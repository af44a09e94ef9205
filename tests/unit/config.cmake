memtamer_unit(config USES config)

# Files made of tables: the source tree must hold what memtamer-docs would write.
set(rendered "${CMAKE_CURRENT_BINARY_DIR}/rendered-docs")
file(MAKE_DIRECTORY "${rendered}/docs" "${rendered}/manifests" "${rendered}/charts/memtamer/templates/crds")
add_test(NAME docs-render COMMAND memtamer-docs "${rendered}")
set_tests_properties(docs-render PROPERTIES FIXTURES_SETUP rendered_docs)
set(crds charts/memtamer/templates/crds)
foreach(page docs/CONFIGURATION.md docs/CHECKS.md docs/OBJECTS.md manifests/crds.yaml
    ${crds}/memoryprofiles.yaml ${crds}/memoryhistories.yaml ${crds}/nodeshapes.yaml)
  get_filename_component(file ${page} NAME)
  add_test(NAME docs-${file} COMMAND ${CMAKE_COMMAND} -E compare_files "${rendered}/${page}" "${CMAKE_SOURCE_DIR}/${page}")
  set_tests_properties(docs-${file} PROPERTIES FIXTURES_REQUIRED rendered_docs)
endforeach()
