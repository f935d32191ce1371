// Trees of Python: lists, tuples and dictionaries, nested, with arrays for leaves.
#pragma once

#include <functional>
#include <vector>

#include <pybind11/pybind11.h>

#include "pippin/mx/array.h"

namespace pippin::python::core {

// While it lives, Python counts one level more. Throws RecursionError where there are too many.
class Deeper {
 public:
  Deeper() {
    if (Py_EnterRecursiveCall(" in a tree of arrays") != 0) throw pybind11::error_already_set();
  }
  Deeper(const Deeper&) = delete;
  Deeper& operator=(const Deeper&) = delete;
  ~Deeper() { Py_LeaveRecursiveCall(); }
};

// Visits what is no list, tuple or dictionary, in order. Throws RecursionError for a tree that
// contains itself.
void visit_leaves(PyObject* tree, const std::function<void(PyObject* leaf)>& visit);
// The arrays among the leaves.
void collect_arrays(PyObject* tree, std::vector<mx::array>& arrays);
// The tree anew, with other leaves; dictionaries become dict, lists and tuples stay of their types.
pybind11::object map_leaves(PyObject* tree,
                            const std::function<pybind11::object(PyObject* leaf)>& map);
// Puts other arrays where arrays are, in the lists and dictionaries themselves; in tuples, which
// cannot change, the array objects become others.
void replace_arrays(PyObject* tree, const std::function<mx::array(const mx::array&)>& replace);

}  // namespace pippin::python::core
