#include "pippin/python/tensor.h"

#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pybind11/stl.h>

#include "pippin/base/error.h"
#include "pippin/python/arrays.h"
#include "pippin/python/bindings.h"
#include "pippin/python/buffers.h"
#include "pippin/python/docstrings.h"

namespace pippin::python {
namespace {

namespace py = pybind11;

PyTypeObject* tensor_type = nullptr;  // set by bind_tensors()

// bf_getbuffer
int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  const auto& tensor = *py::handle(self).cast<const PyTensor*>();
  // Consumers must not write to them.
  auto* const shape = const_cast<Py_ssize_t*>(tensor.shape.data());
  auto* const strides = const_cast<Py_ssize_t*>(tensor.strides.data());
  return fill_buffer(view, flags, self, tensor.tensor, shape, strides) ? 0 : -1;
}

void add_buffer(PyHeapTypeObject* type) {
  type->as_buffer.bf_getbuffer = &get_buffer;
  type->ht_type.tp_as_buffer = &type->as_buffer;
}

// Numbers only: strings have no bytes that others could read.
py::object as_array(const PyTensor& self) {
  if (self.tensor.type() == pippin::DataType::String) {
    fail(ErrorCode::Unsupported, "a tensor of strings is not an array of numbers");
  }
  return to_array(self.tensor);
}

// Implements __array__() for NumPy 1 and 2.
py::object array_for_numpy(const PyTensor& self, const py::object& dtype, const py::object& copy) {
  const py::object array = as_array(self);
  const bool converts = !dtype.is_none() && !py::object(array.attr("dtype")).equal(dtype);
  if (!converts) return copy.is_none() || !copy.cast<bool>() ? array : array.attr("copy")();
  if (!copy.is_none() && !copy.cast<bool>()) {
    throw py::value_error("another dtype takes a copy, and copy=False forbids one");
  }
  return array.attr("astype")(dtype);
}

std::string described(const PyTensor& self) {
  return fmt::format("Tensor({} {})", to_string(self.tensor.type()), self.tensor.shape());
}

}  // namespace

PyTensor::PyTensor(Tensor made) : tensor(Tensor::shared(std::move(made))) {
  const std::vector<int64_t> steps = tensor.strides();
  shape.assign(tensor.shape().begin(), tensor.shape().end());
  strides.assign(steps.begin(), steps.end());
}

const PyTensor* find_tensor(py::handle object) {
  if (Py_TYPE(object.ptr()) != tensor_type && !py::isinstance<PyTensor>(object)) return nullptr;
  return object.cast<const PyTensor*>();
}

void bind_tensors(py::module_& module) {
  py::class_<PyTensor> type(module, "Tensor", py::custom_type_setup(&add_buffer), docs::kTensor);
  tensor_type = reinterpret_cast<PyTypeObject*>(type.ptr());
  type.def(py::init([](const py::object& array) {
             return std::make_unique<PyTensor>(to_tensor(array, "array"));
           }),
           py::arg("array"),
           "The memory of an array, a buffer or an object with __dlpack__, without a copy; lists "
           "and "
           "numbers through NumPy.")
      .def_property_readonly(
          "dtype", [](const PyTensor& self) { return std::string(to_string(self.tensor.type())); },
          "The elements' type by name: \"float32\", \"int64\", \"bool\", \"string\" ...")
      .def_property_readonly(
          "shape", [](const PyTensor& self) { return py::tuple(py::cast(self.tensor.shape())); },
          "The size of each axis.")
      .def_property_readonly(
          "strides", [](const PyTensor& self) { return py::tuple(py::cast(self.strides)); },
          "Bytes from one element to the next along each axis.")
      .def_property_readonly(
          "ndim", [](const PyTensor& self) { return self.shape.size(); }, "The number of axes.")
      .def_property_readonly(
          "size", [](const PyTensor& self) { return self.tensor.size(); },
          "The number of elements.")
      .def_property_readonly(
          "nbytes",
          [](const PyTensor& self) { return self.tensor.size() * byte_size(self.tensor.type()); },
          "The bytes of all elements.")
      .def_property_readonly(
          "readonly", [](const PyTensor& self) { return !self.tensor.is_writable(); },
          "Whether writing to it is forbidden.")
      .def("numpy", &as_array, "A NumPy array over the same memory.")
      .def(
          "copy",
          [](const PyTensor& self) { return std::make_unique<PyTensor>(self.tensor.copy()); },
          "A copy with its own memory.")
      .def("__array__", &array_for_numpy, py::arg("dtype") = py::none(),
           py::arg("copy") = py::none())
      .def(
          "__dlpack__",
          [](const PyTensor& self, const py::object& stream, const py::object& max_version,
             const py::object& device, const py::object& copy) {
            return to_dlpack(self.tensor, stream, max_version, device, copy);
          },
          py::kw_only(), py::arg("stream") = py::none(), py::arg("max_version") = py::none(),
          py::arg("dl_device") = py::none(), py::arg("copy") = py::none())
      .def("__dlpack_device__", [](const PyTensor&) { return py::make_tuple(1, 0); })
      .def("__len__",
           [](const PyTensor& self) {
             if (self.shape.empty()) throw py::type_error("a scalar has no length");
             return self.shape[0];
           })
      .def("__repr__", &described);
}

}  // namespace pippin::python
