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
if(PIPPIN_PRECOMPILED_HEADERS AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC's false alarms about std::string (its bug 105329), which come out of precompiled headers as if they were ours.
  list(APPEND warnings -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread)
endif()
target_compile_options(pippin_options INTERFACE "$<BUILD_INTERFACE:${warnings}>")
if(ENABLE_FUZZ)
  # The libraries themselves report their coverage; fuzz/CMakeLists.txt links the fuzzer.
  target_compile_options(pippin_options INTERFACE -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all)
  target_link_options(pippin_options INTERFACE -fsanitize=address,undefined)
endif()

# Tests are compiled oftener than they run for long.
function(pippin_test_options name)
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1> $<$<CONFIG:Debug>:-O0>)
endfunction()

# What most files begin with, read once: a third of the compile time. Two sets, since tests are compiled for programs and
# libraries for both. Files for single instruction sets stay without (cmake/isa.cmake), and so do the presets `debug` and
# `tsan`, which shows that no file leans on it.
if(PIPPIN_PRECOMPILED_HEADERS)
  set(common_headers <algorithm> <array> <cmath> <cstdint> <cstring> <filesystem> <functional> <map> <memory> <optional>
    <set> <span> <string> <string_view> <unordered_map> <utility> <variant> <vector> <fmt/format.h> <fmt/ranges.h>)
  file(WRITE ${PROJECT_BINARY_DIR}/precompiled/main.cpp "int main() {}\n")
  add_library(pippin_precompiled OBJECT ${PROJECT_BINARY_DIR}/precompiled/main.cpp)
  target_link_libraries(pippin_precompiled PRIVATE pippin_options fmt::fmt)
  target_precompile_headers(pippin_precompiled PRIVATE ${common_headers})
  if(PIPPIN_TESTS)
    add_executable(pippin_precompiled_tests EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/precompiled/main.cpp)
    target_link_libraries(pippin_precompiled_tests PRIVATE pippin_options fmt::fmt GTest::gtest)
    target_precompile_headers(pippin_precompiled_tests PRIVATE ${common_headers} <gtest/gtest.h>)
    pippin_test_options(pippin_precompiled_tests)
  endif()
endif()

# pippin_library(NAME SOURCES a.cpp b.cpp DEPS pippin_base PRIVATE_DEPS protobuf::libprotobuf-lite)
# DEPS may appear in the folder's headers; PRIVATE_DEPS may not. PRECOMPILE names further headers that most of the
# folder's files include. UNITY folders of many small files are compiled several files at a time in the users' build.
function(pippin_library name)
  cmake_parse_arguments(ARG "UNITY" "" "SOURCES;DEPS;PRIVATE_DEPS;PRECOMPILE" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC pippin_options ${ARG_DEPS} PRIVATE ${ARG_PRIVATE_DEPS})
  if(PIPPIN_PRECOMPILED_HEADERS AND ARG_PRECOMPILE)
    target_precompile_headers(${name} PRIVATE ${common_headers} ${ARG_PRECOMPILE})
  elseif(PIPPIN_PRECOMPILED_HEADERS)
    target_precompile_headers(${name} REUSE_FROM pippin_precompiled)
  endif()
  if(PIPPIN_PRECOMPILED_HEADERS AND ARG_UNITY)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)
  endif()
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
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} fmt::fmt GTest::gtest GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE PIPPIN_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  pippin_test_options(${name})
  if(PIPPIN_PRECOMPILED_HEADERS)
    target_precompile_headers(${name} REUSE_FROM pippin_precompiled_tests)
  endif()
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT 600)
endfunction()
