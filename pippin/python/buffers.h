// Tensors over the memory of Python objects, without copies: the buffer protocol and DLPack.
#pragma once

#include <optional>
#include <string>

#include <pybind11/pybind11.h>

#include "pippin/api/tensor.h"

namespace pippin::python {

std::string type_name(pybind11::handle object);

// A tensor over the object's buffer. The buffer is held, so that it cannot be freed or resized,
// until the last copy of the tensor is gone. Throws InvalidArgument for elements that are not
// native numbers, for an object without a buffer and, if `is_target`, for a read-only object.
Tensor wrap_buffer(pybind11::handle object, bool is_target);

// A tensor over the result of the object's __dlpack__; empty if it has no such method. Throws
// InvalidArgument; Unsupported for other devices and types (including bfloat16).
std::optional<Tensor> wrap_dlpack(pybind11::handle object);

// Implements __dlpack__() of a tensor: a capsule "dltensor", or "dltensor_versioned" if max_version
// is (1, 0) or later. Throws BufferError.
pybind11::object to_dlpack(const Tensor& tensor, const pybind11::object& stream,
                           const pybind11::object& max_version, const pybind11::object& device,
                           const pybind11::object& copy);

// Implements bf_getbuffer for the tensor's memory; shape and strides must live as long as `owner`.
// Returns false with BufferError set.
bool fill_buffer(Py_buffer* view, int flags, PyObject* owner, const Tensor& tensor,
                 Py_ssize_t* shape, Py_ssize_t* strides);

}  // namespace pippin::python
