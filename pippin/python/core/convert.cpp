#include "pippin/python/core/convert.h"

#include <climits>
#include <string>

#include "pippin/base/error.h"
#include "pippin/mx/ops/unary.h"
#include "pippin/python/core/errors.h"
#include "pippin/python/core/lists.h"
#include "pippin/python/core/memory.h"
#include "pippin/python/core/object.h"

namespace pippin::python::core {

namespace py = pybind11;

namespace {

using mx::Dtype;

// A Python integer. Integers beyond int64 are allowed only for uint64 and floats.
struct Whole {
  long long value;
  bool is_beyond;  // up to 2^64 - 1, as bits of `value`
};
Whole whole_of(PyObject* object) {
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
  if (overflow == 0) {
    if (value == -1 && PyErr_Occurred() != nullptr) throw py::error_already_set();
    return {value, false};
  }
  const unsigned long long large = PyLong_AsUnsignedLongLong(object);
  if (PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    throw py::value_error("The integer " + std::string(py::str(py::handle(object))) +
                          " does not fit in 64 bits.");
  }
  return {static_cast<long long>(large), true};
}

void check_range(const Whole& whole, Dtype dtype) {
  const mx::IntegerInfo info = mx::iinfo(dtype);
  const auto bits = static_cast<uint64_t>(whole.value);
  const bool fits =
      whole.is_beyond || whole.value >= 0 ? bits <= info.max : whole.value >= info.min;
  if (fits) return;
  const std::string text = whole.is_beyond ? std::to_string(bits) : std::to_string(whole.value);
  throw py::value_error("Converting " + text + " to " + std::string(mx::to_string(dtype)) +
                        " would overflow.");
}

mx::array whole_number(PyObject* object, std::optional<Dtype> other_type) {
  const Whole whole = whole_of(object);
  const Dtype alone = whole.is_beyond                                  ? mx::uint64
                      : whole.value > INT_MAX || whole.value < INT_MIN ? mx::int64
                                                                       : mx::int32;
  Dtype dtype = other_type.value_or(alone);
  if (dtype == mx::bool_) dtype = alone;
  if (mx::is_integer(dtype)) check_range(whole, dtype);
  if (whole.is_beyond) return mx::array(static_cast<unsigned long long>(whole.value), dtype);
  return mx::array(whole.value, dtype);
}

mx::array fraction(double value, std::optional<Dtype> other_type) {
  return mx::array(value, other_type && mx::is_inexact(*other_type) ? *other_type : mx::float32);
}

mx::array complex_number(PyObject* object) {
  const Py_complex value = PyComplex_AsCComplex(object);
  if (PyErr_Occurred() != nullptr) throw py::error_already_set();
  return mx::array(mx::complex64_t{static_cast<float>(value.real), static_cast<float>(value.imag)});
}

// A Python number as an array, with the type that it has next to an array of type `other_type`.
std::optional<mx::array> scalar(PyObject* object, std::optional<Dtype> other_type) {
  if (PyFloat_CheckExact(object) != 0) return fraction(PyFloat_AS_DOUBLE(object), other_type);
  if (PyBool_Check(object) != 0)
    return mx::array(object == Py_True, other_type.value_or(mx::bool_));
  if (PyLong_Check(object) != 0) return whole_number(object, other_type);
  if (PyFloat_Check(object) != 0) return fraction(PyFloat_AS_DOUBLE(object), other_type);
  if (PyComplex_Check(object) != 0) return complex_number(object);
  return std::nullopt;
}

std::optional<mx::array> of_accessor(PyObject* object) {
  PyObject* method = nullptr;
  if (PyType_Check(object) != 0) return std::nullopt;
  method = PyObject_GetAttrString(object, "__mlx_array__");
  if (method == nullptr) {
    PyErr_Clear();
    return std::nullopt;
  }
  const py::object made = py::reinterpret_steal<py::object>(method)();
  if (!is_array(made.ptr())) throw py::type_error("__mlx_array__() gave no array");
  return value_of(made.ptr());
}

mx::array typed(const mx::array& a, std::optional<Dtype> dtype) {
  return dtype ? mx::astype(a, *dtype) : a;
}

}  // namespace

std::optional<mx::array> try_array(PyObject* object, std::optional<Dtype> other_type) {
  if (is_array(object)) return value_of(object);
  if (auto number = scalar(object, other_type)) return number;
  if (object == Py_None || PyList_Check(object) != 0 || PyTuple_Check(object) != 0 ||
      PyUnicode_Check(object) != 0) {
    return std::nullopt;
  }
  if (auto made = of_accessor(object)) return made;
  return read_memory(object, other_type);
}

mx::array create(PyObject* object, std::optional<Dtype> dtype) {
  if (is_array(object)) return typed(value_of(object), dtype);
  if (PyList_Check(object) != 0 || PyTuple_Check(object) != 0) return array_of_lists(object, dtype);
  if (auto number = scalar(object, std::nullopt)) {
    // An explicit type is requested, so it is not weak.
    if (dtype && PyLong_Check(object) != 0 && mx::is_integer(*dtype)) {
      return whole_number(object, dtype);
    }
    if (dtype && PyFloat_Check(object) != 0) return mx::array(PyFloat_AsDouble(object), *dtype);
    return typed(*number, dtype);
  }
  if (auto made = of_accessor(object)) return typed(*made, dtype);
  if (auto memory = read_memory(object, dtype)) return *std::move(memory);
  throw py::value_error("Invalid type " + std::string(Py_TYPE(object)->tp_name) +
                        " received in array initialization.");
}

mx::array as_array(PyObject* object, std::optional<Dtype> dtype, std::optional<bool> copy) {
  const auto refuse = [] {
    throw py::value_error("[asarray] The array cannot be had without a copy.");
  };
  const bool is_only_shared = copy.has_value() && !*copy;
  if (is_array(object)) {
    const mx::array& value = value_of(object);
    if (is_only_shared && dtype && *dtype != value.dtype()) refuse();
    return typed(value, dtype);
  }
  if (!copy.value_or(false)) {
    if (auto shared = share_memory(object)) {
      if (!dtype || *dtype == shared->dtype()) return *std::move(shared);
    }
    if (is_only_shared) refuse();
  }
  return create(object, dtype);
}

}  // namespace pippin::python::core
