#include "pippin/python/core/module.h"

#include <pybind11/pybind11.h>

#include "pippin/python/bindings.h"
#include "pippin/python/errors.h"
#include "pippin/python/lock.h"

PYBIND11_MODULE(_pippin, module) {
  module.doc() = "Core ML models on any machine: the part of pippin that is not written in Python.";
  module.attr("__version__") = PIPPIN_VERSION;
  pippin::python::translate_errors();
  pippin::python::watch_the_end();
  pippin::python::bind_tensors(module);
  pippin::python::bind_features(module);
  pippin::python::bind_states(module);
  pippin::python::bind_functions(module);
  pippin::python::bind_models(module);
  pippin::python::bind_tokenizer(module);
  pippin::python::bind_sampling(module);
  pippin::python::bind_generation(module);
  pippin::python::bind_language(module);
  pippin::python::bind_encoders(module);
  pippin::python::bind_images(module);
  pippin::python::bind_transcribers(module);
  pippin::python::bind_packages(module);
  pippin::python::bind_storage(module);
  pippin::python::bind_structure(module);
  pippin::python::bind_decoders(module);
  pippin::python::bind_gguf_weights(module);
  pippin::python::bind_tools(module);
  pippin::python::core::bind(module);
}
