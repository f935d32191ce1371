// pippin.Tensor: an array that needs no NumPy, in the library's memory or in somebody's.
#pragma once

#include <vector>

#include <pybind11/pybind11.h>

#include "pippin/api/tensor.h"

namespace pippin::python {

struct PyTensor {
  // Copies of the tensor share its memory from now on.
  explicit PyTensor(Tensor made);

  const Tensor tensor;
  std::vector<Py_ssize_t> shape, strides;  // for buffers, which refer to them
};

// The tensor that the object is, or null.
const PyTensor* find_tensor(pybind11::handle object);

}  // namespace pippin::python
