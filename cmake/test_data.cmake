# Unpacks the archives of tests/data into the build folder before tests are linked. A build without tests unpacks
# nothing.
if(NOT PIPPIN_TESTS)
  return()
endif()
set(PIPPIN_TEST_DATA ${PROJECT_BINARY_DIR}/test-data)
file(GLOB archives CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/data/*.tar.xz)
add_custom_command(OUTPUT ${PIPPIN_TEST_DATA}/.unpacked
  COMMAND ${CMAKE_COMMAND} -P ${PROJECT_SOURCE_DIR}/cmake/unpack.cmake ${PIPPIN_TEST_DATA} ${archives}
  DEPENDS ${archives} ${PROJECT_SOURCE_DIR}/cmake/unpack.cmake VERBATIM
  COMMENT "Unpacking the test data")
add_custom_target(test_data ALL DEPENDS ${PIPPIN_TEST_DATA}/.unpacked)
