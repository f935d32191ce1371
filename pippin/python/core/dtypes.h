// `pippin.core.Dtype` and its 14 objects, the categories, finfo and iinfo.
#pragma once

#include <pybind11/pybind11.h>

#include "pippin/mx/core/dtype.h"

namespace pippin::python::core {

bool is_dtype(PyObject* object) noexcept;
mx::Dtype dtype_of(PyObject* object) noexcept;  // of a Dtype
// The only object of a dtype, borrowed.
PyObject* dtype_object(mx::Dtype dtype) noexcept;

void bind_dtypes(pybind11::module_& module);

}  // namespace pippin::python::core
