#include "pippin/python/core/trees.h"

#include "pippin/python/core/errors.h"
#include "pippin/python/core/function.h"
#include "pippin/python/core/lists.h"
#include "pippin/python/core/object.h"

namespace pippin::python::core {

namespace py = pybind11;

void visit_leaves(PyObject* tree, const std::function<void(PyObject*)>& visit) {
  if (is_list(tree)) {
    const Deeper deeper;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(tree); ++i) {
      visit_leaves(PySequence_Fast_GET_ITEM(tree, i), visit);
    }
  } else if (PyDict_Check(tree) != 0) {
    const Deeper deeper;
    PyObject *key = nullptr, *value = nullptr;
    for (Py_ssize_t place = 0; PyDict_Next(tree, &place, &key, &value) != 0;) {
      visit_leaves(value, visit);
    }
  } else {
    visit(tree);
  }
}

void collect_arrays(PyObject* tree, std::vector<mx::array>& arrays) {
  if (is_array(tree)) {
    arrays.push_back(value_of(tree));
    return;
  }
  visit_leaves(tree, [&](PyObject* leaf) {
    if (is_array(leaf)) arrays.push_back(value_of(leaf));
  });
}

py::object map_leaves(PyObject* tree, const std::function<py::object(PyObject*)>& map) {
  if (is_list(tree)) {
    const Deeper deeper;
    py::list items;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(tree); ++i) {
      items.append(map_leaves(PySequence_Fast_GET_ITEM(tree, i), map));
    }
    if (PyList_CheckExact(tree) != 0) return items;
    if (PyList_Check(tree) != 0) return py::type::of(tree)(items);
    // Named tuples keep their type.
    if (PyTuple_CheckExact(tree) == 0 && PyObject_HasAttrString(tree, "_make") != 0) {
      return py::handle(tree).attr("_make")(items);
    }
    if (PyTuple_CheckExact(tree) == 0) return py::type::of(tree)(items);
    return py::tuple(items);
  }
  if (PyDict_Check(tree) != 0) {
    const Deeper deeper;
    py::dict items;
    PyObject *key = nullptr, *value = nullptr;
    for (Py_ssize_t place = 0; PyDict_Next(tree, &place, &key, &value) != 0;) {
      items[py::handle(key)] = map_leaves(value, map);
    }
    return items;
  }
  return map(tree);
}

void replace_arrays(PyObject* tree, const std::function<mx::array(const mx::array&)>& replace) {
  if (is_array(tree)) {
    value_of(tree).overwrite(replace(value_of(tree)));
    return;
  }
  const auto fresh = [&](PyObject* leaf) {
    return py::reinterpret_steal<py::object>(give(replace(value_of(leaf))));
  };
  if (PyList_Check(tree) != 0) {
    const Deeper deeper;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(tree); ++i) {
      PyObject* const item = PyList_GET_ITEM(tree, i);
      if (is_array(item)) {
        PyList_SetItem(tree, i, fresh(item).release().ptr());
      } else {
        replace_arrays(item, replace);
      }
    }
  } else if (PyTuple_Check(tree) != 0) {
    const Deeper deeper;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tree); ++i) {
      replace_arrays(PyTuple_GET_ITEM(tree, i), replace);
    }
  } else if (PyDict_Check(tree) != 0) {
    const Deeper deeper;
    PyObject *key = nullptr, *value = nullptr;
    // Changes only values of existing keys, which is allowed while iterating over a dictionary.
    for (Py_ssize_t place = 0; PyDict_Next(tree, &place, &key, &value) != 0;) {
      if (is_array(value)) {
        if (PyDict_SetItem(tree, key, fresh(value).ptr()) != 0) throw py::error_already_set();
      } else {
        replace_arrays(value, replace);
      }
    }
  }
}

}  // namespace pippin::python::core
