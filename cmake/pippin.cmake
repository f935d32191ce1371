# Build rules for every folder of the project: one library, one test program.

add_library(pippin_options INTERFACE)
target_include_directories(pippin_options INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}>)
target_compile_features(pippin_options INTERFACE cxx_std_20)
# Our warnings do not apply to users of the installed library.
set(warnings -Wall -Wextra -Wpedantic -Wshadow -Wno-missing-field-initializers)
if(PIPPIN_WERROR)
  list(APPEND warnings -Werror)
endif()
if(PIPPIN_PRECOMPILED_HEADERS AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC's false positives for std::string (GCC bug 105329), which precompiled headers report as our own.
  list(APPEND warnings -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread)
endif()
target_compile_options(pippin_options INTERFACE "$<BUILD_INTERFACE:${warnings}>")
# Instrumented code is for checks, not for speed: files that request more optimization would take minutes to compile.
if(ENABLE_FUZZ OR CMAKE_CXX_FLAGS MATCHES "-fsanitize")
  set(PIPPIN_SANITIZED ON)
else()
  set(PIPPIN_SANITIZED OFF)
endif()
if(PIPPIN_SANITIZED AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC's manual expects false positives of this warning in instrumented code; the other presets enable it.
  target_compile_options(pippin_options INTERFACE $<BUILD_INTERFACE:-Wno-maybe-uninitialized>)
endif()
if(ENABLE_FUZZ)
  # The libraries are instrumented for coverage; fuzz/CMakeLists.txt links the fuzzer.
  target_compile_options(pippin_options INTERFACE -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all)
  target_link_options(pippin_options INTERFACE -fsanitize=address,undefined)
endif()

# pippin_protobuf(NAME FILE.proto): the library NAME of the code that protoc generates, without our warnings. No header
# for other folders includes FILE.pb.h.
function(pippin_protobuf name file)
  cmake_path(GET file STEM stem)
  cmake_path(GET file FILENAME file_name)
  cmake_path(GET file PARENT_PATH folder)
  set(generated ${CMAKE_CURRENT_BINARY_DIR}/${stem}.pb)
  add_custom_command(
    OUTPUT ${generated}.cc ${generated}.h
    COMMAND protobuf::protoc --cpp_out=${CMAKE_CURRENT_BINARY_DIR} -I ${CMAKE_CURRENT_SOURCE_DIR}/${folder} ${file_name}
    DEPENDS ${file} VERBATIM)
  add_library(${name} STATIC ${generated}.cc)
  target_include_directories(${name} SYSTEM PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_BINARY_DIR}>)
  target_link_libraries(${name} PUBLIC protobuf::libprotobuf-lite)
endfunction()

# GNU ld takes two to four times longer than these, which is a tenth of the time of a build.
include(CheckLinkerFlag)
foreach(linker lld gold)
  if(NOT PIPPIN_TEST_LINKER)
    check_linker_flag(CXX -fuse-ld=${linker} PIPPIN_LINKS_WITH_${linker})
    if(PIPPIN_LINKS_WITH_${linker})
      set(PIPPIN_TEST_LINKER -fuse-ld=${linker} CACHE INTERNAL "The linker of tests")
    endif()
  endif()
endforeach()

# Tests are compiled often and run briefly.
function(pippin_test_options name)
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O0> $<$<CONFIG:Debug>:-O0>)
  target_link_options(${name} PRIVATE ${PIPPIN_TEST_LINKER})
endfunction()

# Common headers, parsed once, which saves a third of the compile time. Two sets, because tests are compiled for
# programs and libraries for both. Files for single instruction sets do not use them (cmake/isa.cmake), nor does the
# preset `debug`, which shows that no file depends on them.
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

