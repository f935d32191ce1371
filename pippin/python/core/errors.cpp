#include "pippin/python/core/errors.h"

#include <new>
#include <string>

#include "pippin/base/error.h"

namespace pippin::python::core {

namespace py = pybind11;

void set_error() noexcept {
  try {
    throw;
  } catch (py::error_already_set& error) {
    error.restore();
  } catch (const py::builtin_exception& error) {
    error.set_error();
  } catch (const Error& error) {
    try {
      PyErr_SetString(class_of(error).ptr(), error.what());
    } catch (...) {
      PyErr_SetString(PyExc_RuntimeError, error.what());
    }
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
}

}  // namespace pippin::python::core
