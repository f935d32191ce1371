#include "pippin/python/arrays.h"

#include <bit>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include "pippin/base/error.h"

namespace pippin::python {
namespace {

namespace py = pybind11;

// By a letter of the struct module, whose sizes are those of this machine.
std::optional<DataType> type_of(const std::string& format, py::ssize_t size) {
  std::string letters = format;
  if (!letters.empty() && (letters[0] == '<' || letters[0] == '=' || letters[0] == '@')) {
    letters.erase(0, 1);
  }
  if (letters.size() != 1) return std::nullopt;
  const char letter = letters[0];
  if (letter == '?') return DataType::Bool;
  if (letter == 'e') return DataType::Float16;
  if (letter == 'f') return DataType::Float32;
  if (letter == 'd') return DataType::Float64;
  const bool is_signed = std::string_view("bhilq").find(letter) != std::string_view::npos;
  if (!is_signed && std::string_view("BHILQ").find(letter) == std::string_view::npos) {
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

std::string type_name(py::handle object) {
  return py::str(py::type::of(object).attr("__name__"));
}

Tensor wrap(const py::buffer& buffer, const std::string& name, bool is_target) {
  auto info = std::make_unique<py::buffer_info>();
  try {
    *info = buffer.request(is_target);
  } catch (py::error_already_set& error) {
    const std::string why = error.what();
    fail(ErrorCode::InvalidArgument, "{}: the {} cannot be {}: {}", name, type_name(buffer),
         is_target ? "written to" : "read", why.substr(0, why.find('\n')));
  }
  const auto type = type_of(info->format, info->itemsize);
  if (!type) {
    fail(ErrorCode::InvalidArgument,
         "{}: elements of the format \"{}\" are no numbers of this machine", name, info->format);
  }
  const std::vector<int64_t> shape(info->shape.begin(), info->shape.end());
  const std::vector<int64_t> strides(info->strides.begin(), info->strides.end());
  // The memory goes where the last user is gone, which may be a thread without the lock.
  std::shared_ptr<py::buffer_info> kept(info.release(), [](py::buffer_info* held) {
    if (Py_IsInitialized() == 0) return;  // the process ends
    const py::gil_scoped_acquire lock;
    delete held;
  });
  const auto release = [kept]() mutable { kept.reset(); };
  static std::byte empty{};
  void* const data = kept->ptr == nullptr ? &empty : kept->ptr;
  if (is_target) return Tensor::wrap(*type, shape, data, strides, release);
  return Tensor::wrap(*type, shape, static_cast<const void*>(data), strides, release);
}

bool has(py::handle object, const char* attribute) {
  return py::hasattr(object, attribute);
}

// PIL's pictures have a mode and give their bytes.
Image to_image(py::handle picture) {
  const bool is_gray = py::str(picture.attr("mode")).cast<std::string>() == "L";
  const py::object plain =
      is_gray ? py::reinterpret_borrow<py::object>(picture) : picture.attr("convert")("RGB");
  const std::string pixels = plain.attr("tobytes")().cast<py::bytes>();
  Image image;
  image.width = plain.attr("width").cast<int64_t>();
  image.height = plain.attr("height").cast<int64_t>();
  image.channels = is_gray ? 1 : 3;
  const auto* begin = reinterpret_cast<const std::byte*>(pixels.data());
  image.pixels.assign(begin, begin + pixels.size());
  return image;
}

py::module_ numpy() {
  return py::module_::import("numpy");
}

// What is no buffer, as an array.
py::object as_array(py::handle object, const std::string& name) {
  try {
    if (has(object, "__dlpack__")) return numpy().attr("from_dlpack")(object);
    return numpy().attr("asarray")(object);
  } catch (py::error_already_set& error) {
    const std::string why = error.what();
    fail(ErrorCode::InvalidArgument, "{}: {} is no array: {}", name, type_name(object),
         why.substr(0, why.find('\n')));
  }
}

const char* dtype_of(DataType type) {
  constexpr const char* kNames[] = {"bool",   "int8",  "uint8",  "int16",   "uint16",  "int32",
                                    "uint32", "int64", "uint64", "float16", "float32", "float64"};
  return kNames[static_cast<size_t>(type)];
}

py::object to_array(Tensor tensor) {
  if (tensor.type() == DataType::String) {
    if (tensor.size() == 1) return py::str(tensor.strings()[0]);
    return py::cast(tensor.strings());
  }
  auto* const owned = new Tensor(std::move(tensor));
  const py::capsule owner(owned, [](void* held) { delete static_cast<Tensor*>(held); });
  std::vector<py::ssize_t> shape(owned->shape().begin(), owned->shape().end());
  const std::vector<int64_t> strides = owned->strides();
  return py::array(py::dtype(dtype_of(owned->type())), std::move(shape),
                   std::vector<py::ssize_t>(strides.begin(), strides.end()), owned->first_byte(),
                   owner);
}

}  // namespace

Value to_value(py::handle object, const std::string& name) {
  if (py::isinstance<py::str>(object)) {
    return Tensor::from_strings({object.cast<std::string>()}, {1});
  }
  if (has(object, "mode") && has(object, "tobytes") && has(object, "convert")) {
    return to_image(object);
  }
  if (PyObject_CheckBuffer(object.ptr()) != 0) {
    return wrap(py::reinterpret_borrow<py::buffer>(object), name, /*is_target=*/false);
  }
  const py::object array = as_array(object, name);
  const auto kind = array.attr("dtype").attr("kind").cast<std::string>();
  if (kind == "U" || kind == "O") {
    std::vector<std::string> texts;
    for (const py::handle text : array.attr("ravel")().attr("tolist")()) {
      if (!py::isinstance<py::str>(text)) {
        fail(ErrorCode::InvalidArgument, "{}: {} is neither a number nor a text", name,
             type_name(text));
      }
      texts.push_back(text.cast<std::string>());
    }
    return Tensor::from_strings(std::move(texts), array.attr("shape").cast<std::vector<int64_t>>());
  }
  return wrap(py::reinterpret_borrow<py::buffer>(array), name, /*is_target=*/false);
}

Tensor to_target(py::handle object, const std::string& name) {
  if (PyObject_CheckBuffer(object.ptr()) == 0) {
    fail(ErrorCode::InvalidArgument, "{}: {} has no memory to write to", name, type_name(object));
  }
  return wrap(py::reinterpret_borrow<py::buffer>(object), name, /*is_target=*/true);
}

py::object to_object(Value value) {
  if (auto* tensor = std::get_if<Tensor>(&value)) return to_array(std::move(*tensor));
  if (auto* dictionary = std::get_if<Dictionary>(&value)) {
    py::dict result;
    const std::vector<double> values = dictionary->values.to_doubles();
    for (size_t i = 0; i < values.size(); ++i) {
      if (dictionary->keys.type() == DataType::String) {
        result[py::str(dictionary->keys.strings()[i])] = values[i];
      } else {
        result[py::int_(dictionary->keys.data<int64_t>()[i])] = values[i];
      }
    }
    return result;
  }
  Image& image = std::get<Image>(value);
  const std::vector<int64_t> shape{image.height, image.width, image.channels};
  return to_array(Tensor::from_bytes(image.type, image.pixels, shape));
}

}  // namespace pippin::python
