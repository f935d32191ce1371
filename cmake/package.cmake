# `make package`: a .deb with the program, the library, headers, manual pages, completions and a service (packaging/).
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(docs ${PROJECT_BINARY_DIR}/packaging)
file(GLOB make_docs CONFIGURE_DEPENDS packaging/make_docs.py)
add_custom_command(OUTPUT ${docs}/man1/pippin.1
  COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/packaging/make_docs.py $<TARGET_FILE:pippin> ${docs}
  DEPENDS pippin ${make_docs} VERBATIM)
add_custom_target(package_docs DEPENDS ${docs}/man1/pippin.1)

# Not part of `cmake --install`: a component of its own, and of the package.
configure_file(packaging/changelog.in ${docs}/changelog.Debian @ONLY)
set(optional COMPONENT debian EXCLUDE_FROM_ALL)
install(DIRECTORY ${docs}/man1/ DESTINATION share/man/man1 ${optional})
install(FILES ${docs}/bash/pippin DESTINATION share/bash-completion/completions ${optional})
install(FILES ${docs}/zsh/_pippin DESTINATION share/zsh/vendor-completions ${optional})
install(FILES ${docs}/fish/pippin.fish DESTINATION share/fish/vendor_completions.d ${optional})
install(FILES packaging/pippin.service packaging/pippin.socket DESTINATION lib/systemd/system ${optional})
install(FILES packaging/pippin.default DESTINATION /etc/default RENAME pippin ${optional})
install(FILES packaging/copyright ${docs}/changelog.Debian DESTINATION share/doc/pippin ${optional})

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME pippin)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "The Pippin developers <pippin@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "convert, compress, run and serve Core ML language models")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "Pippin turns Hugging Face language models into Core ML packages and runs any Core ML
 program on the CPU: from the command line, in a chat, as a server of OpenAI's API
 with a page of its own, and as a library for C++ and C.")
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "ca-certificates")
# What programs need that link the archives instead of the shared library.
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "libfmt-dev, libprotobuf-dev, libcurl4-openssl-dev, libssl-dev, libzip-dev, libpcre2-dev, libutf8proc-dev, libyaml-cpp-dev, libpng-dev, libjpeg-dev")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/packaging/conffiles;${PROJECT_SOURCE_DIR}/packaging/postinst;${PROJECT_SOURCE_DIR}/packaging/prerm)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_COMPONENTS_ALL Unspecified debian)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR})
include(CPack)
