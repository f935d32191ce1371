// From C++'s exceptions to Python's, where no pybind11 stands between.
#pragma once

#include <pybind11/pybind11.h>

#include "pippin/python/errors.h"

namespace pippin::python::core {

// Sets Python's error by the exception that is being handled; to be called in a catch block.
void set_error() noexcept;

// Runs `body`; null, or `failure`, with Python's error set where it throws.
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
