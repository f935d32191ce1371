#include "pippin/python/core/function.h"

#include <algorithm>
#include <climits>
#include <cstddef>

#include <structmember.h>

#include "pippin/base/error.h"
#include "pippin/python/core/convert.h"
#include "pippin/python/core/dtypes.h"
#include "pippin/python/core/errors.h"
#include "pippin/python/core/object.h"

namespace pippin::python::core {

namespace py = pybind11;

namespace {

constexpr size_t kMostParameters = 16;

}  // namespace

struct Parameters {
  const char* function;
  std::vector<PyObject*> names;  // interned
  size_t num_positional = 0;     // from the left
  size_t num_positional_only = 0;
  std::vector<bool> is_required;
  bool has_rest = false;
};

namespace {

struct FunctionObject {
  PyObject ob_base;
  vectorcallfunc call;
  Parameters* parameters;
  Body body;
  PyObject *name, *qualified_name, *module, *doc, *text_signature;
};
PyTypeObject* function_type = nullptr;

[[noreturn]] void refuse_call(const Parameters& parameters, const std::string& why) {
  throw py::type_error(std::string(parameters.function) + "() " + why);
}

// Reads "a, /, axis=None, *, keepdims=False".
Parameters* parse(const char* name, const std::string& signature) {
  auto* const result = new Parameters{name, {}, 0, 0, {}, false};
  bool is_keyword_only = false;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= signature.size(); ++i) {
    const char c = i < signature.size() ? signature[i] : ',';
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    if (c != ',' || depth > 0) continue;
    std::string part = signature.substr(begin, i - begin);
    begin = i + 1;
    part.erase(0, part.find_first_not_of(' '));
    if (part.empty()) continue;
    if (part == "/") {
      result->num_positional_only = result->names.size();
    } else if (part[0] == '*') {
      is_keyword_only = true;
      result->has_rest = part.size() > 1;
    } else {
      const size_t equals = part.find('=');
      result->names.push_back(PyUnicode_InternFromString(part.substr(0, equals).c_str()));
      result->is_required.push_back(equals == part.npos);
      if (!is_keyword_only) result->num_positional = result->names.size();
    }
  }
  return result;
}

size_t place_of(const Parameters& parameters, PyObject* name) {
  const auto& names = parameters.names;
  for (size_t i = parameters.num_positional_only; i < names.size(); ++i) {
    if (names[i] == name) return i;
  }
  for (size_t i = parameters.num_positional_only; i < names.size(); ++i) {
    if (PyUnicode_Compare(names[i], name) == 0) return i;
  }
  refuse_call(parameters,
              "got an unexpected keyword argument '" + std::string(py::str(name)) + "'");
}

PyObject* call(PyObject* self, PyObject* const* args, size_t flags, PyObject* keywords) noexcept {
  return guarded([&] {
    const auto& function = *reinterpret_cast<FunctionObject*>(self);
    const Parameters& parameters = *function.parameters;
    PyObject* values[kMostParameters] = {};
    const auto given = static_cast<size_t>(PyVectorcall_NARGS(flags));
    std::span<PyObject* const> rest;
    const size_t placed = std::min(given, parameters.num_positional);
    std::copy(args, args + placed, values);
    if (given > placed) {
      if (!parameters.has_rest) {
        refuse_call(parameters, "takes at most " + std::to_string(parameters.num_positional) +
                                    " positional arguments but " + std::to_string(given) +
                                    " were given");
      }
      rest = {args + placed, given - placed};
    }
    const Py_ssize_t num_keywords = keywords == nullptr ? 0 : PyTuple_GET_SIZE(keywords);
    for (Py_ssize_t i = 0; i < num_keywords; ++i) {
      PyObject* const name = PyTuple_GET_ITEM(keywords, i);
      const size_t place = place_of(parameters, name);
      if (values[place] != nullptr) {
        refuse_call(parameters,
                    "got multiple values for argument '" + std::string(py::str(name)) + "'");
      }
      values[place] = args[given + static_cast<size_t>(i)];
    }
    for (size_t i = placed; i < parameters.names.size(); ++i) {
      if (parameters.is_required[i] && values[i] == nullptr) {
        refuse_call(parameters,
                    "needs the argument '" + std::string(py::str(parameters.names[i])) + "'");
      }
    }
    if (PyObject* const stream = values[parameters.names.size() - 1]; stream && stream != Py_None) {
      py::module_::import("pippin.core._devices").attr("_checked")(py::handle(stream));
    }
    return function.body(Args(parameters, values, rest, placed));
  });
}

// Binds it as a method: it is called with the object first.
PyObject* bind(PyObject* self, PyObject* object, PyObject*) {
  if (object == nullptr || object == Py_None) {
    Py_INCREF(self);
    return self;
  }
  return PyMethod_New(self, object);
}

template <PyObject* FunctionObject::*field>
PyObject* get(PyObject* self, void*) {
  PyObject* const value = reinterpret_cast<FunctionObject*>(self)->*field;
  Py_INCREF(value);
  return value;
}

PyObject* represent(PyObject* self) {
  const auto& function = *reinterpret_cast<FunctionObject*>(self);
  return PyUnicode_FromFormat("<function %U.%U>", function.module, function.qualified_name);
}

// Pickled and copied by name.
PyObject* reduce(PyObject* self, PyObject*) {
  PyObject* const name = reinterpret_cast<FunctionObject*>(self)->qualified_name;
  Py_INCREF(name);
  return name;
}

void destroy_function(PyObject* self) {
  // Functions are created once and live as long as the module, and so do their definitions.
  PyTypeObject* const type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

int64_t to_integer(const Args& args, size_t i, const char* wanted) {
  PyObject* const value = args.raw(i);
  if (PyLong_CheckExact(value) == 0 && PyIndex_Check(value) == 0) args.refuse(i, wanted);
  const auto index = py::reinterpret_steal<py::object>(PyNumber_Index(value));
  if (!index) throw py::error_already_set();
  const long long result = PyLong_AsLongLong(index.ptr());
  if (result == -1 && PyErr_Occurred() != nullptr) throw py::error_already_set();
  return result;
}

int narrow(const Parameters& parameters, int64_t value) {
  if (value < INT_MIN || value > INT_MAX) {
    fail(ErrorCode::InvalidArgument, "[{}] {} does not fit in 32 bits.", parameters.function,
         value);
  }
  return static_cast<int>(value);
}

}  // namespace

void Args::refuse(size_t i, const char* wanted) const {
  refuse_call(parameters_, "argument '" + std::string(py::str(parameters_.names[i])) +
                               "' has to be " + wanted + ", not " + Py_TYPE(values_[i])->tp_name);
}

mx::array Args::array(size_t i) const {
  if (is_array(values_[i])) return value_of(values_[i]);
  if (auto found = try_array(values_[i], std::nullopt)) return *std::move(found);
  refuse(i, "an array");
}

std::optional<mx::array> Args::maybe_array(size_t i) const {
  if (!has(i)) return std::nullopt;
  return array(i);
}

std::pair<mx::array, mx::array> Args::operands(size_t a, size_t b) const {
  PyObject *const left = values_[a], *const right = values_[b];
  const auto weak = [&](size_t i, const mx::array& other) {
    if (auto found = try_array(values_[i], other.dtype())) return *std::move(found);
    refuse(i, "an array or a number");
  };
  if (is_array(left)) {
    const mx::array& first = value_of(left);
    return {first, is_array(right) ? value_of(right) : weak(b, first)};
  }
  if (is_array(right)) return {weak(a, value_of(right)), value_of(right)};
  return {array(a), array(b)};
}

std::vector<mx::array> Args::arrays(size_t i) const {
  if (PyList_Check(values_[i]) == 0 && PyTuple_Check(values_[i]) == 0) {
    refuse(i, "a list of arrays");
  }
  std::vector<mx::array> result;
  const py::handle sequence = values_[i];
  result.reserve(py::len(sequence));
  for (const py::handle each : sequence) {
    auto found = try_array(each.ptr(), std::nullopt);
    if (!found) refuse(i, "a list of arrays");
    result.push_back(*std::move(found));
  }
  return result;
}

bool Args::flag(size_t i, bool otherwise) const {
  if (!has(i)) return otherwise;
  if (values_[i] == Py_True) return true;
  if (values_[i] == Py_False) return false;
  const int truth = PyObject_IsTrue(values_[i]);
  if (truth < 0) throw py::error_already_set();
  return truth != 0;
}

int64_t Args::integer(size_t i) const {
  return to_integer(*this, i, "an integer");
}

int Args::small(size_t i) const {
  return narrow(parameters_, integer(i));
}

double Args::number(size_t i) const {
  const double value = PyFloat_AsDouble(values_[i]);
  if (value == -1.0 && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    refuse(i, "a number");
  }
  return value;
}

std::string Args::text(size_t i, const char* otherwise) const {
  if (!has(i)) return otherwise;
  if (PyUnicode_Check(values_[i]) == 0) refuse(i, "a str");
  return py::handle(values_[i]).cast<std::string>();
}

mx::Dtype Args::dtype(size_t i) const {
  if (!is_dtype(values_[i])) refuse(i, "a Dtype");
  return dtype_of(values_[i]);
}

mx::Shape Args::shape(size_t i) const {
  constexpr const char* kWanted = "an integer or a sequence of them";
  mx::Shape result;
  PyObject* const value = values_[i];
  if (PyTuple_Check(value) == 0 && PyList_Check(value) == 0) {
    if (PyIndex_Check(value) == 0) refuse(i, kWanted);
    result.push_back(to_integer(*this, i, kWanted));
    return result;
  }
  PyObject* const* const items = PySequence_Fast_ITEMS(value);
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(value);
  for (Py_ssize_t j = 0; j < count; ++j) {
    long long size = 0;
    if (PyLong_CheckExact(items[j]) != 0) {
      size = PyLong_AsLongLong(items[j]);
    } else {
      if (PyIndex_Check(items[j]) == 0) refuse(i, kWanted);
      const auto index = py::reinterpret_steal<py::object>(PyNumber_Index(items[j]));
      if (!index) throw py::error_already_set();
      size = PyLong_AsLongLong(index.ptr());
    }
    if (size == -1 && PyErr_Occurred() != nullptr) throw py::error_already_set();
    result.push_back(size);
  }
  return result;
}

std::vector<int> Args::smalls(size_t i) const {
  std::vector<int> result;
  for (const int64_t each : shape(i)) result.push_back(narrow(parameters_, each));
  return result;
}

void bind_function_type() {
  static PyMemberDef members[] = {
      {"__vectorcalloffset__", T_PYSSIZET, offsetof(FunctionObject, call), READONLY, nullptr},
      {nullptr, 0, 0, 0, nullptr}};
  static PyGetSetDef properties[] = {
      {"__name__", &get<&FunctionObject::name>, nullptr, nullptr, nullptr},
      {"__qualname__", &get<&FunctionObject::qualified_name>, nullptr, nullptr, nullptr},
      {"__module__", &get<&FunctionObject::module>, nullptr, nullptr, nullptr},
      {"__doc__", &get<&FunctionObject::doc>, nullptr, nullptr, nullptr},
      {"__text_signature__", &get<&FunctionObject::text_signature>, nullptr, nullptr, nullptr},
      {nullptr, nullptr, nullptr, nullptr, nullptr}};
  static PyMethodDef methods[] = {{"__reduce__", &reduce, METH_NOARGS, nullptr},
                                  {nullptr, nullptr, 0, nullptr}};
  PyType_Slot slots[] = {{Py_tp_call, reinterpret_cast<void*>(&PyVectorcall_Call)},
                         {Py_tp_descr_get, reinterpret_cast<void*>(&bind)},
                         {Py_tp_repr, reinterpret_cast<void*>(&represent)},
                         {Py_tp_dealloc, reinterpret_cast<void*>(&destroy_function)},
                         {Py_tp_members, members},
                         {Py_tp_getset, properties},
                         {Py_tp_methods, methods},
                         {0, nullptr}};
  PyType_Spec spec = {"pippin.core._Function", sizeof(FunctionObject), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL |
                          Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                      slots};
  function_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (function_type == nullptr) throw py::error_already_set();
}

void define(py::handle scope, const char* module, std::span<const Definition> definitions) {
  const bool is_type = PyType_Check(scope.ptr()) != 0;
  for (const Definition& each : definitions) {
    std::string signature = each.signature;
    if (!signature.empty()) signature += ", ";
    signature += "stream=None";
    auto* const object =
        reinterpret_cast<FunctionObject*>(function_type->tp_alloc(function_type, 0));
    if (object == nullptr) throw py::error_already_set();
    object->call = &call;
    object->parameters = parse(each.name, signature);
    object->body = each.body;
    object->name = PyUnicode_InternFromString(each.name);
    object->qualified_name =
        is_type ? PyUnicode_FromFormat("array.%s", each.name) : py::str(each.name).release().ptr();
    object->module = PyUnicode_InternFromString(module);
    object->doc = PyUnicode_FromString(each.doc);
    object->text_signature = PyUnicode_FromFormat("(%s)", signature.c_str());
    const auto function = py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(object));
    py::setattr(scope, each.name, function);
  }
}

void alias(py::handle scope, const char* name, const char* of) {
  py::setattr(scope, name, scope.attr(of));
}

PyObject* give(mx::array value) {
  PyObject* const result = wrap(std::move(value));
  if (result == nullptr) throw py::error_already_set();
  return result;
}

PyObject* give_list(std::vector<mx::array> values) {
  return wrap_list(std::move(values));
}

PyObject* give_tuple(std::vector<mx::array> values) {
  return wrap_tuple(std::move(values));
}

PyObject* give_none() {
  Py_RETURN_NONE;
}

}  // namespace pippin::python::core
