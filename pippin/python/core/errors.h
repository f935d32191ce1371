// Converts C++ exceptions to Python exceptions in code without pybind11.
#pragma once

#include <pybind11/pybind11.h>

#include "pippin/python/errors.h"

namespace pippin::python::core {

// Sets Python's error from the current exception; call it in a catch block.
void set_error() noexcept;

// Runs `body`. If it throws, sets Python's error and returns null or `failure`.
template <typename Body>
PyObject* guarded(Body&& body) noexcept {
  try {
    return body();
  } catch (...) {
    set_error();
    return nullptr;
  }
}
template <typename Body>
int guarded_status(Body&& body) noexcept {
  try {
    body();
    return 0;
  } catch (...) {
    set_error();
    return -1;
  }
}

}  // namespace pippin::python::core
