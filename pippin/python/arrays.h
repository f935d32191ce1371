// Values of models as Python has them, and back: arrays without a copy.
#pragma once

#include <string>

#include <pybind11/pybind11.h>

#include "pippin/api/model.h"

namespace pippin::python {

// A tensor of ours, an object with the buffer protocol (a NumPy array, a memoryview, an
// array.array) and what has __dlpack__ are used where they lie, and kept until the value is gone.
// Other things become arrays first: numbers, lists. Texts are strings; pictures and their arrays
// images where `feature`, which may be null, is one. Throws InvalidArgument that begins with
// `name`.
Value to_value(pybind11::handle object, const std::string& name, const FeatureInfo* feature);
// The same for what has to be an array.
Tensor to_tensor(pybind11::handle object, const std::string& name);

// A tensor over the object's memory, to be written to. Throws InvalidArgument for one that is
// read-only.
Tensor to_target(pybind11::handle object, const std::string& name);

// How outputs are wanted. Texts are str or lists of them, dictionaries dict, in any form.
struct Forms {
  bool as_tensors = false;   // Tensor instead of NumPy arrays
  bool as_pictures = false;  // PIL's pictures for images
};

// A NumPy array over the tensor's memory, which stays as long as the array.
pybind11::object to_array(Tensor tensor);
pybind11::object to_object(Value value, const FeatureInfo* feature, const Forms& forms);

}  // namespace pippin::python
