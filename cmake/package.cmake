# `make package`: a .deb with the program, the library, headers, manual pages, completions and a service (packaging/).
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(docs ${PROJECT_BINARY_DIR}/packaging)
file(GLOB make_docs CONFIGURE_DEPENDS packaging/make_docs.py)
add_custom_command(OUTPUT ${docs}/man1/pippin.1.gz
  COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/packaging/make_docs.py $<TARGET_FILE:pippin> ${docs}
  COMMAND sh -c "gzip -9nf '${docs}'/man1/*.1"
  DEPENDS pippin ${make_docs} VERBATIM)
add_custom_target(package_docs DEPENDS ${docs}/man1/pippin.1.gz)

# Not part of `cmake --install`: a separate component of the package.
configure_file(packaging/changelog.in ${docs}/changelog @ONLY)
execute_process(COMMAND gzip -9nf ${docs}/changelog COMMAND_ERROR_IS_FATAL ANY)
set(optional COMPONENT debian EXCLUDE_FROM_ALL)
install(DIRECTORY ${docs}/man1/ DESTINATION share/man/man1 ${optional})
install(FILES ${docs}/bash/pippin DESTINATION share/bash-completion/completions ${optional})
install(FILES ${docs}/zsh/_pippin DESTINATION share/zsh/vendor-completions ${optional})
install(FILES ${docs}/fish/pippin.fish DESTINATION share/fish/vendor_completions.d ${optional})
install(FILES packaging/pippin.service packaging/pippin.socket DESTINATION lib/systemd/system ${optional})
install(FILES packaging/pippin.default DESTINATION /etc/default RENAME pippin ${optional})
install(FILES packaging/copyright CHANGELOG.md ${docs}/changelog.gz DESTINATION share/doc/pippin ${optional})

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME pippin)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "The Pippin developers <pippin@localhost>")
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_COMPONENTS_ALL Unspecified debian)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR})

set(CPACK_DEBIAN_PIPPIN_PACKAGE_NAME pippin)
set(CPACK_COMPONENT_PIPPIN_DESCRIPTION "convert, compress, run and serve Core ML language models
Pippin turns Hugging Face language models into Core ML packages and runs
any Core ML program on the CPU: from the command line, in a chat, as a server
of OpenAI's API with a page of its own, and as a library for C++ and C.")
set(CPACK_DEBIAN_PIPPIN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PIPPIN_PACKAGE_DEPENDS "ca-certificates")
# Loaded for sound files other than WAV, and for WebP, GIF and HEIC pictures.
set(CPACK_DEBIAN_PIPPIN_PACKAGE_RECOMMENDS "libsndfile1, libmpg123-0, libwebp7, libwebpdemux2, libgif7, libheif1")
# Needed by programs that link the archives instead of the shared library.
set(CPACK_DEBIAN_PIPPIN_PACKAGE_SUGGESTS "libfmt-dev, libprotobuf-dev, libcurl4-openssl-dev, libssl-dev, libzip-dev, libpcre2-dev, libutf8proc-dev, libyaml-cpp-dev, libpng-dev, libjpeg-dev, libsamplerate0-dev")
set(CPACK_DEBIAN_PIPPIN_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/packaging/conffiles;${PROJECT_SOURCE_DIR}/packaging/postinst;${PROJECT_SOURCE_DIR}/packaging/prerm;${PROJECT_SOURCE_DIR}/packaging/triggers)

# The Python module contains its part of the library.
if(TARGET pippin_python)
  list(APPEND CPACK_COMPONENTS_ALL python python_debian)
  install(FILES packaging/copyright CHANGELOG.md ${docs}/changelog.gz DESTINATION share/doc/python3-pippin COMPONENT python_debian EXCLUDE_FROM_ALL)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-pippin)
  set(CPACK_COMPONENT_PYTHON_DESCRIPTION "Core ML packages and language models from Python
Pippin's Python module runs Core ML packages, whose arrays are NumPy's, and
language models, with the functions that users of mlx-lm know.")
  set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
  math(EXPR next_minor "${Python3_VERSION_MINOR} + 1")
  set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "python3 (>= 3.${Python3_VERSION_MINOR}~), python3 (<< 3.${next_minor})")
  set(CPACK_DEBIAN_PYTHON_PACKAGE_RECOMMENDS python3-numpy)
  set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/packaging/python/postinst;${PROJECT_SOURCE_DIR}/packaging/python/prerm)
endif()

# The plugin for jobs of MPI, so that the program does not need Open MPI.
if(TARGET pippin-mpi)
  install(TARGETS pippin-mpi LIBRARY DESTINATION lib/pippin COMPONENT mpi EXCLUDE_FROM_ALL)
  install(FILES packaging/copyright CHANGELOG.md ${docs}/changelog.gz DESTINATION share/doc/pippin-mpi COMPONENT mpi EXCLUDE_FROM_ALL)
  list(APPEND CPACK_COMPONENTS_ALL mpi)
  set(CPACK_DEBIAN_MPI_PACKAGE_NAME pippin-mpi)
  set(CPACK_COMPONENT_MPI_DESCRIPTION "models over several machines, by Open MPI
Pippin's plugin for jobs that mpirun or srun starts: the layers of one language
model run on all ranks.")
  set(CPACK_DEBIAN_MPI_PACKAGE_SECTION science)
  set(CPACK_DEBIAN_MPI_PACKAGE_DEPENDS "pippin (= ${PROJECT_VERSION}), openmpi-bin")
endif()

include(CPack)
cpack_add_component_group(pippin)
cpack_add_component(Unspecified GROUP pippin)
cpack_add_component(debian GROUP pippin)
if(TARGET pippin_python)
  cpack_add_component_group(python)
  cpack_add_component(python GROUP python)
  cpack_add_component(python_debian GROUP python)
endif()
if(TARGET pippin-mpi)
  cpack_add_component_group(mpi)
  cpack_add_component(mpi GROUP mpi)
endif()
