// Properties and methods of arrays other than operators. Most methods are the functions of the same
// name.
#pragma once

#include <pybind11/pybind11.h>

namespace pippin::python::core {

PyObject* transposed(PyObject* self, void*);
PyObject* real_part(PyObject* self, void*);
PyObject* imaginary_part(PyObject* self, void*);
PyObject* at(PyObject* self, void*);  // subscript.cpp

void bind_subscripts(pybind11::module_& module);  // the types of iterators and of x.at

// Adds the methods; the functions must exist already.
void bind_methods(pybind11::module_& module);

}  // namespace pippin::python::core
