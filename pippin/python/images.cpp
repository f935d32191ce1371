#include "pippin/python/images.h"

#include <string>
#include <utility>
#include <vector>

#include "pippin/api/feature.h"
#include "pippin/base/error.h"

namespace pippin::python {
namespace {

namespace py = pybind11;

bool is_one_of(const std::string& mode, std::initializer_list<const char*> modes) {
  for (const char* one : modes) {
    if (mode == one) return true;
  }
  return false;
}

std::string bytes_of(const py::object& picture) {
  return picture.attr("tobytes")().cast<py::bytes>();
}

// [height, width, channels], dropping a fourth channel: pixels are treated as opaque.
Image image_of(const Tensor& pixels, int64_t channels) {
  Image image;
  image.height = pixels.shape()[0];
  image.width = pixels.shape()[1];
  image.channels = channels == 1 ? 1 : 3;
  image.type = pixels.type();
  const auto bytes = pixels.bytes();
  if (channels != 4) {
    image.pixels.assign(bytes.begin(), bytes.end());
    return image;
  }
  for (size_t i = 0; i < bytes.size(); i += 4) {
    image.pixels.insert(image.pixels.end(), {bytes[i], bytes[i + 1], bytes[i + 2]});
  }
  return image;
}

}  // namespace

bool is_picture(py::handle object) {
  return py::hasattr(object, "mode") && py::hasattr(object, "tobytes") &&
         py::hasattr(object, "convert");
}

Image to_image(py::handle picture, const FeatureInfo& feature) {
  const auto mode = py::str(picture.attr("mode")).cast<std::string>();
  const bool is_float = feature.color_space == ColorSpace::GrayscaleFloat16 && mode == "F";
  if (!is_float && (mode == "F" || mode.starts_with("I"))) {
    fail(ErrorCode::InvalidArgument, "a picture of the mode {}; expected {} of 8 bits", mode,
         to_string(feature));
  }
  const char* plain_mode = is_float ? "F" : is_one_of(mode, {"L", "LA", "La", "1"}) ? "L" : "RGB";
  py::object plain = py::reinterpret_borrow<py::object>(picture);
  if (mode != plain_mode) plain = plain.attr("convert")(plain_mode);
  const std::string pixels = bytes_of(plain);
  const auto bytes = std::as_bytes(std::span(pixels));
  const auto width = plain.attr("width").cast<int64_t>();
  const auto height = plain.attr("height").cast<int64_t>();
  const int64_t channels = plain_mode == std::string("RGB") ? 3 : 1;
  if (!is_float) {
    return image_of(Tensor::from_bytes(DataType::UInt8, bytes, {height, width, channels}),
                    channels);
  }
  const Tensor levels = Tensor::from_bytes(DataType::Float32, bytes, {height, width, 1});
  return image_of(levels.to(DataType::Float16), 1);
}

Value to_pixels(Tensor tensor, const FeatureInfo& feature) {
  const std::vector<int64_t> shape = tensor.shape();
  if (shape.size() == 2) return tensor.reshaped({1, 1, shape[0], shape[1]});
  if (shape.size() != 3) return tensor;
  const int64_t first = shape[0], last = shape[2];
  const bool has_planes = first == 1 || first == 3;
  const bool has_pixels = last == 1 || last == 3 || last == 4;
  // If both layouts are possible, the declared size decides; else channels-last, as in imaging
  // libraries.
  const bool fits = api::shape_fits(feature, {1, feature.shape.at(1), shape[0], shape[1]});
  const bool fits_planes = api::shape_fits(feature, {1, first, shape[1], last});
  if (has_pixels && (fits || !fits_planes || !has_planes)) {
    if (last == 1) return tensor.reshaped({1, 1, shape[0], shape[1]});
    return image_of(tensor.copy().to(DataType::UInt8), last);
  }
  if (has_planes) return tensor.reshaped({1, shape[0], shape[1], shape[2]});
  fail(ErrorCode::InvalidArgument,
       "an array of the shape [{}, {}, {}] is not a picture; expected {}", shape[0], shape[1],
       shape[2], to_string(feature));
}

py::object to_picture(const Tensor& tensor, const FeatureInfo& feature) {
  const std::vector<int64_t>& shape = tensor.shape();
  if (shape.size() != 4 || shape[0] != 1 || (shape[1] != 1 && shape[1] != 3)) {
    fail(ErrorCode::Unsupported, "output '{}' is not a single picture", feature.name);
  }
  const Tensor plain = tensor.copy();
  const auto make = [&](const char* mode, std::span<const std::byte> pixels) {
    const py::bytes data(reinterpret_cast<const char*>(pixels.data()), pixels.size());
    return py::module_::import("PIL.Image")
        .attr("frombytes")(mode, py::make_tuple(shape[3], shape[2]), data);
  };
  if (plain.type() == DataType::Float16) return make("F", plain.to(DataType::Float32).bytes());
  if (shape[1] == 1) return make("L", plain.bytes());
  const auto planes = plain.bytes();
  const size_t count = planes.size() / 3;
  std::vector<std::byte> pixels(planes.size());
  for (size_t color = 0; color < 3; ++color) {
    const size_t plane = feature.color_space == ColorSpace::Bgr ? 2 - color : color;
    for (size_t i = 0; i < count; ++i) pixels[3 * i + color] = planes[plane * count + i];
  }
  return make("RGB", pixels);
}

}  // namespace pippin::python
