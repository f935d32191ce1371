// Values of models as Python has them, and back: arrays without a copy.
#pragma once

#include <pybind11/pybind11.h>

#include "pippin/api/model.h"

namespace pippin::python {

// An object with the buffer protocol (a NumPy array, a memoryview, an array.array) is used where it
// lies, and kept until the value is gone. Other things become arrays first: numbers, lists, what
// has
// __dlpack__. Texts are strings, PIL's pictures images. Throws InvalidArgument that names the
// input.
Value to_value(pybind11::handle object, const std::string& name);

// A tensor over the object's memory, to be written to. Throws InvalidArgument for one that is
// read-only.
Tensor to_target(pybind11::handle object, const std::string& name);

// A NumPy array over the tensor's memory, which the array owns; a text or a list of texts; a dict.
pybind11::object to_object(Value value);

}  // namespace pippin::python
