# Objective-C++, for pippin/coreml/core_*.mm: Apple's compiler on a Mac. On Linux, it is compiled only for tests/coreml,
# by clang 14 with GNUstep and GCC's runtime; without them, these tests are left out.
set(PIPPIN_OBJECTIVE_C OFF)
if(APPLE)
  enable_language(OBJCXX)
  set(PIPPIN_OBJECTIVE_C ON)
  return()
endif()
find_program(PIPPIN_OBJCXX_COMPILER clang++-14)
find_path(PIPPIN_GNUSTEP_HEADERS Foundation/Foundation.h PATHS /usr/include/GNUstep)
find_path(PIPPIN_BLOCKS_HEADERS Block.h)
# GCC's headers of the runtime, which clang does not search.
file(GLOB PIPPIN_OBJC_HEADERS /usr/lib/gcc/*/12/include/objc)
if(NOT PIPPIN_TESTS OR NOT PIPPIN_OBJCXX_COMPILER OR NOT PIPPIN_GNUSTEP_HEADERS OR NOT PIPPIN_BLOCKS_HEADERS OR NOT PIPPIN_OBJC_HEADERS)
  if(PIPPIN_TESTS)
    message(STATUS "The tests of the Core ML device are left out: they need clang-14, libgnustep-base-dev and libblocksruntime-dev (setup.sh --lint)")
  endif()
  return()
endif()
set(PIPPIN_OBJECTIVE_C ON)
# Headers that GNUstep's headers include and clang does not find.
set(shim ${PROJECT_BINARY_DIR}/objective_c)
file(MAKE_DIRECTORY ${shim}/objc)
file(GLOB headers ${PIPPIN_OBJC_HEADERS}/*.h)
foreach(header ${headers})
  cmake_path(GET header FILENAME name)
  file(CREATE_LINK ${header} ${shim}/objc/${name} SYMBOLIC)
endforeach()
file(WRITE ${shim}/objc/blocks_runtime.h "#include <Block.h>\n")

# pippin_objective_c(TARGET INCLUDE_FOLDER a.mm b.mm): adds these sources to a library, compiled with the folder's
# headers as system headers. Uses custom commands, because CMake's OBJCXX would add clang's pragmas to the precompiled
# headers, which GCC uses.
function(pippin_objective_c target folder)
  string(TOUPPER "${CMAKE_BUILD_TYPE}" config)
  separate_arguments(flags UNIX_COMMAND "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${config}}")
  foreach(source ${ARGN})
    cmake_path(ABSOLUTE_PATH source)
    cmake_path(GET source FILENAME name)
    set(object ${CMAKE_CURRENT_BINARY_DIR}/${name}.o)
    add_custom_command(OUTPUT ${object} DEPENDS ${source} DEPFILE ${object}.d COMMAND_EXPAND_LISTS VERBATIM
      COMMENT "Compiling ${name}"
      COMMAND ${PIPPIN_OBJCXX_COMPILER} -x objective-c++ -std=c++20 ${flags} -fPIC -fvisibility=hidden
        -fobjc-runtime=gcc -fblocks -fexceptions -fobjc-exceptions -fconstant-string-class=NSConstantString
        -DGNUSTEP -DGNUSTEP_BASE_LIBRARY=1 -DGNU_RUNTIME=1 -D_NATIVE_OBJC_EXCEPTIONS
        -I${PROJECT_SOURCE_DIR} -I${PROJECT_BINARY_DIR} -isystem ${folder} -isystem ${shim}
        -isystem ${PIPPIN_GNUSTEP_HEADERS}
        "$<TARGET_PROPERTY:pippin_options,INTERFACE_COMPILE_OPTIONS>" -Wno-unknown-warning-option
        -MD -MF ${object}.d -MT ${object} -c ${source} -o ${object})
    target_sources(${target} PRIVATE ${object})
    set_source_files_properties(${object} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  endforeach()
  target_include_directories(${target} SYSTEM PUBLIC ${folder})
  # Order matters: GNUstep has its own _Block_copy, which copies nothing.
  target_link_libraries(${target} PUBLIC pippin_options BlocksRuntime gnustep-base objc Threads::Threads)
endfunction()
