// Converts the library's errors to Python exceptions (pippin/_errors.py).
#pragma once

#include <string>

#include <pybind11/pybind11.h>

#include "pippin/base/exception.h"
#include "pippin/python/lock.h"

namespace pippin::python {

// The Python class for an error's code.
pybind11::object class_of(const Error& error);
// Registers the translation of Error to the class of its code.
void translate_errors();

// The message of a Python exception in one line; the second function takes and clears the current
// one.
std::string first_line(pybind11::error_already_set& error);
std::string take_message();

// Throws the exception of a signal handler, usually KeyboardInterrupt. Needs the GIL.
void check_signals();

}  // namespace pippin::python
