#include "pippin/python/core/memory.h"

#include <bit>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/base/error.h"
#include "pippin/mx/ops/shape_ops.h"
#include "pippin/mx/ops/unary.h"
#include "pippin/python/core/dlpack.h"
#include "pippin/python/core/errors.h"
#include "pippin/python/core/function.h"
#include "pippin/python/core/object.h"
#include "pippin/python/lock.h"

namespace pippin::python::core {

namespace py = pybind11;

namespace {

using mx::Dtype;

// The type of a format letter of the struct module; complex128 is marked.
struct Element {
  Dtype dtype;
  bool is_complex128 = false;
};
std::optional<Element> element_of(std::string_view format, Py_ssize_t size) {
  if (!format.empty() && std::string_view("<=@").find(format[0]) != format.npos) {
    format.remove_prefix(1);
  }
  if (format == "Zf") return Element{mx::complex64};
  if (format == "Zd") return Element{mx::complex64, true};
  if (format == "bfloat16") return Element{mx::bfloat16};
  if (format.size() != 1) return std::nullopt;
  switch (format[0]) {
    case '?':
      return Element{mx::bool_};
    case 'e':
      return Element{mx::float16};
    case 'f':
      return Element{mx::float32};
    case 'd':
      return Element{mx::float64};
    default:
      break;
  }
  const bool is_signed = std::string_view("bhilqn").find(format[0]) != std::string_view::npos;
  const bool is_plain = std::string_view("BHILQNc").find(format[0]) != std::string_view::npos;
  if (!is_signed && !is_plain) return std::nullopt;
  constexpr Dtype kSigned[] = {mx::int8, mx::int16, mx::int32, mx::int64};
  constexpr Dtype kPlain[] = {mx::uint8, mx::uint16, mx::uint32, mx::uint64};
  const auto index = static_cast<size_t>(std::countr_zero(static_cast<size_t>(size)));
  if (index > 3) return std::nullopt;
  return Element{is_signed ? kSigned[index] : kPlain[index]};
}

const char* format_of(Dtype dtype) {
  constexpr const char* kFormats[mx::kNumDtypes] = {"?", "B", "H", "I", "Q", "b",        "h",
                                                    "i", "q", "e", "f", "d", "bfloat16", "Zf"};
  return kFormats[static_cast<int>(dtype)];
}

struct Release {
  void operator()(Py_buffer* view) const {
    if (Py_IsInitialized() == 0) return;  // the interpreter has ended
    const Locked lock;
    PyBuffer_Release(view);
    delete view;
  }
};
using View = std::unique_ptr<Py_buffer, Release>;

// Returns null, without an error, for an object without a buffer.
View view_of(PyObject* object, int flags) {
  if (PyObject_CheckBuffer(object) == 0) return nullptr;
  auto fresh = std::make_unique<Py_buffer>();
  if (PyObject_GetBuffer(object, fresh.get(), flags) != 0) {
    PyErr_Clear();
    return nullptr;
  }
  return View(fresh.release());
}

Element checked_element(const Py_buffer& view) {
  const char* const format = view.format == nullptr ? "B" : view.format;
  const auto element = element_of(format, view.itemsize);
  if (!element) {
    throw py::value_error("[convert] Elements of the format \"" + std::string(format) +
                          "\" are not numbers that an array can hold.");
  }
  return *element;
}

mx::Shape shape_of(const Py_buffer& view) {
  return mx::Shape(view.shape, view.shape + view.ndim);
}

Dtype narrowed(Dtype dtype) {
  return dtype == mx::float64 ? mx::float32 : dtype;
}

// Evaluated now, since the memory may change later.
mx::array packed_copy(const mx::array& shared, Dtype dtype) {
  const mx::array packed = mx::contiguous(shared);
  evaluate(packed);
  return mx::array(packed.bytes(), packed.dtype(), packed.shape(), dtype);
}

mx::array copied(Py_buffer& view, std::optional<Dtype> wanted) {
  const Element element = checked_element(view);
  const mx::Shape shape = shape_of(view);
  const Dtype dtype = wanted.value_or(narrowed(element.dtype));
  const void* data = view.buf;
  std::vector<std::byte> packed;
  if (PyBuffer_IsContiguous(&view, 'C') == 0) {
    packed.resize(static_cast<size_t>(view.len));
    if (PyBuffer_ToContiguous(packed.data(), &view, view.len, 'C') != 0) {
      throw py::error_already_set();
    }
    data = packed.data();
  }
  if (!element.is_complex128) return mx::array(data, element.dtype, shape, dtype);
  const auto* const doubles = static_cast<const double*>(data);
  std::vector<float> halves(doubles, doubles + 2 * mx::num_elements(shape));
  return mx::array(halves.data(), mx::complex64, shape, dtype);
}

// NumPy has no bfloat16, and packages that add it have no buffers for it.
py::object plain_view(PyObject* object) {
  const auto held = py::reinterpret_borrow<py::object>(object);
  const py::object dtype = py::getattr(held, "dtype", py::none());
  if (dtype.is_none() || !py::hasattr(held, "view") || std::string(py::str(dtype)) != "bfloat16") {
    return py::none();
  }
  return held.attr("view")("uint16");
}

std::optional<mx::array> shared_view(PyObject* object) {
  View view = view_of(object, PyBUF_RECORDS_RO);
  if (!view) return std::nullopt;
  const Element element = checked_element(*view);
  if (element.is_complex128 || element.dtype == mx::float64) return std::nullopt;
  mx::Strides strides;
  for (int axis = 0; axis < view->ndim; ++axis) {
    if (view->strides[axis] % view->itemsize != 0) return std::nullopt;
    strides.push_back(view->strides[axis] / view->itemsize);
  }
  if (reinterpret_cast<uintptr_t>(view->buf) % static_cast<uintptr_t>(view->itemsize) != 0) {
    return std::nullopt;
  }
  mx::Shape shape = shape_of(*view);
  // Changes that others make to the memory are visible. Arrays are values and never write to it.
  Py_buffer* const held = view.release();
  return mx::array::borrow(
      held->buf, element.dtype, std::move(shape), std::move(strides), [held] { Release()(held); },
      false);
}

// The data of a Py_buffer of an array, kept while it is held.
struct Description {
  mx::array value;
  std::vector<Py_ssize_t> shape, strides;  // strides in bytes
};

void fill(Py_buffer& view, int flags, Description& description) {
  const mx::array& value = description.value;
  const auto wants = [&](int what) { return (flags & what) == what; };
  const auto item = static_cast<Py_ssize_t>(value.itemsize());
  for (size_t i = 0; i < value.ndim(); ++i) {
    description.shape.push_back(value.shape()[i]);
    description.strides.push_back(value.strides()[i] * item);
  }
  view.buf = const_cast<std::byte*>(value.bytes());
  view.itemsize = item;
  view.len = static_cast<Py_ssize_t>(value.nbytes());
  view.readonly = is_writable(value) ? 0 : 1;
  view.ndim = static_cast<int>(value.ndim());
  view.format = const_cast<char*>(format_of(value.dtype()));
  view.shape = description.shape.data();
  view.strides = description.strides.data();
  const bool fits = (!wants(PyBUF_WRITABLE) || view.readonly == 0) &&
                    (wants(PyBUF_STRIDES) || value.is_row_major()) &&
                    (!wants(PyBUF_C_CONTIGUOUS) || PyBuffer_IsContiguous(&view, 'C') != 0) &&
                    (!wants(PyBUF_F_CONTIGUOUS) || PyBuffer_IsContiguous(&view, 'F') != 0) &&
                    (!wants(PyBUF_ANY_CONTIGUOUS) || PyBuffer_IsContiguous(&view, 'A') != 0);
  if (!fits) throw py::buffer_error("the array is not as the buffer is asked for");
  if (!wants(PyBUF_FORMAT)) view.format = nullptr;
  if (!wants(PyBUF_STRIDES)) view.strides = nullptr;
  if (!wants(PyBUF_ND)) view.shape = nullptr;
}

int get_buffer(PyObject* self, Py_buffer* view, int flags) noexcept {
  *view = {};
  return guarded_status([&] {
    auto description = std::make_unique<Description>(Description{value_of(self), {}, {}});
    evaluate(description->value);
    fill(*view, flags, *description);
    view->internal = description.release();
    Py_INCREF(self);
    view->obj = self;
  });
}

void release_buffer(PyObject*, Py_buffer* view) noexcept {
  delete static_cast<Description*>(view->internal);
}

py::object numpy_of(PyObject* self) {
  if (value_of(self).dtype() == mx::bfloat16) {
    throw py::type_error("bfloat16 arrays cannot be converted to NumPy.");
  }
  return py::module_::import("numpy").attr("asarray")(
      py::reinterpret_steal<py::object>(PyMemoryView_FromObject(self)));
}

constexpr Definition kMemoryMethods[] = {
    {"__array__", "self, dtype=None, copy=None",
     [](const Args& args) {
       py::object result = numpy_of(args.raw(0));
       const py::object dtype = args.has(1) ? py::reinterpret_borrow<py::object>(args.raw(1))
                                            : py::object(result.attr("dtype"));
       return result.attr("astype")(dtype, py::arg("copy") = args.flag(2, false)).release().ptr();
     }},
    {"__dlpack__", "self, *, max_version=None, dl_device=None, copy=None",
     [](const Args& args) {
       const auto copy = args.has(3) ? std::optional(args.flag(3, false)) : std::nullopt;
       return give_dlpack(value_of(args.raw(0)), args.raw(1), args.raw(2), copy);
     }},
    {"__dlpack_device__", "self", [](const Args&) { return py::make_tuple(1, 0).release().ptr(); }},
};

constexpr Definition kMemoryFunctions[] = {
    {"from_dlpack", "x, /, *, copy=None",
     [](const Args& args) {
       const bool has_copy = args.has(1);
       const bool copy = args.flag(1, false);
       auto shared = share_dlpack(args.raw(0));
       // NumPy exports no capsules of bools or read-only memory.
       if (!shared && PyObject_HasAttrString(args.raw(0), "__dlpack__") != 0) {
         shared = shared_view(args.raw(0));
         if (!shared && (!has_copy || copy)) {
           if (auto read = read_memory(args.raw(0), std::nullopt)) return give(*std::move(read));
         }
       }
       if (!shared) {
         throw py::type_error("from_dlpack() needs an object with __dlpack__, not " +
                              std::string(Py_TYPE(args.raw(0))->tp_name));
       }
       const bool is_wide = shared->dtype() == mx::float64 && !is_array(args.raw(0));
       if (has_copy && !copy) {
         if (is_wide) throw py::value_error("[from_dlpack] float64 takes a copy.");
         return give(*std::move(shared));
       }
       if (!copy && !is_wide) return give(*std::move(shared));
       return give(packed_copy(*shared, narrowed(shared->dtype())));
     }},
};

}  // namespace

std::optional<mx::array> read_memory(PyObject* object, std::optional<Dtype> dtype) {
  if (const View view = view_of(object, PyBUF_RECORDS_RO)) return copied(*view, dtype);
  const py::object plain = plain_view(object);
  if (!plain.is_none()) {
    const View view = view_of(plain.ptr(), PyBUF_RECORDS_RO);
    if (view) {
      const mx::array bits = copied(*view, std::nullopt);
      const mx::array value = mx::view(bits, mx::bfloat16);
      return dtype ? mx::astype(value, *dtype) : value;
    }
  }
  if (const auto shared = share_dlpack(object)) {
    return packed_copy(*shared, dtype.value_or(narrowed(shared->dtype())));
  }
  if (PyObject_HasAttrString(object, "__array__") != 0) {
    const py::object array = py::handle(object).attr("__array__")();
    if (const View view = view_of(array.ptr(), PyBUF_RECORDS_RO)) return copied(*view, dtype);
  }
  return std::nullopt;
}

std::optional<mx::array> share_memory(PyObject* object) {
  if (auto shared = shared_view(object)) return shared;
  auto shared = share_dlpack(object);
  if (shared && shared->dtype() == mx::float64) return std::nullopt;
  return shared;
}

bool is_writable(const mx::array& a) {
  const auto& buffer = a.node()->buffer;
  return buffer && buffer->is_writable();
}

void add_buffer_slots(std::vector<PyType_Slot>& slots) {
  slots.push_back({Py_bf_getbuffer, reinterpret_cast<void*>(&get_buffer)});
  slots.push_back({Py_bf_releasebuffer, reinterpret_cast<void*>(&release_buffer)});
}

void bind_memory(py::module_& module) {
  define(module, "pippin.core", kMemoryFunctions);
  define(reinterpret_cast<PyObject*>(array_type), "pippin.core", kMemoryMethods);
}

}  // namespace pippin::python::core
