// What the module is put together of.
#pragma once

#include <pybind11/pybind11.h>

namespace pippin::python {

void bind_models(pybind11::module_& module);     // Model, State
void bind_language(pybind11::module_& module);   // LanguageModel, Sequence, Generation
void bind_packages(pybind11::module_& module);   // ModelPackage
void bind_storage(pybind11::module_& module);    // _BlobStorageWriter, _BlobStorageReader
void bind_structure(pybind11::module_& module);  // structure, operation_costs, compile_model

}  // namespace pippin::python
