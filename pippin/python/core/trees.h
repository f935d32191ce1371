// Python trees: nested lists, tuples and dictionaries with arrays as leaves.
#pragma once

#include <functional>
#include <vector>

#include <pybind11/pybind11.h>

#include "pippin/mx/core/array.h"

namespace pippin::python::core {

// Counts one level of Python recursion while it lives. Throws RecursionError if there are too many.
class Deeper {
 public:
  Deeper() {
    if (Py_EnterRecursiveCall(" in a tree of arrays") != 0) throw pybind11::error_already_set();
  }
  Deeper(const Deeper&) = delete;
  Deeper& operator=(const Deeper&) = delete;
  ~Deeper() { Py_LeaveRecursiveCall(); }
};

// Visits, in order, everything that is not a list, tuple or dictionary. Throws RecursionError for a
// tree that contains itself.
void visit_leaves(PyObject* tree, const std::function<void(PyObject* leaf)>& visit);
// The arrays among the leaves.
void collect_arrays(PyObject* tree, std::vector<mx::array>& arrays);
// Returns a new tree with other leaves. Dictionaries become dict; lists and tuples keep their
// types.
pybind11::object map_leaves(PyObject* tree,
                            const std::function<pybind11::object(PyObject* leaf)>& map);
// Replaces the arrays of a tree: in place in lists and dictionaries; in tuples, which are
// immutable, the array objects get new values.
void replace_arrays(PyObject* tree, const std::function<mx::array(const mx::array&)>& replace);

}  // namespace pippin::python::core
