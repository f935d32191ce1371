// What stands between brackets: x[2], x[..., None, ::-1], x[:, indices].
//
// NumPy's rules: basic slices give views; integer arrays (and integers beside them) broadcast
// together, and their axes stand where they stood, in front where something lies between them.
#pragma once

#include <optional>
#include <vector>

#include <pybind11/pybind11.h>

#include "pippin/mx/array.h"
#include "pippin/mx/index.h"

namespace pippin::python::core {

class Index {
 public:
  // For an array of `shape`. Throws ValueError for what is no index, IndexError for an integer out
  // of range.
  Index(PyObject* object, const mx::Shape& shape);

  mx::array get(const mx::array& a) const;
  // `a` with `update` there, which broadcasts.
  mx::array set(const mx::array& a, const mx::array& update, mx::UpdateMode mode) const;

 private:
  enum class Kind : uint8_t { Integer, Slice, New, Array };
  struct Entry {
    Kind kind;
    int64_t integer = 0;
    mx::Shape slice = {};  // start, stop, step
    std::optional<mx::array> array = std::nullopt;
  };

  void add(PyObject* object, const mx::Shape& shape);
  bool is_pointer(const Entry& entry) const;
  bool is_full() const;
  mx::array sliced(const mx::array& a) const;
  std::vector<mx::array> pointers(std::vector<int>& axes) const;
  size_t pointed_rank() const;
  bool stands_in_place() const;
  size_t place_of_pointed() const;
  mx::array set_slices(const mx::array& a, const mx::array& update, mx::UpdateMode mode) const;
  mx::array set_pointed(const mx::array& a, const mx::array& update, mx::UpdateMode mode) const;

  std::vector<Entry> entries_;  // one for each axis, and for each new one
  bool has_arrays_ = false;
};

}  // namespace pippin::python::core
