// What the module is put together of.
#pragma once

#include <pybind11/pybind11.h>

namespace pippin::python {

void bind_models(pybind11::module_& module);    // Model, State
void bind_language(pybind11::module_& module);  // LanguageModel, Sequence, Generation

}  // namespace pippin::python
