#include "pippin/python/core/object.h"

#include <cstddef>
#include <new>

#include <structmember.h>

#include "pippin/python/core/convert.h"
#include "pippin/python/core/dtypes.h"
#include "pippin/python/core/errors.h"
#include "pippin/python/core/function.h"
#include "pippin/python/core/methods.h"
#include "pippin/python/interrupt.h"

namespace pippin::python::core {

namespace py = pybind11;

PyTypeObject* array_type = nullptr;

namespace {

// Objects are created and destroyed with every operation: some are kept for reuse.
constexpr int kMostSpare = 128;
ArrayObject* spare[kMostSpare];
int num_spare = 0;

ArrayObject* allocate() noexcept {
  if (num_spare > 0) {
    ArrayObject* const object = spare[--num_spare];
    Py_INCREF(array_type);
    Py_SET_REFCNT(object, 1);
    return object;
  }
  return reinterpret_cast<ArrayObject*>(array_type->tp_alloc(array_type, 0));
}

void destroy(PyObject* self) {
  auto* const object = reinterpret_cast<ArrayObject*>(self);
  if (object->weak_references != nullptr) PyObject_ClearWeakRefs(self);
  object->value.~array();
  PyTypeObject* const type = Py_TYPE(self);
  if (num_spare < kMostSpare) {
    spare[num_spare++] = object;
  } else {
    type->tp_free(self);
  }
  Py_DECREF(type);
}

PyObject* make_new(PyTypeObject*, PyObject* args, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    static const char* names[] = {"val", "dtype", nullptr};
    PyObject *value = nullptr, *dtype = Py_None;
    if (PyArg_ParseTupleAndKeywords(args, keywords, "O|O:array", const_cast<char**>(names), &value,
                                    &dtype) == 0) {
      throw py::error_already_set();
    }
    if (dtype != Py_None && !is_dtype(dtype)) {
      throw py::type_error("array() argument 'dtype' has to be a Dtype");
    }
    return give(create(value, dtype == Py_None ? std::nullopt : std::optional(dtype_of(dtype))));
  });
}

PyObject* shape(PyObject* self, void*) {
  const mx::Shape& sizes = value_of(self).shape();
  PyObject* const result = PyTuple_New(static_cast<Py_ssize_t>(sizes.size()));
  if (result == nullptr) return nullptr;
  for (size_t i = 0; i < sizes.size(); ++i) {
    PyTuple_SET_ITEM(result, static_cast<Py_ssize_t>(i), PyLong_FromLongLong(sizes[i]));
  }
  return result;
}

PyObject* dtype(PyObject* self, void*) {
  PyObject* const result = dtype_object(value_of(self).dtype());
  Py_INCREF(result);
  return result;
}

PyGetSetDef properties[] = {
    {"shape", &shape, nullptr, "The sizes of the axes.", nullptr},
    {"dtype", &dtype, nullptr, "The type of the elements.", nullptr},
    {"ndim", [](PyObject* self, void*) { return PyLong_FromSize_t(value_of(self).ndim()); },
     nullptr, "The number of axes.", nullptr},
    {"size", [](PyObject* self, void*) { return PyLong_FromLongLong(value_of(self).size()); },
     nullptr, "The number of elements.", nullptr},
    {"itemsize", [](PyObject* self, void*) { return PyLong_FromSize_t(value_of(self).itemsize()); },
     nullptr, "Bytes of an element.", nullptr},
    {"nbytes", [](PyObject* self, void*) { return PyLong_FromSize_t(value_of(self).nbytes()); },
     nullptr, "Bytes of all elements.", nullptr},
    {"T", &transposed, nullptr, "The transposed array.", nullptr},
    {"real", &real_part, nullptr, "The real part.", nullptr},
    {"imag", &imaginary_part, nullptr, "The imaginary part.", nullptr},
    {"at", &at, nullptr, "x.at[indices].add(y): updates of equal indices accumulate.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(ArrayObject, weak_references), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

constexpr char kDoc[] =
    "array(val, dtype=None)\n--\n\nAn array of numbers, which may not be computed yet.";

}  // namespace

PyObject* wrap(mx::array value) noexcept {
  ArrayObject* const object = allocate();
  if (object == nullptr) return nullptr;
  new (&object->value) mx::array(std::move(value));
  object->weak_references = nullptr;
  return reinterpret_cast<PyObject*>(object);
}

PyObject* wrap_list(std::vector<mx::array> values) {
  py::list result(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    PyList_SET_ITEM(result.ptr(), static_cast<Py_ssize_t>(i), give(std::move(values[i])));
  }
  return result.release().ptr();
}

PyObject* wrap_tuple(std::vector<mx::array> values) {
  py::tuple result(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    PyTuple_SET_ITEM(result.ptr(), static_cast<Py_ssize_t>(i), give(std::move(values[i])));
  }
  return result.release().ptr();
}

void evaluate(std::span<const mx::array> arrays) {
  run_call(nullptr, [&] { mx::eval(arrays); });
}

void evaluate(const mx::array& a) {
  if (a.is_available()) return;
  const mx::array held = a;  // the object may get another value meanwhile
  evaluate({&held, 1});
}

void bind_array(py::module_& module) {
  std::vector<PyType_Slot> slots = {{Py_tp_new, reinterpret_cast<void*>(&make_new)},
                                    {Py_tp_dealloc, reinterpret_cast<void*>(&destroy)},
                                    {Py_tp_getset, properties},
                                    {Py_tp_members, members},
                                    {Py_tp_doc, const_cast<char*>(kDoc)}};
  add_number_slots(slots);
  add_index_slots(slots);
  add_text_slots(slots);
  add_buffer_slots(slots);
  slots.push_back({0, nullptr});
  PyType_Spec spec = {"pippin.core.array", sizeof(ArrayObject), 0, Py_TPFLAGS_DEFAULT,
                      slots.data()};
  array_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (array_type == nullptr) throw py::error_already_set();
  py::setattr(module, "array", reinterpret_cast<PyObject*>(array_type));
}

}  // namespace pippin::python::core
