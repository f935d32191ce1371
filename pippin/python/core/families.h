// The functions of `pippin.core` by family.
#pragma once

#include <pybind11/pybind11.h>

namespace pippin::python::core {

void bind_elementwise(pybind11::module_& module);
void bind_reductions(pybind11::module_& module);  // sums and others, scans, sorting
void bind_shapes(pybind11::module_& module);      // shapes, and elements by index
void bind_creation(pybind11::module_& module);
void bind_products(
    pybind11::module_& module);  // of matrices, quantized ones included, and convolutions
void bind_fast(pybind11::module_& module);
void bind_random(pybind11::module_& module);
void bind_files(pybind11::module_& module);
void bind_export(pybind11::module_& module);
void bind_evaluation(pybind11::module_& module);  // eval, async_eval, traces, memory

}  // namespace pippin::python::core
