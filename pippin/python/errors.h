// Errors of the library as Python's exceptions (pippin/_errors.py).
#pragma once

#include <string>

#include <pybind11/pybind11.h>

#include "pippin/base/exception.h"
#include "pippin/python/lock.h"

namespace pippin::python {

// Python's class for an error's code.
pybind11::object class_of(const Error& error);
// From now on an Error becomes the class of its code.
void translate_errors();

// What Python's exception says, in one line; the second is the one that is set, which goes.
std::string first_line(pybind11::error_already_set& error);
std::string take_message();

// Raises what a signal handler raised, KeyboardInterrupt as a rule. Needs the lock.
void check_signals();

}  // namespace pippin::python
