#include "pippin/python/core/dtypes.h"

#include <string>

#include "pippin/python/core/errors.h"
#include "pippin/python/core/function.h"

namespace pippin::python::core {

namespace py = pybind11;

namespace {

struct DtypeObject {
  PyObject ob_base;
  mx::Dtype value;
};
PyTypeObject* dtype_type = nullptr;
PyObject* objects[mx::kNumDtypes] = {};

// The type's name in the module.
std::string name_of(mx::Dtype dtype) {
  return dtype == mx::bool_ ? "bool_" : std::string(mx::to_string(dtype));
}

PyObject* represent(PyObject* self) {
  // Programs compare this text.
  const std::string name(mx::to_string(dtype_of(self)));
  return PyUnicode_FromFormat("mlx.core.%s", name.c_str());
}

PyObject* get_size(PyObject* self, void*) {
  return PyLong_FromSize_t(mx::size_of(dtype_of(self)));
}

// Pickled and copied by name, since each dtype is a single object.
PyObject* reduce(PyObject* self, PyObject*) {
  return PyUnicode_FromString(name_of(dtype_of(self)).c_str());
}

void make_type(py::module_& module) {
  static PyGetSetDef properties[] = {{"size", &get_size, nullptr, "Bytes of an element.", nullptr},
                                     {nullptr, nullptr, nullptr, nullptr, nullptr}};
  static PyMethodDef methods[] = {{"__reduce__", &reduce, METH_NOARGS, nullptr},
                                  {nullptr, nullptr, 0, nullptr}};
  static const char doc[] = "The type of an array's elements.";
  PyType_Slot slots[] = {{Py_tp_repr, reinterpret_cast<void*>(&represent)},
                         {Py_tp_getset, properties},
                         {Py_tp_methods, methods},
                         {Py_tp_doc, const_cast<char*>(doc)},
                         {0, nullptr}};
  PyType_Spec spec = {"pippin.core.Dtype", sizeof(DtypeObject), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  dtype_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (dtype_type == nullptr) throw py::error_already_set();
  py::setattr(module, "Dtype", reinterpret_cast<PyObject*>(dtype_type));
  for (int i = 0; i < mx::kNumDtypes; ++i) {
    auto* const object = reinterpret_cast<DtypeObject*>(dtype_type->tp_alloc(dtype_type, 0));
    if (object == nullptr) throw py::error_already_set();
    object->value = static_cast<mx::Dtype>(i);
    objects[i] = reinterpret_cast<PyObject*>(object);
    py::setattr(module, name_of(object->value).c_str(), objects[i]);
  }
}

// A dtype or a category, as arguments of issubdtype() and isdtype().
bool is_part(PyObject* a, PyObject* b) {
  const auto category = [](PyObject* object) {
    return py::handle(object).cast<mx::DtypeCategory>();
  };
  if (is_dtype(a)) {
    if (is_dtype(b)) return a == b;
    return mx::issubdtype(dtype_of(a), category(b));
  }
  return !is_dtype(b) && mx::issubdtype(category(a), category(b));
}

bool is_of_kind(mx::Dtype dtype, const std::string& kind) {
  if (kind == "bool") return dtype == mx::bool_;
  if (kind == "signed integer") return mx::is_signed_integer(dtype);
  if (kind == "unsigned integer") return mx::is_unsigned(dtype);
  if (kind == "integral") return mx::is_integer(dtype);
  if (kind == "real floating") return mx::is_floating(dtype);
  if (kind == "complex floating") return dtype == mx::complex64;
  if (kind == "numeric") return dtype != mx::bool_;
  throw py::value_error("[isdtype] \"" + kind + "\" is not a kind of types.");
}

bool is_of(mx::Dtype dtype, py::handle kind) {
  if (is_dtype(kind.ptr())) return dtype == dtype_of(kind.ptr());
  if (py::isinstance<py::str>(kind)) return is_of_kind(dtype, kind.cast<std::string>());
  if (py::isinstance<py::tuple>(kind)) {
    for (const py::handle each : kind) {
      if (is_of(dtype, each)) return true;
    }
    return false;
  }
  throw py::type_error("isdtype() needs a Dtype, a str or a tuple of them");
}

mx::Dtype dtype_of_either(const Args& args, size_t i) {
  return is_dtype(args.raw(i)) ? args.dtype(i) : args.array(i).dtype();
}

PyObject* truth(bool value) {
  return PyBool_FromLong(value ? 1 : 0);
}

constexpr Definition kDtypesFunctions[] = {
    {"issubdtype", "arg1, arg2, /",
     [](const Args& args) { return truth(is_part(args.raw(0), args.raw(1))); }},
    {"isdtype", "dtype, kind",
     [](const Args& args) { return truth(is_of(args.dtype(0), args.raw(1))); }},
    {"can_cast", "from_, to",
     [](const Args& args) { return truth(mx::can_cast(dtype_of_either(args, 0), args.dtype(1))); }},
    {"result_type", "*arrays_and_dtypes",
     [](const Args& args) {
       if (args.rest().empty()) throw py::value_error("[result_type] Nothing is given.");
       mx::Dtype result = mx::bool_;
       for (PyObject* const each : args.rest()) {
         PyObject* one[] = {each};
         result = mx::promote_types(result, dtype_of_either(args.of(one), 0));
       }
       PyObject* const object = dtype_object(result);
       Py_INCREF(object);
       return object;
     }},
};

void bind_categories(py::module_& module) {
  py::class_<mx::DtypeCategory> type(module, "DtypeCategory",
                                     "Groups of types; generic holds all of them.");
  type.def("__eq__",
           [](mx::DtypeCategory a, const py::object& b) {
             return py::isinstance<mx::DtypeCategory>(b) && a == b.cast<mx::DtypeCategory>();
           })
      .def("__hash__", [](mx::DtypeCategory a) { return static_cast<int>(a); })
      .def("__repr__",
           [](mx::DtypeCategory a) { return "DtypeCategory." + std::string(mx::to_string(a)); });
  for (auto each = mx::DtypeCategory::ComplexFloating; each <= mx::DtypeCategory::Generic;
       each = static_cast<mx::DtypeCategory>(static_cast<int>(each) + 1)) {
    const std::string name(mx::to_string(each));
    const py::object value = py::cast(each);
    py::setattr(type, name.c_str(), value);
    py::setattr(module, name.c_str(), value);
  }
}

struct Finfo {
  mx::FloatInfo of;
  mx::Dtype dtype;
};
struct Iinfo {
  mx::IntegerInfo of;
  mx::Dtype dtype;
};

mx::Dtype checked(const py::object& dtype, const char* what) {
  if (!is_dtype(dtype.ptr())) throw py::type_error(std::string(what) + "() needs a Dtype");
  return dtype_of(dtype.ptr());
}

py::object object_of(mx::Dtype dtype) {
  return py::reinterpret_borrow<py::object>(dtype_object(dtype));
}

void bind_limits(py::module_& module) {
  py::class_<Finfo>(module, "finfo", "The properties of a floating-point type.")
      .def(py::init([](const py::object& dtype) {
             const mx::Dtype type = checked(dtype, "finfo");
             // For a complex type, that of its parts.
             return Finfo{mx::finfo(type), type == mx::complex64 ? mx::float32 : type};
           }),
           py::arg("dtype"))
      .def_property_readonly("bits", [](const Finfo& info) { return 8 * mx::size_of(info.dtype); })
      .def_property_readonly("min", [](const Finfo& info) { return info.of.min; })
      .def_property_readonly("max", [](const Finfo& info) { return info.of.max; })
      .def_property_readonly("eps", [](const Finfo& info) { return info.of.eps; })
      .def_property_readonly("smallest_normal",
                             [](const Finfo& info) { return info.of.smallest_normal; })
      .def_property_readonly("dtype", [](const Finfo& info) { return object_of(info.dtype); })
      .def("__repr__", [](const Finfo& info) {
        return py::str("finfo(min={}, max={}, dtype={})")
            .format(info.of.min, info.of.max, std::string(mx::to_string(info.dtype)));
      });
  py::class_<Iinfo>(module, "iinfo", "The smallest and largest number of an integer type.")
      .def(py::init([](const py::object& dtype) {
             const mx::Dtype type = checked(dtype, "iinfo");
             return Iinfo{mx::iinfo(type), type};
           }),
           py::arg("dtype"))
      .def_property_readonly("min", [](const Iinfo& info) { return info.of.min; })
      .def_property_readonly("max", [](const Iinfo& info) { return info.of.max; })
      .def_property_readonly("dtype", [](const Iinfo& info) { return object_of(info.dtype); })
      .def("__repr__", [](const Iinfo& info) {
        return py::str("iinfo(min={}, max={}, dtype={})")
            .format(info.of.min, info.of.max, std::string(mx::to_string(info.dtype)));
      });
}

}  // namespace

bool is_dtype(PyObject* object) noexcept {
  return Py_TYPE(object) == dtype_type;
}

mx::Dtype dtype_of(PyObject* object) noexcept {
  return reinterpret_cast<DtypeObject*>(object)->value;
}

PyObject* dtype_object(mx::Dtype dtype) noexcept {
  return objects[static_cast<int>(dtype)];
}

void bind_dtypes(py::module_& module) {
  make_type(module);
  bind_categories(module);
  bind_limits(module);
  define(module, "pippin.core", kDtypesFunctions);
}

}  // namespace pippin::python::core
