// x[...], x[...] = y, x.at[...].add(y), len(x) and iteration.
#include <string>

#include "pippin/mx/core/index.h"
#include "pippin/mx/ops/binary.h"
#include "pippin/mx/ops/shape_ops.h"
#include "pippin/mx/ops/unary.h"
#include "pippin/python/core/convert.h"
#include "pippin/python/core/errors.h"
#include "pippin/python/core/function.h"
#include "pippin/python/core/index.h"
#include "pippin/python/core/lists.h"
#include "pippin/python/core/methods.h"
#include "pippin/python/core/object.h"

namespace pippin::python::core {

namespace py = pybind11;

namespace {

PyObject* get_item(PyObject* self, PyObject* index) noexcept {
  return guarded([&] {
    const mx::array& value = value_of(self);
    return give(Index(index, value.shape()).get(value));
  });
}

mx::array update_of(PyObject* object, const mx::array& other) {
  if (auto found = try_array(object, other.dtype())) {
    return mx::astype(*found, other.dtype());
  }
  if (PyList_Check(object) != 0 || PyTuple_Check(object) != 0) {
    return create(object, other.dtype());
  }
  throw py::value_error("Cannot assign a " + std::string(Py_TYPE(object)->tp_name) +
                        " to elements of an array.");
}

// A mask over the first axes, or an empty value.
std::optional<mx::array> mask_of(PyObject* index) {
  if (is_array(index) && value_of(index).dtype() == mx::bool_) return value_of(index);
  if (PyBool_Check(index) != 0) return mx::array(index == Py_True);
  if (PyList_Check(index) != 0 && PyList_GET_SIZE(index) > 0) {
    mx::array found = array_of_lists(index, std::nullopt);
    return found.dtype() == mx::bool_ ? std::optional(std::move(found)) : std::nullopt;
  }
  if (is_array(index) || PyIndex_Check(index) != 0 || PySlice_Check(index) != 0 ||
      PyTuple_Check(index) != 0 || PyObject_CheckBuffer(index) == 0) {
    return std::nullopt;
  }
  auto found = try_array(index, std::nullopt);
  return found && found->dtype() == mx::bool_ ? found : std::nullopt;
}

mx::array with_update(const mx::array& value, PyObject* index, PyObject* update) {
  const mx::array given = update_of(update, value);
  if (const auto mask = mask_of(index)) {
    if (given.size() == 1) {
      mx::Shape shape = mask->shape();
      while (shape.size() < value.ndim()) shape.push_back(1);
      if (mask->ndim() > value.ndim()) return mx::masked_scatter(value, *mask, given);
      const mx::array whole = mx::broadcast_to(mx::reshape(*mask, shape), value.shape());
      return mx::where(whole, mx::reshape(given, mx::Shape()), value);
    }
    return mx::masked_scatter(value, *mask, given);
  }
  return Index(index, value.shape()).set(value, given, mx::UpdateMode::None);
}

int set(PyObject* self, PyObject* index, PyObject* update) noexcept {
  return guarded_status([&] {
    if (update == nullptr) throw py::type_error("elements of an array cannot be deleted");
    // Keeps the result alive before replacing the old value, whose memory it may share.
    const mx::array result = with_update(value_of(self), index, update);
    value_of(self).overwrite(result);
  });
}

Py_ssize_t length(PyObject* self) noexcept {
  const mx::array& value = value_of(self);
  if (value.ndim() == 0) {
    PyErr_SetString(PyExc_TypeError, "len() of a 0-dimensional array");
    return -1;
  }
  return static_cast<Py_ssize_t>(value.shape()[0]);
}

struct IteratorObject {
  PyObject ob_base;
  PyObject* array;
  int64_t next;
};
PyTypeObject* iterator_type = nullptr;

PyObject* iterate(PyObject* self) noexcept {
  if (length(self) < 0) return nullptr;
  auto* const iterator =
      reinterpret_cast<IteratorObject*>(iterator_type->tp_alloc(iterator_type, 0));
  if (iterator == nullptr) return nullptr;
  // Takes the current value: later assignments do not change the iteration.
  iterator->array = wrap(value_of(self));
  if (iterator->array == nullptr) {
    Py_DECREF(iterator);
    return nullptr;
  }
  return reinterpret_cast<PyObject*>(iterator);
}

PyObject* next(PyObject* self) noexcept {
  auto* const iterator = reinterpret_cast<IteratorObject*>(self);
  const mx::array& value = value_of(iterator->array);
  if (iterator->next >= value.shape()[0]) return nullptr;
  return guarded([&] { return give(mx::take(value, iterator->next++, 0)); });
}

void destroy_iterator(PyObject* self) {
  Py_XDECREF(reinterpret_cast<IteratorObject*>(self)->array);
  PyTypeObject* const type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

// x.at and, with an index, x.at[index].
struct At {
  py::object array, index;
};

py::object updated(const At& at, const py::object& value, mx::UpdateMode mode,
                   mx::array (*change)(const mx::array&)) {
  if (!at.index) throw py::value_error("An index is needed: x.at[0].add(4).");
  const mx::array& a = value_of(at.array.ptr());
  mx::array update = update_of(value.ptr(), a);
  if (change != nullptr) update = mx::astype(change(update), a.dtype());
  return py::reinterpret_steal<py::object>(
      give(Index(at.index.ptr(), a.shape()).set(a, update, mode)));
}

template <mx::UpdateMode mode, mx::array (*change)(const mx::array&) = nullptr>
py::object update(const At& at, const py::object& value) {
  return updated(at, value, mode, change);
}

}  // namespace

PyObject* at(PyObject* self, void*) {
  return guarded([&] {
    return py::cast(At{py::reinterpret_borrow<py::object>(self), py::object()}).release().ptr();
  });
}

void add_index_slots(std::vector<PyType_Slot>& slots) {
  slots.push_back({Py_mp_subscript, reinterpret_cast<void*>(&get_item)});
  slots.push_back({Py_mp_ass_subscript, reinterpret_cast<void*>(&set)});
  slots.push_back({Py_mp_length, reinterpret_cast<void*>(&length)});
  slots.push_back({Py_tp_iter, reinterpret_cast<void*>(&iterate)});
}

void bind_subscripts(py::module_& module) {
  PyType_Slot slots[] = {{Py_tp_iter, reinterpret_cast<void*>(&PyObject_SelfIter)},
                         {Py_tp_iternext, reinterpret_cast<void*>(&next)},
                         {Py_tp_dealloc, reinterpret_cast<void*>(&destroy_iterator)},
                         {0, nullptr}};
  PyType_Spec spec = {"pippin.core.ArrayIterator", sizeof(IteratorObject), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  iterator_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (iterator_type == nullptr) throw py::error_already_set();
  py::setattr(module, "ArrayIterator", reinterpret_cast<PyObject*>(iterator_type));

  py::class_<At>(module, "ArrayAt", "Updates of elements: x.at[index].add(y).")
      .def("__getitem__",
           [](const At& at, const py::object& index) {
             return At{at.array, index};
           })
      .def("add", &update<mx::UpdateMode::Add>, py::arg("value"))
      .def("subtract", &update<mx::UpdateMode::Add, &mx::negative>, py::arg("value"))
      .def("multiply", &update<mx::UpdateMode::Multiply>, py::arg("value"))
      .def("divide", &update<mx::UpdateMode::Multiply, &mx::reciprocal>, py::arg("value"))
      .def("maximum", &update<mx::UpdateMode::Maximum>, py::arg("value"))
      .def("minimum", &update<mx::UpdateMode::Minimum>, py::arg("value"));
}

}  // namespace pippin::python::core
