// `pippin.core.array`: the Python type of mx::array.
//
// The type uses CPython's API, not pybind11: recording an operation takes less than a microsecond,
// and binding the arguments must not dominate it.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include <pybind11/pybind11.h>

#include "pippin/mx/core/array.h"

namespace pippin::python::core {

struct ArrayObject {
  PyObject ob_base;
  mx::array value;
  PyObject* weak_references;
};

// Set once, by bind_array().
extern PyTypeObject* array_type;

inline bool is_array(PyObject* object) {
  return Py_TYPE(object) == array_type;
}
// The value of an array, while the object lives.
inline mx::array& value_of(PyObject* object) {
  return reinterpret_cast<ArrayObject*>(object)->value;
}
// Returns a new object; null with Python's error set if there is not enough memory.
PyObject* wrap(mx::array value) noexcept;
// Lists and tuples of arrays.
PyObject* wrap_list(std::vector<mx::array> values);
PyObject* wrap_tuple(std::vector<mx::array> values);

// Computes the arrays without the GIL; stops if a signal handler raises.
void evaluate(std::span<const mx::array> arrays);
void evaluate(const mx::array& a);

// Creates the type and adds it to the module.
void bind_array(pybind11::module_& module);
// The parts of the type by purpose.
void add_number_slots(std::vector<PyType_Slot>& slots);
void add_index_slots(std::vector<PyType_Slot>& slots);
void add_text_slots(std::vector<PyType_Slot>& slots);
void add_buffer_slots(std::vector<PyType_Slot>& slots);

}  // namespace pippin::python::core
