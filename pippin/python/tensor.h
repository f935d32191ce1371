// pippin.Tensor: an array that does not need NumPy, over the library's memory or another object's.
#pragma once

#include <vector>

#include <pybind11/pybind11.h>

#include "pippin/api/tensor.h"

namespace pippin::python {

struct PyTensor {
  // All copies of the tensor share its memory.
  explicit PyTensor(Tensor made);

  const Tensor tensor;
  std::vector<Py_ssize_t> shape, strides;  // referenced by buffers
};

// The tensor in the object, or null.
const PyTensor* find_tensor(pybind11::handle object);

}  // namespace pippin::python
