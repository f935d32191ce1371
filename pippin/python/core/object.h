// `pippin.core.array`: Python's form of mx::array.
//
// The type is written with CPython's own functions, not pybind11's: an operation is recorded in
// less than a microsecond, of which binding its arguments may not be the larger part.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include <pybind11/pybind11.h>

#include "pippin/mx/array.h"

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
// Of an array, while the object lives.
inline mx::array& value_of(PyObject* object) {
  return reinterpret_cast<ArrayObject*>(object)->value;
}
// A new object; null with Python's error set where there is no memory.
PyObject* wrap(mx::array value) noexcept;
// Lists and tuples of them.
PyObject* wrap_list(std::vector<mx::array> values);
PyObject* wrap_tuple(std::vector<mx::array> values);

// Computes them without the interpreter's lock; ends where a signal's handler raises something.
void evaluate(std::span<const mx::array> arrays);
void evaluate(const mx::array& a);

// Makes the type and puts it into the module.
void bind_array(pybind11::module_& module);
// Its parts, by what they serve.
void add_number_slots(std::vector<PyType_Slot>& slots);
void add_index_slots(std::vector<PyType_Slot>& slots);
void add_text_slots(std::vector<PyType_Slot>& slots);
void add_buffer_slots(std::vector<PyType_Slot>& slots);

}  // namespace pippin::python::core
