#include "pippin/python/core/methods.h"

#include <string>

#include "pippin/mx/ops/shape_ops.h"
#include "pippin/mx/ops/unary.h"
#include "pippin/python/core/convert.h"
#include "pippin/python/core/errors.h"
#include "pippin/python/core/function.h"
#include "pippin/python/core/object.h"
#include "pippin/python/core/print.h"

namespace pippin::python::core {

namespace py = pybind11;

namespace {

// Functions that are also methods: the module's function is bound to its first argument.
constexpr const char* kShared[] = {
    "abs",    "all",      "any",     "argmax",     "argmin",       "astype",    "conj", "cos",
    "cummax", "cummin",   "cumprod", "cumsum",     "diag",         "diagonal",  "exp",  "flatten",
    "log",    "log10",    "log1p",   "log2",       "logcumsumexp", "logsumexp", "max",  "mean",
    "min",    "moveaxis", "prod",    "reciprocal", "round",        "rsqrt",     "sin",  "split",
    "sqrt",   "square",   "squeeze", "std",        "sum",          "swapaxes",  "var",  "view"};

PyObject* number_of(const Args& args, PyObject* (*convert)(PyObject*)) {
  const py::object number = to_number(args.array(0));
  PyObject* const result = convert(number.ptr());
  if (result == nullptr) throw py::error_already_set();
  return result;
}

// Shapes and axes can be given as one sequence or as several arguments.
PyObject* spread(const Args& args, const char* function) {
  const std::span<PyObject* const> rest = args.rest();
  const py::object of = py::module_::import("pippin._pippin").attr("core").attr(function);
  const py::handle self = args.raw(0);
  if (rest.size() == 1 && PyIndex_Check(rest[0]) == 0) {
    return of(self, py::handle(rest[0])).release().ptr();
  }
  py::tuple numbers(rest.size());
  for (size_t i = 0; i < rest.size(); ++i) {
    numbers[i] = py::reinterpret_borrow<py::object>(rest[i]);
  }
  return of(self, numbers).release().ptr();
}

// Pickled as bytes, because NumPy has no bfloat16.
PyObject* reduce(const Args& args) {
  const mx::array a = args.array(0);
  const mx::array packed = mx::contiguous(a);
  evaluate(packed);
  const py::bytes data(reinterpret_cast<const char*>(packed.bytes()), packed.nbytes());
  py::tuple shape(a.ndim());
  for (size_t i = 0; i < a.ndim(); ++i) shape[i] = a.shape()[i];
  const std::string name(mx::to_string(a.dtype()));
  const py::object restore = py::module_::import("pippin.core").attr("_restore");
  return py::make_tuple(restore, py::make_tuple(data, shape, name)).release().ptr();
}

PyObject* restore(const Args& args) {
  if (PyBytes_Check(args.raw(0)) == 0) args.refuse(0, "bytes");
  const mx::Shape shape = args.shape(1);
  const std::string name = args.text(2, "");
  const int64_t count = mx::num_elements(shape);
  for (int i = 0; i < mx::kNumDtypes; ++i) {
    const auto dtype = static_cast<mx::Dtype>(i);
    if (name != mx::to_string(dtype)) continue;
    if (PyBytes_GET_SIZE(args.raw(0)) != count * static_cast<int64_t>(mx::size_of(dtype))) break;
    return give(mx::array(PyBytes_AS_STRING(args.raw(0)), dtype, shape, dtype));
  }
  throw py::value_error(
      "The pickled state is not an array: " + std::to_string(PyBytes_GET_SIZE(args.raw(0))) +
      " bytes for " + mx::to_string(shape) + " of \"" + name + "\".");
}

PyObject* text(PyObject* self) noexcept {
  return guarded([&] {
    const mx::array held = value_of(self);
    evaluate(held);
    const std::string written = to_text(held);
    return PyUnicode_FromStringAndSize(written.data(), static_cast<Py_ssize_t>(written.size()));
  });
}

constexpr Definition kMethodsMethods[] = {
    {"item", "self", [](const Args& args) { return to_number(args.array(0)).release().ptr(); }},
    {"tolist", "self", [](const Args& args) { return to_list(args.array(0)).release().ptr(); }},
    {"reshape", "self, /, *shape", [](const Args& args) { return spread(args, "reshape"); }},
    {"transpose", "self, /, *axes",
     [](const Args& args) {
       return args.rest().empty() ? give(mx::transpose(args.array(0))) : spread(args, "transpose");
     }},
    {"__complex__", "self",
     [](const Args& args) {
       return number_of(args, [](PyObject* number) {
         return PyObject_CallOneArg(reinterpret_cast<PyObject*>(&PyComplex_Type), number);
       });
     }},
    {"__format__", "self, format_spec, /",
     [](const Args& args) {
       const mx::array a = args.array(0);
       if (args.text(1, "").empty()) return PyObject_Str(args.raw(0));
       if (a.size() != 1) throw py::type_error("an array of several elements has no format");
       const py::object number = to_number(a);
       return PyObject_Format(number.ptr(), args.raw(1));
     }},
    {"__copy__", "self", [](const Args& args) { return give(args.array(0)); }},
    {"__deepcopy__", "self, memo, /", [](const Args& args) { return give(args.array(0)); }},
    {"__reduce__", "self", &reduce},
    {"__array_namespace__", "self, api_version=None",
     [](const Args& args) {
       if (args.has(1)) throw py::value_error("api_version cannot be chosen.");
       return py::module_::import("pippin.core").release().ptr();
     }},
};

constexpr Definition kMethodsFunctions[] = {
    {"_restore", "data, shape, dtype", &restore},
    {"_print_precision", "", [](const Args&) { return PyLong_FromLong(print_precision()); }},
    {"_set_print_precision", "precision",
     [](const Args& args) {
       set_print_precision(args.small(0));
       return give_none();
     }},
};

}  // namespace

PyObject* transposed(PyObject* self, void*) {
  return guarded([&] { return give(mx::transpose(value_of(self))); });
}

PyObject* real_part(PyObject* self, void*) {
  return guarded([&] { return give(mx::real(value_of(self))); });
}

PyObject* imaginary_part(PyObject* self, void*) {
  return guarded([&] { return give(mx::imag(value_of(self))); });
}

void add_text_slots(std::vector<PyType_Slot>& slots) {
  slots.push_back({Py_tp_repr, reinterpret_cast<void*>(&text)});
}

void bind_methods(py::module_& module) {
  const py::handle type = reinterpret_cast<PyObject*>(array_type);
  define(type, "pippin.core", kMethodsMethods);
  define(module, "pippin.core", kMethodsFunctions);
  for (const char* const name : kShared) py::setattr(type, name, module.attr(name));
}

}  // namespace pippin::python::core
