// Memory of Python's objects as tensors, where it lies: the buffer protocol and DLPack.
#pragma once

#include <optional>
#include <string>

#include <pybind11/pybind11.h>

#include "pippin/api/tensor.h"

namespace pippin::python {

std::string type_name(pybind11::handle object);

// The object's buffer, which is held until the last copy of the tensor is gone: it cannot be freed
// or resized before. Throws InvalidArgument for elements that are no numbers of this machine, for
// an object without a buffer and, to be written to, for one that is read-only.
Tensor wrap_buffer(pybind11::handle object, bool is_target);

// What __dlpack__ gives. Nothing where there is no such method. Throws InvalidArgument, Unsupported
// for other devices and types (bfloat16 too).
std::optional<Tensor> wrap_dlpack(pybind11::handle object);

// "dltensor", or "dltensor_versioned" where max_version is (1, 0) or later: __dlpack__() of a
// tensor. Throws BufferError.
pybind11::object to_dlpack(const Tensor& tensor, const pybind11::object& stream,
                           const pybind11::object& max_version, const pybind11::object& device,
                           const pybind11::object& copy);

// Fills what bf_getbuffer is asked for with the tensor's memory; shape and strides have to stay as
// long as `owner`. False with BufferError set.
bool fill_buffer(Py_buffer* view, int flags, PyObject* owner, const Tensor& tensor,
                 Py_ssize_t* shape, Py_ssize_t* strides);

}  // namespace pippin::python
