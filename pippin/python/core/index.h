// Indexing expressions: x[2], x[..., None, ::-1], x[:, indices].
//
// The rules are NumPy's: basic slices are views. Integer arrays (and integers next to them) are
// broadcast together; their axes stay in place if they are adjacent, and come first otherwise.
#pragma once

#include <optional>
#include <vector>

#include <pybind11/pybind11.h>

#include "pippin/mx/core/array.h"
#include "pippin/mx/core/index.h"

namespace pippin::python::core {

class Index {
 public:
  // An index for an array of `shape`. Throws ValueError for objects that are not indices,
  // IndexError for an integer out of range.
  Index(PyObject* object, const mx::Shape& shape);

  mx::array get(const mx::array& a) const;
  // Returns `a` with `update`, broadcast, in the indexed elements.
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

  std::vector<Entry> entries_;  // one per axis, including new ones
  bool has_arrays_ = false;
};

}  // namespace pippin::python::core
