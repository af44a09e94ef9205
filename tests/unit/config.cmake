memtamer_unit(config USES generate)

# Files made of tables: the source tree must hold what memtamer-docs would write.
set(rendered "${CMAKE_CURRENT_BINARY_DIR}/rendered-docs")
file(MAKE_DIRECTORY "${rendered}/docs" "${rendered}/manifests" "${rendered}/charts/memtamer/templates/crds")
add_test(NAME docs-render COMMAND memtamer-docs "${rendered}")
add_test(NAME docs-help COMMAND memtamer-docs --help)
set_tests_properties(docs-help PROPERTIES PASS_REGULAR_EXPRESSION "^Usage: memtamer-docs FOLDER")
set_tests_properties(docs-render PROPERTIES FIXTURES_SETUP rendered_docs)
set(crds charts/memtamer/templates/crds)
foreach(page docs/CONFIGURATION.md docs/CHECKS.md docs/LABELS.md docs/OBJECTS.md manifests/crds.yaml
    ${crds}/memoryprofiles.yaml ${crds}/memoryhistories.yaml ${crds}/nodeshapes.yaml)
  get_filename_component(file ${page} NAME)
  add_test(NAME docs-${file} COMMAND ${CMAKE_COMMAND} -E compare_files "${rendered}/${page}" "${CMAKE_SOURCE_DIR}/${page}")
  set_tests_properties(docs-${file} PROPERTIES FIXTURES_REQUIRED rendered_docs)
endforeach()

# Labels and annotations: each key stands once in the code, and docs/LABELS.md has them all.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
  add_test(NAME docs-label-keys
    COMMAND Python3::Interpreter -B "${CMAKE_CURRENT_SOURCE_DIR}/label_keys.py" "${CMAKE_SOURCE_DIR}")
  # Tables of documents: one sentence a cell.
  set(cells Python3::Interpreter -B "${CMAKE_CURRENT_SOURCE_DIR}/table_cells.py")
  add_test(NAME docs-table-cells COMMAND ${cells} "${CMAKE_SOURCE_DIR}")
  add_test(NAME docs-table-cells-selftest COMMAND ${cells} --selftest)
endif()