# pippin_platform_sources(OUT cpus pages) sets OUT to cpus_linux.cpp and pages_linux.cpp, or on Apple's systems to
# cpus_macos.cpp and pages_macos.cpp. System-specific code is only in such files, never in their headers.
function(pippin_platform_sources out)
  set(platform linux)
  if(APPLE)
    set(platform macos)
  endif()
  set(sources ${ARGN})
  list(TRANSFORM sources APPEND _${platform}.cpp)
  set(${out} ${sources} PARENT_SCOPE)
endfunction()

# pippin_library(NAME SOURCES a.cpp b.cpp DEPS pippin_base PRIVATE_DEPS protobuf::libprotobuf-lite)
# DEPS may appear in the folder's headers; PRIVATE_DEPS may not. PRECOMPILE names further headers that most of the
# folder's files include. PER_TOKEN: code that runs for each token or element. All other code runs once per load or
# request; with -O1, it compiles in three quarters of the time, and with sanitizers and without optimization in half,
# except in these libraries, whose tests would then run longer than that saves.
set(PIPPIN_LONG_TESTS pippin_chat pippin_http pippin_model_output pippin_server)
function(pippin_library name)
  cmake_parse_arguments(ARG "PER_TOKEN" "" "SOURCES;DEPS;PRIVATE_DEPS;PRECOMPILE" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC pippin_options ${ARG_DEPS} PRIVATE ${ARG_PRIVATE_DEPS})
  if(NOT ARG_PER_TOKEN)
    target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
  if(PIPPIN_SANITIZED AND (ARG_PER_TOKEN OR name IN_LIST PIPPIN_LONG_TESTS))
    target_compile_options(${name} PRIVATE -O1)
    list(APPEND ARG_PRECOMPILE <vector>)  # precompiled for this library alone, with its flags
  endif()
  pippin_build_fast(${name} ${ARG_PRECOMPILE})
endfunction()

# pippin_build_fast(TARGET [HEADER...]): uses precompiled headers, either the project's or the target's own with further
# ones, and compiles several files at a time.
function(pippin_build_fast name)
  if(NOT PIPPIN_PRECOMPILED_HEADERS)
    return()
  endif()
  if(ARGN)
    target_precompile_headers(${name} PRIVATE ${common_headers} ${ARGN})
  else()
    target_precompile_headers(${name} REUSE_FROM pippin_precompiled)
  endif()
  pippin_unite_later(${name})
endfunction()

# Runs at the end of the folder's CMakeLists.txt, when all sources and their properties are known.
function(pippin_unite_later name)
  cmake_language(EVAL CODE "cmake_language(DEFER CALL pippin_unite ${name})")
endfunction()

# Replaces the sources of a target with files that include up to twenty of them each, with the same flags: small files
# take most of their time for templates that each would compile again. CMake's own UNITY_BUILD uses absolute paths, so
# compiler caches could not share the result between checkouts. Generated sources, those with their own definitions and
# those with SKIP_UNITY_BUILD_INCLUSION are not changed.
function(pippin_unite name)
  get_target_property(sources ${name} SOURCES)
  set(kept "")
  set(flag_sets "")
  foreach(source ${sources})
    get_source_file_property(alone ${source} SKIP_UNITY_BUILD_INCLUSION)
    get_source_file_property(definitions ${source} COMPILE_DEFINITIONS)
    string(FIND ${source} ${PROJECT_BINARY_DIR} generated)
    if(alone OR definitions OR generated EQUAL 0 OR NOT source MATCHES "[.]cpp$")
      list(APPEND kept ${source})
      continue()
    endif()
    get_source_file_property(flags ${source} COMPILE_OPTIONS)
    string(MD5 flag_set "${flags}")
    list(APPEND flag_sets ${flag_set})
    set(flags_${flag_set} "${flags}")
    cmake_path(ABSOLUTE_PATH source)
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
    list(APPEND sources_${flag_set} ${source})
  endforeach()
  list(REMOVE_DUPLICATES flag_sets)
  set(number 0)
  foreach(flag_set ${flag_sets})
    # Of equal size, so that cores end at the same time.
    list(LENGTH sources_${flag_set} count)
    math(EXPR batches "(${count} + 19) / 20")
    math(EXPR size "(${count} + ${batches} - 1) / ${batches}")
    while(sources_${flag_set})
      list(SUBLIST sources_${flag_set} 0 ${size} batch)
      list(REMOVE_ITEM sources_${flag_set} ${batch})
      list(TRANSFORM batch REPLACE "(.+)" "#include \"\\1\"\n")
      string(JOIN "" batch ${batch})
      set(file ${CMAKE_CURRENT_BINARY_DIR}/united/${name}_${number}.cpp)
      file(CONFIGURE OUTPUT ${file} CONTENT "${batch}" @ONLY)
      # A local name may hide a name in another file.
      set(flags -Wno-shadow)
      if(flags_${flag_set})
        list(PREPEND flags ${flags_${flag_set}})
      endif()
      set_source_files_properties(${file} PROPERTIES COMPILE_OPTIONS "${flags}")
      list(APPEND kept ${file})
      math(EXPR number "${number} + 1")
    endwhile()
  endforeach()
  set_target_properties(${name} PROPERTIES SOURCES "${kept}")
