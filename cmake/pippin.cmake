# How every folder of the project is built: one library, one test program.

add_library(pippin_options INTERFACE)
target_include_directories(pippin_options INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}>)
target_compile_features(pippin_options INTERFACE cxx_std_20)
# Our own warnings are nothing to those who link the installed library.
set(warnings -Wall -Wextra -Wpedantic -Wshadow -Wno-missing-field-initializers)
if(PIPPIN_WERROR)
  list(APPEND warnings -Werror)
endif()
target_compile_options(pippin_options INTERFACE "$<BUILD_INTERFACE:${warnings}>")
if(ENABLE_FUZZ)
  # The libraries themselves report their coverage; fuzz/CMakeLists.txt links the fuzzer.
  target_compile_options(pippin_options INTERFACE -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all)
  target_link_options(pippin_options INTERFACE -fsanitize=address,undefined)
endif()

# pippin_library(NAME SOURCES a.cpp b.cpp DEPS pippin_base PRIVATE_DEPS protobuf::libprotobuf-lite)
# DEPS may appear in the folder's headers; PRIVATE_DEPS may not.
function(pippin_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;PRIVATE_DEPS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC pippin_options ${ARG_DEPS} PRIVATE ${ARG_PRIVATE_DEPS})
endfunction()

# pippin_test(NAME SOURCES a_test.cpp DEPS pippin_io [LABELS fast])
# One gtest program per folder. Tests find the shared data through PIPPIN_SHARED and skip without it.
function(pippin_test name)
  if(NOT PIPPIN_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;LABELS" ${ARGN})
  if(NOT ARG_LABELS)
    set(ARG_LABELS fast)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} GTest::gtest GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE PIPPIN_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT 600)
endfunction()
