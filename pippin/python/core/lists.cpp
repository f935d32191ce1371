#include "pippin/python/core/lists.h"

#include <algorithm>
#include <climits>
#include <memory>
#include <string>
#include <vector>

#include "pippin/mx/ops/binary.h"
#include "pippin/mx/ops/shape_ops.h"
#include "pippin/mx/ops/unary.h"
#include "pippin/python/core/convert.h"
#include "pippin/python/core/errors.h"
#include "pippin/python/core/object.h"

namespace pippin::python::core {

namespace py = pybind11;

namespace {

using mx::Dtype;

enum class Kind : uint8_t { Bool, Whole, WideWhole, Beyond, Fraction, Complex };

// Reads nested lists in two walks: the first finds type and shape, the second reads the numbers.
class Lists {
 public:
  explicit Lists(PyObject* list) {
    measure(list);
    check(list, 0);
  }

  bool has_arrays() const { return has_arrays_; }

  mx::array read(PyObject* list, std::optional<Dtype> dtype) const {
    switch (shape_is_empty() ? Kind::Fraction : kind_) {
      case Kind::Bool:
        return fill<bool>(list, dtype.value_or(mx::bool_),
                          [](PyObject* item) { return item == Py_True; });
      case Kind::Whole:
      case Kind::WideWhole:
        if (dtype && mx::is_inexact(*dtype)) return fractions(list, *dtype);
        return fill<long long>(list, dtype.value_or(kind_ == Kind::Whole ? mx::int32 : mx::int64),
                               [](PyObject* item) { return PyLong_AsLongLong(item); });
      case Kind::Beyond:
        if (dtype && mx::is_inexact(*dtype)) return fractions(list, *dtype);
        return fill<unsigned long long>(list, dtype.value_or(mx::uint64), [](PyObject* item) {
          return static_cast<unsigned long long>(PyLong_AsUnsignedLongLongMask(item));
        });
      case Kind::Fraction:
        return fractions(list, dtype.value_or(mx::float32));
      default:
        return fill<mx::complex64_t>(list, dtype.value_or(mx::complex64), [](PyObject* item) {
          const Py_complex value = PyComplex_AsCComplex(item);
          return mx::complex64_t{static_cast<float>(value.real), static_cast<float>(value.imag)};
        });
    }
  }

 private:
  bool shape_is_empty() const {
    return std::any_of(shape_.begin(), shape_.end(), [](int64_t size) { return size == 0; });
  }

  // Finds the shape from the first element at each level.
  void measure(PyObject* list) {
    while (true) {
      const Py_ssize_t size = PySequence_Fast_GET_SIZE(list);
      shape_.push_back(size);
      if (shape_.size() > 64) throw py::value_error("[array] Lists more than 64 deep.");
      if (size == 0) return;
      PyObject* const first = PySequence_Fast_ITEMS(list)[0];
      if (is_list(first)) {
        list = first;
        continue;
      }
      if (is_array(first)) {
        for (const int64_t each : value_of(first).shape()) shape_.push_back(each);
      }
      return;
    }
  }

  [[noreturn]] static void refuse_length() {
    throw py::value_error("Initialization encountered non-uniform length.");
  }

  void check(PyObject* list, size_t depth) {
    if (depth >= shape_.size()) {
      throw py::value_error("Initialization encountered extra dimension.");
    }
    const Py_ssize_t size = PySequence_Fast_GET_SIZE(list);
    if (size != shape_[depth]) refuse_length();
    PyObject* const* const items = PySequence_Fast_ITEMS(list);
    for (Py_ssize_t i = 0; i < size; ++i) {
      PyObject* const item = items[i];
      if (is_list(item)) {
        check(item, depth + 1);
      } else if (is_array(item)) {
        has_arrays_ = true;
        const mx::Shape& shape = value_of(item).shape();
        if (shape.size() + depth + 1 != shape_.size() ||
            !std::equal(shape.begin(), shape.end(), shape_.begin() + depth + 1)) {
          refuse_length();
        }
      } else {
        kind_ = std::max(kind_, kind_of(item));
        if (depth + 1 != shape_.size()) refuse_length();
      }
    }
  }

  static Kind kind_of(PyObject* item) {
    if (PyBool_Check(item) != 0) return Kind::Bool;
    if (PyLong_Check(item) != 0) {
      int overflow = 0;
      const long long value = PyLong_AsLongLongAndOverflow(item, &overflow);
      if (overflow != 0) {
        static_cast<void>(PyLong_AsUnsignedLongLong(item));
        if (PyErr_Occurred() == nullptr) return Kind::Beyond;
        PyErr_Clear();
        throw py::value_error("[array] An integer does not fit in 64 bits.");
      }
      return value > INT_MAX || value < INT_MIN ? Kind::WideWhole : Kind::Whole;
    }
    if (PyFloat_Check(item) != 0) return Kind::Fraction;
    if (PyComplex_Check(item) != 0) return Kind::Complex;
    if (PyIndex_Check(item) != 0 || PyObject_HasAttrString(item, "__float__") != 0) {
      return PyIndex_Check(item) != 0 ? Kind::WideWhole : Kind::Fraction;
    }
    throw py::value_error("Invalid type " + std::string(Py_TYPE(item)->tp_name) +
                          " received in array initialization.");
  }

