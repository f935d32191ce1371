#include "pippin/python/arrays.h"

#include <memory>
#include <utility>
#include <vector>

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include "pippin/base/error.h"
#include "pippin/python/buffers.h"
#include "pippin/python/errors.h"
#include "pippin/python/images.h"
#include "pippin/python/tensor.h"

namespace pippin::python {
namespace {

namespace py = pybind11;

// Converts an object without a buffer to an array.
py::object as_array(py::handle object) {
  try {
    return py::module_::import("numpy").attr("asarray")(object);
  } catch (py::error_already_set& error) {
    if (!error.matches(PyExc_Exception)) throw;
    fail(ErrorCode::InvalidArgument, "{} is not an array: {}", type_name(object),
         first_line(error));
  }
}

Tensor texts_of(py::handle array) {
  std::vector<std::string> texts;
  for (const py::handle text : array.attr("ravel")().attr("tolist")()) {
    if (!py::isinstance<py::str>(text)) {
      fail(ErrorCode::InvalidArgument, "{} is neither a number nor a text", type_name(text));
    }
    texts.push_back(text.cast<std::string>());
  }
  return Tensor::from_strings(std::move(texts), array.attr("shape").cast<std::vector<int64_t>>());
}

bool is_of_texts(py::handle array) {
  if (!py::hasattr(array, "dtype")) return false;
  const auto kind = py::str(array.attr("dtype").attr("kind")).cast<std::string>();
  return kind == "U" || kind == "O";
}

Tensor buffer_of(py::handle object) {
  try {
    return wrap_buffer(object, false);
  } catch (const Error&) {
    if (!is_of_texts(object)) throw;
  }
  return texts_of(object);
}

Tensor tensor_of(py::handle object) {
  if (const PyTensor* tensor = find_tensor(object)) return tensor->tensor;
  if (PyObject_CheckBuffer(object.ptr()) != 0) return buffer_of(object);
  if (py::isinstance<py::str>(object)) {
    return Tensor::from_strings({object.cast<std::string>()}, {1});
  }
  if (auto tensor = wrap_dlpack(object)) return std::move(*tensor);
  return buffer_of(as_array(object));
}

// Keys are texts or whole numbers, not both.
Dictionary dictionary_of(const py::dict& dict) {
  std::vector<std::string> texts;
  std::vector<int64_t> numbers;
  std::vector<double> values;
  for (const auto& [key, value] : dict) {
    if (py::isinstance<py::str>(key)) {
      texts.push_back(key.cast<std::string>());
    } else if (PyIndex_Check(key.ptr()) != 0) {
      numbers.push_back(key.cast<int64_t>());
    } else {
      fail(ErrorCode::InvalidArgument, "the key {} is neither a text nor a whole number",
           type_name(key));
    }
    const double number = PyFloat_AsDouble(value.ptr());
    if (number == -1 && PyErr_Occurred() != nullptr) {
      PyErr_Clear();
      fail(ErrorCode::InvalidArgument, "{} in a dictionary is not a number", type_name(value));
    }
    values.push_back(number);
  }
  if (!texts.empty() && !numbers.empty()) {
    fail(ErrorCode::InvalidArgument, "a dictionary with texts and numbers as keys");
  }
  const auto size = static_cast<int64_t>(values.size());
  return {numbers.empty() ? Tensor::from_strings(std::move(texts), {size})
                          : Tensor::from(numbers, {size}),
          Tensor::from(values, {size})};
}

py::dtype dtype_of(DataType type) {
  constexpr const char* kNames[] = {"bool",   "int8",  "uint8",  "int16",   "uint16",  "int32",
                                    "uint32", "int64", "uint64", "float16", "float32", "float64"};
  static PyObject* known[std::size(kNames)] = {};  // guarded by the GIL; never freed
  PyObject*& found = known[static_cast<size_t>(type)];
  if (found == nullptr) found = py::dtype(kNames[static_cast<size_t>(type)]).release().ptr();
  return py::reinterpret_borrow<py::dtype>(found);
}

py::dict to_dict(const Dictionary& dictionary) {
  py::dict result;
  const std::vector<double> values = dictionary.values.to_doubles();
  for (size_t i = 0; i < values.size(); ++i) {
    if (dictionary.keys.type() == DataType::String) {
      result[py::str(dictionary.keys.strings()[i])] = values[i];
    } else {
      result[py::int_(dictionary.keys.data<int64_t>()[i])] = values[i];
    }
  }
  return result;
}

}  // namespace

Value to_value(py::handle object, const std::string& name, const FeatureInfo* feature) {
  return with_context(name, [&]() -> Value {
    if (py::isinstance<py::dict>(object)) {
      return dictionary_of(py::reinterpret_borrow<py::dict>(object));
    }
    if (feature == nullptr || feature->kind != FeatureInfo::Kind::Image) return tensor_of(object);
    if (is_picture(object)) return to_image(object, *feature);
    return to_pixels(tensor_of(object), *feature);
  });
}

Tensor to_tensor(py::handle object, const std::string& name) {
  return with_context(name, [&] { return tensor_of(object); });
}

Tensor to_target(py::handle object, const std::string& name) {
  return with_context(name, [&] {
    if (const PyTensor* tensor = find_tensor(object)) return tensor->tensor;
    if (PyObject_CheckBuffer(object.ptr()) == 0) {
      fail(ErrorCode::InvalidArgument, "{} has no memory to write to", type_name(object));
    }
    return wrap_buffer(object, true);
  });
}

py::object to_array(Tensor tensor) {
  auto owned = std::make_unique<Tensor>(std::move(tensor));
  Tensor& kept = *owned;
  const py::capsule owner(owned.release(), [](void* held) { delete static_cast<Tensor*>(held); });
  const std::vector<int64_t> strides = kept.strides();
  py::array array(
      dtype_of(kept.type()), std::vector<py::ssize_t>(kept.shape().begin(), kept.shape().end()),
      std::vector<py::ssize_t>(strides.begin(), strides.end()), kept.first_byte(), owner);
  if (!kept.is_writable()) {
    py::detail::array_proxy(array.ptr())->flags &= ~py::detail::npy_api::NPY_ARRAY_WRITEABLE_;
  }
  return array;
}

py::object to_object(Value value, const FeatureInfo* feature, const Forms& forms) {
  if (const auto* dictionary = std::get_if<Dictionary>(&value)) return to_dict(*dictionary);
  if (auto* image = std::get_if<Image>(&value)) {
    value = Tensor::from_bytes(image->type, image->pixels,
                               {image->height, image->width, image->channels});
  }
  Tensor& tensor = std::get<Tensor>(value);
  if (tensor.type() == DataType::String) {
    if (tensor.size() == 1) return py::str(tensor.strings()[0]);
    return py::cast(tensor.strings());
  }
  const bool is_image = feature != nullptr && feature->kind == FeatureInfo::Kind::Image;
  if (is_image && forms.as_pictures) return to_picture(tensor, *feature);
  if (forms.as_tensors) return py::cast(std::make_unique<PyTensor>(std::move(tensor)));
  return to_array(std::move(tensor));
}

}  // namespace pippin::python
