#include "pippin/python/errors.h"

#include <string>

namespace pippin::python {

namespace py = pybind11;

py::object class_of(const Error& error) {
  const std::string name(to_string(error.code()));
  return py::module_::import("pippin._errors").attr("BY_CODE")[name.c_str()];
}

void translate_errors() {
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const Error& error) {
      PyErr_SetString(class_of(error).ptr(), error.what());
    }
  });
}

std::string first_line(py::error_already_set& error) {
  const std::string text = error.what();
  return text.substr(0, text.find('\n'));
}

std::string take_message() {
  py::error_already_set error;
  return first_line(error);
}

void check_signals() {
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

}  // namespace pippin::python