endfunction()

# tests_LABEL builds all test programs with that label.
function(pippin_label_target program)
  foreach(label ${ARGN})
    if(NOT TARGET tests_${label})
      add_custom_target(tests_${label})
    endif()
    add_dependencies(tests_${label} ${program})
  endforeach()
endfunction()

# A ctest test that runs the tests of a gtest program that match `filter`. For status 77 see
# pippin/base/testing_main.cpp. ctest starts tests with a higher COST first; long tests would otherwise run alone at the
# end.
function(pippin_gtest name program filter labels)
  add_test(NAME ${name} COMMAND ${program} --gtest_filter=${filter})
  set_tests_properties(${name} PROPERTIES LABELS "${labels}" TIMEOUT 600 SKIP_RETURN_CODE 77)
  if(labels MATCHES "slow|model")
    set_tests_properties(${name} PROPERTIES COST 1)
  endif()
endfunction()

# pippin_test(NAME SOURCES a_test.cpp DEPS pippin_io [LABELS fast] [SLOW Suite.*] [MODEL Suite.*]
#   [THREADS Suite.*])
# One gtest program per folder. Tests find the shared data through PIPPIN_SHARED and skip without it; a program with
# such skips exits with 77. Tests that match SLOW and MODEL, patterns of --gtest_filter, run separately: NAME_slow and
# NAME_model have these labels, NAME runs the rest. CONTRIBUTING.md explains the labels.
function(pippin_test name)
  if(NOT PIPPIN_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;LABELS;SLOW;MODEL;THREADS" ${ARGN})
  if(NOT ARG_LABELS)
    set(ARG_LABELS fast)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} pippin_testing_main)
  pippin_label_target(${name} ${ARG_LABELS})
  pippin_test_options(${name})
  if(PIPPIN_PRECOMPILED_HEADERS)
    target_precompile_headers(${name} REUSE_FROM pippin_precompiled_tests)
    pippin_unite_later(${name})
  endif()
  string(JOIN ":" apart ${ARG_SLOW} ${ARG_MODEL})
  if(apart)
    pippin_gtest(${name} ${name} "-${apart}" "${ARG_LABELS}")
  else()
    pippin_gtest(${name} ${name} "*" "${ARG_LABELS}")
  endif()
  if(ARG_THREADS)  # also part of the other runs
    pippin_label_target(${name} threads)
    string(JOIN ":" filter ${ARG_THREADS})
    pippin_gtest(${name}_threads ${name} "${filter}" threads)
  endif()
  foreach(label SLOW MODEL)
    if(ARG_${label})
      string(JOIN ":" filter ${ARG_${label}})
      string(TOLOWER ${label} label)
      pippin_gtest(${name}_${label} ${name} "${filter}" ${label})
    endif()
  endforeach()
endfunction()