  template <typename T, typename Convert>
  mx::array fill(PyObject* list, Dtype dtype, Convert convert) const {
    // std::vector<bool> has no array of bools.
    const int64_t count = mx::num_elements(shape_);
    const std::unique_ptr<T[]> values(new T[static_cast<size_t>(count)]);
    T* to = values.get();
    visit(list, [&](PyObject* item) { *to++ = convert(item); });
    if (PyErr_Occurred() != nullptr) throw py::error_already_set();
    constexpr Dtype kSource = [] {
      if constexpr (std::is_same_v<T, double>) return mx::float64;
      return mx::default_dtype<T>();
    }();
    return mx::array(values.get(), kSource, shape_, dtype);
  }

  mx::array fractions(PyObject* list, Dtype dtype) const {
    return fill<double>(list, dtype, [](PyObject* item) { return PyFloat_AsDouble(item); });
  }

  template <typename Visit>
  static void visit(PyObject* list, const Visit& visitor) {
    const Py_ssize_t size = PySequence_Fast_GET_SIZE(list);
    PyObject* const* const items = PySequence_Fast_ITEMS(list);
    for (Py_ssize_t i = 0; i < size; ++i) {
      if (is_list(items[i])) {
        visit(items[i], visitor);
      } else {
        visitor(items[i]);
      }
    }
  }

  mx::Shape shape_;
  Kind kind_ = Kind::Bool;
  bool has_arrays_ = false;
};

template <typename T, typename Make>
py::object list_of(const T* data, const mx::Shape& shape, const mx::Strides& strides, size_t axis,
                   Make make) {
  const auto size = static_cast<size_t>(shape[axis]);
  py::list result(size);
  for (size_t i = 0; i < size; ++i) {
    const T* const place = data + static_cast<int64_t>(i) * strides[axis];
    PyObject* const item = axis + 1 == shape.size()
                               ? make(*place)
                               : list_of(place, shape, strides, axis + 1, make).release().ptr();
    if (item == nullptr) throw py::error_already_set();
    PyList_SET_ITEM(result.ptr(), static_cast<Py_ssize_t>(i), item);
  }
  return result;
}

// Calls visit(pointer to the first element, function that makes a Python number of an element).
template <typename Visit>
py::object with_maker(const mx::array& a, Visit visit) {
  const std::byte* const data = a.bytes();
  const auto as = [&]<typename T>(auto make) {
    return visit(reinterpret_cast<const T*>(data), make);
  };
  const auto whole = [](auto value) { return PyLong_FromLongLong(value); };
  const auto plain = [](auto value) { return PyLong_FromUnsignedLongLong(value); };
  const auto half = [](auto value) { return PyFloat_FromDouble(to_float(value)); };
  switch (a.dtype()) {
    case mx::bool_:
      return as.template operator()<uint8_t>([](uint8_t value) { return PyBool_FromLong(value); });
    case mx::uint8:
      return as.template operator()<uint8_t>(plain);
    case mx::uint16:
      return as.template operator()<uint16_t>(plain);
    case mx::uint32:
      return as.template operator()<uint32_t>(plain);
    case mx::uint64:
      return as.template operator()<uint64_t>(plain);
    case mx::int8:
      return as.template operator()<int8_t>(whole);
    case mx::int16:
      return as.template operator()<int16_t>(whole);
    case mx::int32:
      return as.template operator()<int32_t>(whole);
    case mx::int64:
      return as.template operator()<int64_t>(whole);
    case mx::float16:
      return as.template operator()<float16>(half);
    case mx::bfloat16:
      return as.template operator()<bfloat16>(half);
    case mx::float32:
      return as.template operator()<float>([](float value) { return PyFloat_FromDouble(value); });
    case mx::float64:
      return as.template operator()<double>([](double value) { return PyFloat_FromDouble(value); });
    default:
      return as.template operator()<mx::complex64_t>(
          [](mx::complex64_t value) { return PyComplex_FromDoubles(value.real, value.imag); });
  }
}

}  // namespace

bool is_list(PyObject* object) {
  return PyList_Check(object) != 0 || PyTuple_Check(object) != 0;
}

mx::array array_of_lists(PyObject* list, std::optional<Dtype> dtype) {
  const Lists lists(list);
  if (!lists.has_arrays()) return lists.read(list, dtype);
  std::vector<mx::array> parts;
  const Py_ssize_t size = PySequence_Fast_GET_SIZE(list);
  for (Py_ssize_t i = 0; i < size; ++i) {
    parts.push_back(create(PySequence_Fast_ITEMS(list)[i], dtype));
  }
  const Dtype common = mx::result_type(parts);
  for (mx::array& part : parts) part = mx::astype(part, common);
  return mx::stack(parts);
}

py::object to_number(const mx::array& a) {
  if (a.size() != 1) {
    throw py::value_error("[convert] An array of shape " + mx::to_string(a.shape()) + " has " +
                          std::to_string(a.size()) +
                          " elements: only length-1 arrays can be converted to Python scalars.");
  }
  evaluate(a);
  return with_maker(a, [](const auto* data, auto make) {
    PyObject* const number = make(*data);
    if (number == nullptr) throw py::error_already_set();
    return py::reinterpret_steal<py::object>(number);
  });
}

py::object to_list(const mx::array& a) {
  if (a.ndim() == 0) return to_number(a);
  const mx::array held = a;
  evaluate(held);
  return with_maker(held, [&](const auto* data, auto make) {
    return list_of(data, held.shape(), held.strides(), 0, make);
  });
}

}  // namespace pippin::python::core
