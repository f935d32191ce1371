// Converts values of models to and from Python objects; arrays are not copied.
#pragma once

#include <string>

#include <pybind11/pybind11.h>

#include "pippin/api/model.h"

namespace pippin::python {

// Tensors of this library, objects with the buffer protocol (NumPy arrays, memoryviews,
// array.array) and objects with __dlpack__ are used in place and kept until the value is gone.
// Other objects (numbers, lists) are converted to arrays first. Texts become strings; pictures and
// their arrays become images if `feature` (which may be null) is an image. Throws InvalidArgument
// with a message that begins with `name`.
Value to_value(pybind11::handle object, const std::string& name, const FeatureInfo* feature);
// The same for a value that must be an array.
Tensor to_tensor(pybind11::handle object, const std::string& name);

// A tensor over the object's memory, for writing. Throws InvalidArgument if the object is
// read-only.
Tensor to_target(pybind11::handle object, const std::string& name);

// The form of outputs. Texts are always str or lists of str, dictionaries always dict.
struct Forms {
  bool as_tensors = false;   // Tensor, not NumPy arrays
  bool as_pictures = false;  // images as PIL images
};

// A NumPy array over the tensor's memory, which it keeps alive.
pybind11::object to_array(Tensor tensor);
pybind11::object to_object(Value value, const FeatureInfo* feature, const Forms& forms);

}  // namespace pippin::python
