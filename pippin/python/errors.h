// Errors of the library as Python's exceptions (pippin/_errors.py).
#pragma once

#include <functional>

#include <pybind11/pybind11.h>

#include "pippin/base/exception.h"

namespace pippin::python {

// From now on an Error becomes the class of its code.
void translate_errors();

// Runs `work` without the interpreter's lock, so that other threads of Python go on. What it
// throws, comes out.
void without_lock(const std::function<void()>& work);

// Raises what a signal handler raised, KeyboardInterrupt as a rule. Needs the lock.
void check_signals();

}  // namespace pippin::python
