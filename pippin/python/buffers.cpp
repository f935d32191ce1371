#include "pippin/python/buffers.h"

#include <bit>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "pippin/base/error.h"
#include "pippin/python/errors.h"
#include "pippin/python/lock.h"

namespace pippin::python {
namespace {

namespace py = pybind11;

// The type of a format of the struct module, with the native sizes.
std::optional<DataType> type_of(std::string_view format, Py_ssize_t size) {
  if (!format.empty() && std::string_view("<=@").find(format[0]) != format.npos) {
    format.remove_prefix(1);
  }
  if (format.size() != 1) return std::nullopt;
  const char letter = format[0];
  if (letter == '?') return DataType::Bool;
  if (letter == 'e') return DataType::Float16;
  if (letter == 'f') return DataType::Float32;
  if (letter == 'd') return DataType::Float64;
  const bool is_signed = std::string_view("bhilqn").find(letter) != std::string_view::npos;
  if (!is_signed && std::string_view("BHILQN").find(letter) == std::string_view::npos) {
    return std::nullopt;
  }
  constexpr DataType kSigned[] = {DataType::Int8, DataType::Int16, DataType::Int32,
                                  DataType::Int64};
  constexpr DataType kUnsigned[] = {DataType::UInt8, DataType::UInt16, DataType::UInt32,
                                    DataType::UInt64};
  const auto index = static_cast<size_t>(std::countr_zero(static_cast<size_t>(size)));
  if (index > 3) return std::nullopt;
  return is_signed ? kSigned[index] : kUnsigned[index];
}

const char* format_of(DataType type) {
  constexpr const char* kFormats[] = {"?", "b", "B", "h", "H", "i", "I", "q", "Q", "e", "f", "d"};
  return kFormats[static_cast<size_t>(type)];
}

// The last user may be a thread that does not hold the GIL.
void release_buffer(Py_buffer* view) {
  if (Py_IsInitialized() == 0) return;  // the interpreter has ended
  const Locked lock;
  PyBuffer_Release(view);
  delete view;
}

struct Release {
  void operator()(Py_buffer* view) const { release_buffer(view); }
};

}  // namespace

std::string type_name(py::handle object) {
  return py::str(py::type::of(object).attr("__name__"));
}

Tensor wrap_buffer(py::handle object, bool is_target) {
  auto fresh = std::make_unique<Py_buffer>();
  const int flags = PyBUF_RECORDS_RO | (is_target ? PyBUF_WRITABLE : 0);
  if (PyObject_GetBuffer(object.ptr(), fresh.get(), flags) != 0) {
    fail(ErrorCode::InvalidArgument, "the {} cannot be {}: {}", type_name(object),
         is_target ? "written to" : "read", take_message());
  }
  std::unique_ptr<Py_buffer, Release> view(fresh.release());
  const char* format = view->format == nullptr ? "B" : view->format;
  const auto type = type_of(format, view->itemsize);
  if (!type) {
    fail(ErrorCode::InvalidArgument,
         "elements of the format \"{}\" are not numbers of this machine", format);
  }
  const auto rank = static_cast<size_t>(view->ndim);
  std::vector<int64_t> shape, strides;
  if (rank > 0) shape.assign(view->shape, view->shape + rank);
  if (rank > 0 && view->strides != nullptr) strides.assign(view->strides, view->strides + rank);
  static std::byte empty{};
  void* const data = view->buf == nullptr ? &empty : view->buf;
  const auto release = [held = view.get()] { release_buffer(held); };
  Tensor tensor = view->readonly == 0
                      ? Tensor::wrap(*type, std::move(shape), data, std::move(strides), release)
                      : Tensor::wrap(*type, std::move(shape), static_cast<const void*>(data),
                                     std::move(strides), release);
  static_cast<void>(view.release());  // now owned by the tensor
  return tensor;
}

bool fill_buffer(Py_buffer* view, int flags, PyObject* owner, const Tensor& tensor,
                 Py_ssize_t* shape, Py_ssize_t* strides) {
  const auto refuse = [&](const char* why) {
    view->obj = nullptr;
    PyErr_SetString(PyExc_BufferError, why);
    return false;
  };
  const auto wants = [&](int what) { return (flags & what) == what; };
  if (tensor.type() == DataType::String) return refuse("strings have no buffer");
  if (wants(PyBUF_WRITABLE) && !tensor.is_writable()) return refuse("the tensor is read-only");
  if (!wants(PyBUF_STRIDES) && !tensor.is_contiguous()) {
    return refuse("the tensor's elements lie apart, which takes strides to say");
  }
  *view = {};
  view->buf = const_cast<std::byte*>(tensor.first_byte());
  view->itemsize = static_cast<Py_ssize_t>(byte_size(tensor.type()));
  view->len = static_cast<Py_ssize_t>(tensor.size()) * view->itemsize;
  view->readonly = tensor.is_writable() ? 0 : 1;
  view->ndim = static_cast<int>(tensor.shape().size());
  view->format = const_cast<char*>(format_of(tensor.type()));
  view->shape = shape;
  view->strides = strides;
  const bool fits = (!wants(PyBUF_C_CONTIGUOUS) || PyBuffer_IsContiguous(view, 'C') != 0) &&
                    (!wants(PyBUF_F_CONTIGUOUS) || PyBuffer_IsContiguous(view, 'F') != 0) &&
                    (!wants(PyBUF_ANY_CONTIGUOUS) || PyBuffer_IsContiguous(view, 'A') != 0);
  if (!fits) return refuse("the tensor is not contiguous in the order that is asked for");
  if (!wants(PyBUF_FORMAT)) view->format = nullptr;
  if (!wants(PyBUF_STRIDES)) view->strides = nullptr;
  if (!wants(PyBUF_ND)) view->shape = nullptr;
  Py_INCREF(owner);
  view->obj = owner;
  return true;
}

}  // namespace pippin::python
