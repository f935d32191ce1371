// Options that Python passes by name; unknown ones are errors.
#pragma once

#include <set>
#include <string>
#include <utility>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include "pippin/base/error.h"

namespace pippin::python {

class Options {
 public:
  explicit Options(pybind11::dict given) : given_(std::move(given)) {}

  // Leaves `option` unchanged if the argument is missing or None. Throws InvalidArgument for a
  // value of another type.
  template <typename T>
  void take(const char* name, T& option) {
    const pybind11::object value = take_object(name);
    if (value.is_none()) return;
    try {
      option = value.cast<T>();
    } catch (const pybind11::cast_error&) {
      fail(ErrorCode::InvalidArgument, "{}: {} is of the wrong type", name,
           std::string(pybind11::str(pybind11::repr(value))));
    }
  }
  // None if the argument is missing.
  pybind11::object take_object(const char* name) {
    known_.insert(name);
    return given_.contains(name) ? pybind11::object(given_[name]) : pybind11::none();
  }
  // Call after all options have been taken. Throws InvalidArgument for unknown ones.
  void refuse_others() const {
    for (const auto& [key, value] : given_) {
      const auto name = key.cast<std::string>();
      if (!known_.contains(name)) {
        fail(ErrorCode::InvalidArgument, "unknown option \"{}\"", name);
      }
    }
  }

 private:
  const pybind11::dict given_;
  std::set<std::string> known_;
};

}  // namespace pippin::python
