// Functions of `pippin.core`: a name, a signature as Python writes it, and a body.
//
//   {"sum", "a, /, axis=None, keepdims=False", [](const Args& a) { ... a.array(0), a.axes(1) ... }}
//
// One callable type binds positional and keyword arguments to the parameters without building
// tuples. inspect.signature() reads the same signature. Each function takes `stream=None` as its
// last parameter and only checks its type: there is one device.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <pybind11/pybind11.h>

#include "pippin/mx/core/array.h"
#include "pippin/mx/ops/reduce.h"

namespace pippin::python::core {

struct Parameters;

// The arguments of one call by parameter index. Conversions throw TypeError with the names of the
// function and the parameter.
class Args {
 public:
  Args(const Parameters& parameters, PyObject* const* values, std::span<PyObject* const> rest,
       size_t num_positional) noexcept
      : parameters_(parameters), values_(values), rest_(rest), num_positional_(num_positional) {}

  // Null if not given; None counts as given.
  PyObject* raw(size_t i) const { return values_[i]; }
  bool has(size_t i) const { return values_[i] != nullptr && values_[i] != Py_None; }
  // The same call with other arguments.
  Args of(PyObject* const* values) const {
    return Args(parameters_, values, rest_, num_positional_);
  }
  // The number of arguments given by position.
  size_t num_positional() const { return num_positional_; }
  // The arguments of *names.
  std::span<PyObject* const> rest() const { return rest_; }

  mx::array array(size_t i) const;
  std::optional<mx::array> maybe_array(size_t i) const;
  // Two operands: a number next to an array takes the array's type.
  std::pair<mx::array, mx::array> operands(size_t a, size_t b) const;
  // A list or tuple of arrays.
  std::vector<mx::array> arrays(size_t i) const;

  bool flag(size_t i, bool otherwise) const;
  int64_t integer(size_t i) const;
  int small(size_t i) const;  // 32 bits
  int small(size_t i, int otherwise) const { return has(i) ? small(i) : otherwise; }
  std::optional<int> maybe_small(size_t i) const {
    return has(i) ? std::optional(small(i)) : std::nullopt;
  }
  double number(size_t i) const;
  double number(size_t i, double otherwise) const { return has(i) ? number(i) : otherwise; }
  std::string text(size_t i, const char* otherwise) const;
  mx::Dtype dtype(size_t i) const;
  mx::Dtype dtype(size_t i, mx::Dtype otherwise) const { return has(i) ? dtype(i) : otherwise; }
  std::optional<mx::Dtype> maybe_dtype(size_t i) const {
    return has(i) ? std::optional(dtype(i)) : std::nullopt;
  }
  // One integer or several.
  mx::Shape shape(size_t i) const;
  std::vector<int> smalls(size_t i) const;
  std::vector<int> smalls(size_t i, std::vector<int> otherwise) const {
    return has(i) ? smalls(i) : std::move(otherwise);
  }
  mx::Axes axes(size_t i) const { return has(i) ? mx::Axes(smalls(i)) : std::nullopt; }
  // `otherwise` is the value if the argument is omitted, which may differ from None:
  // argmax(axis=None).
  std::optional<int> axis(size_t i, int otherwise) const {
    return raw(i) == nullptr ? std::optional(otherwise) : maybe_small(i);
  }

  // Throws TypeError that says what the parameter must be.
  [[noreturn]] void refuse(size_t i, const char* wanted) const;

 private:
  const Parameters& parameters_;
  PyObject* const* values_;
  std::span<PyObject* const> rest_;
  size_t num_positional_;
};

using Body = PyObject* (*)(const Args& args);

struct Definition {
  const char* name;
  const char* signature;  // without `stream`
  Body body;
  const char* doc = "";
};

// Creates the functions and adds them to `scope`: a module, or a type's dictionary for methods.
void define(pybind11::handle scope, const char* module, std::span<const Definition> definitions);
// Adds the same object under another name.
void alias(pybind11::handle scope, const char* name, const char* of);
void bind_function_type();

// Bodies for the most common forms.
PyObject* give(mx::array value);  // throws if wrap() fails
PyObject* give_list(std::vector<mx::array> values);
PyObject* give_tuple(std::vector<mx::array> values);
PyObject* give_none();

template <mx::array (*function)(const mx::array&)>
PyObject* unary(const Args& args) {
  return give(function(args.array(0)));
}
template <mx::array (*function)(const mx::array&, const mx::array&)>
PyObject* binary(const Args& args) {
  const auto [a, b] = args.operands(0, 1);
  return give(function(a, b));
}
template <mx::array (*function)(const mx::array&, const mx::Axes&, bool)>
PyObject* reduction(const Args& args) {
  return give(function(args.array(0), args.axes(1), args.flag(2, false)));
}

}  // namespace pippin::python::core
