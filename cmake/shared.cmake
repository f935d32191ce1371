# libpippin.so.0: only the public interfaces of C++ (PIPPIN_API, base/export.h) and C (c/pippin.h). It is linked from
# the archives, so nothing is compiled for it. Instrumented code is only for Pippin's own programs, which include the
# sanitizers' runtime.
if(PIPPIN_SANITIZED)
  return()
endif()
file(WRITE ${PROJECT_BINARY_DIR}/shared/empty.cpp "")
add_library(pippin_shared SHARED ${PROJECT_BINARY_DIR}/shared/empty.cpp)
add_library(pippin::shared ALIAS pippin_shared)
# Archives with public functions are linked completely, others as needed.
target_link_libraries(pippin_shared PRIVATE pippin_c pippin_api pippin_mx)
set_property(TARGET pippin_shared PROPERTY LINK_LIBRARY_OVERRIDE "WHOLE_ARCHIVE,pippin_c,pippin_api,pippin_mx,pippin_runtime,pippin_speech,pippin_tokenizers,pippin_base")
target_include_directories(pippin_shared INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
target_compile_features(pippin_shared INTERFACE cxx_std_20)
set_target_properties(pippin_shared PROPERTIES OUTPUT_NAME pippin EXPORT_NAME shared
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
if(NOT APPLE)
  # Templates of the standard library are visible wherever they are used; the script hides them. The symbol version
  # includes the minor version, because 0.1 and 0.2 have the same SONAME but different interfaces.
  set(script ${PROJECT_BINARY_DIR}/shared/pippin.map)
  file(READ ${PROJECT_SOURCE_DIR}/pippin/c/symbols.map c_symbols)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/pippin/c/symbols.map)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/pippin.map.in ${script} @ONLY)
  target_link_options(pippin_shared PRIVATE -Wl,--no-undefined -Wl,--as-needed -Wl,-z,relro -Wl,-z,now
    -Wl,--version-script=${script})
  set_property(TARGET pippin_shared PROPERTY LINK_DEPENDS ${script})
endif()
