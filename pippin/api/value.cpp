// Values between callers and programs: checked when passed in, converted to their declared type
// when returned.
#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/api/elements.h"
#include "pippin/api/feature.h"

namespace pippin::api {
namespace {

using Kind = FeatureInfo::Kind;

bool fits(int64_t size, const SizeRange& range) {
  return size >= range.lower && (range.upper < 0 || size <= range.upper);
}

[[noreturn]] void refuse(const FeatureInfo& feature, std::string_view found) {
  fail(ErrorCode::InvalidArgument, "{}; expected {}", found, to_string(feature));
}

engine::HostTensor host_tensor(const Tensor& tensor) {
  engine::HostTensor host;
  host.type = to_mil(tensor.type());
  host.shape = tensor.shape();
  if (tensor.is_contiguous()) {
    host.bytes.assign(tensor.bytes().begin(), tensor.bytes().end());
  } else {
    host.bytes.resize(static_cast<size_t>(tensor.size() * byte_size(tensor.type())));
    tensor.copy_to(host.bytes);
  }
  host.strings = tensor.strings();
  return host;
}

Tensor converted(const FeatureInfo& feature, const Tensor& tensor, DataType type) {
  try {
    return tensor.to(type);
  } catch (const Error& error) {
    refuse(feature, error.what());
  }
}

// ITU-R BT.601, the usual conversion of colors to gray.
uint8_t luma(const uint8_t* rgb) {
  return static_cast<uint8_t>((19595 * rgb[0] + 38470 * rgb[1] + 7471 * rgb[2] + 32768) >> 16);
}

void check_image(const FeatureInfo& feature, const Image& image) {
  const auto needed = static_cast<double>(image.width) * static_cast<double>(image.height) *
                      image.channels * static_cast<double>(byte_size(image.type));
  const bool halves = image.type == DataType::Float16;
  const bool formed = (image.channels == 1 || (image.channels == 3 && !halves)) &&
                      (image.type == DataType::UInt8 || halves) && image.width > 0 &&
                      image.height > 0 && needed == static_cast<double>(image.pixels.size());
  if (!formed) {
    refuse(feature,
           fmt::format("an image of {} x {} pixels, {} channels, {}, {} bytes", image.width,
                       image.height, image.channels, to_string(image.type), image.pixels.size()));
  }
  const std::vector<int64_t> shape = {1, feature.shape[1], image.height, image.width};
  if (!shape_fits(feature, shape)) {
    refuse(feature, fmt::format("an image of {} x {} pixels", image.width, image.height));
  }
}

// [1, C, H, W] in the declared order of colors.
Tensor image_tensor(const FeatureInfo& feature, const Image& image) {
  std::vector<int64_t> shape = {1, feature.shape[1], image.height, image.width};
  if (image.type == DataType::Float16) {
    if (feature.color_space != ColorSpace::GrayscaleFloat16) {
      refuse(feature, "an image of float16 pixels");
    }
    return Tensor::from_bytes(DataType::Float16, image.pixels, std::move(shape));
  }
  Tensor tensor(DataType::Float32, std::move(shape));
  const auto values = tensor.data<float>();
  const auto count = static_cast<size_t>(image.width * image.height);
  const auto* pixels = reinterpret_cast<const uint8_t*>(image.pixels.data());
  const auto channels = static_cast<size_t>(image.channels);
  if (feature.shape[1] == 1) {
    for (size_t i = 0; i < count; ++i) values[i] = channels == 1 ? pixels[i] : luma(pixels + 3 * i);
    return tensor;
  }
  for (size_t plane = 0; plane < 3; ++plane) {
    const size_t color = feature.color_space == ColorSpace::Bgr ? 2 - plane : plane;
    for (size_t i = 0; i < count; ++i) {
      values[plane * count + i] = pixels[i * channels + (channels == 3 ? color : 0)];
    }
  }
  return tensor;
}

void check_levels(const FeatureInfo& feature, const Tensor& tensor) {
  if (feature.color_space == ColorSpace::GrayscaleFloat16) return;
  const auto values = tensor.data<float>();
  const auto wrong = std::find_if(values.begin(), values.end(),
                                  [](float value) { return !(value >= 0 && value <= 255); });
  if (wrong != values.end()) {
    refuse(feature,
           fmt::format("element {} is {}, outside of 0 to 255", wrong - values.begin(), *wrong));
  }
}

void check_array(const FeatureInfo& feature, const Tensor& tensor) {
  const bool texts = tensor.type() == DataType::String;
  if (texts != (feature.type == DataType::String)) {
    refuse(feature, fmt::format("{} {}", to_string(tensor.type()), tensor.shape()));
  }
  if (!shape_fits(feature, declared_rank(feature, tensor.shape()))) {
    refuse(feature, fmt::format("shape {}", tensor.shape()));
  }
}

engine::HostTensor array_input(const FeatureInfo& feature, const Tensor& tensor) {
  if (feature.kind != Kind::Image) {
    engine::HostTensor host = host_tensor(converted(feature, tensor, feature.type));
    host.shape = declared_rank(feature, tensor.shape());
    return host;
  }
  const Tensor levels = converted(feature, tensor, DataType::Float32).copy();
  check_levels(feature, levels);
  return host_tensor(levels);
}

// The pixel value of an image output.
uint8_t level(float value) {
  return static_cast<uint8_t>(
      std::nearbyint(std::clamp(std::isnan(value) ? 0 : value, 0.0f, 255.0f)));
}

Tensor tensor_of(const engine::HostTensor& host) {
  if (host.type == mil::DataType::String) return Tensor::from_strings(host.strings, host.shape);
  return Tensor::from_bytes(to_public(host.type), host.bytes, host.shape);
}

// Converts to the declared type, rounding and saturating: the computed result is never an error.
Tensor declared_type(const Tensor& tensor, DataType type) {
  if (tensor.type() == type) return tensor;
  if (tensor.type() == DataType::String || type == DataType::String) {
    fail(ErrorCode::InvalidFile, "the program gives {}, the model declares {}",
         to_string(tensor.type()), to_string(type));
  }
  Tensor result(type, tensor.shape());
  elements::convert(tensor.type(), tensor.bytes(), type, result.bytes(), false);
  return result;
}

Dictionary dictionary_of(const FeatureInfo& feature, const engine::HostTensor& host) {
  const Tensor values = declared_type(tensor_of(host), DataType::Float64);
  const std::vector<int64_t> shape = {values.size()};
  Dictionary result;
  result.values = values.reshaped(shape);
  const size_t keys = std::max(host.string_keys.size(), host.int_keys.size());
  if (keys != static_cast<size_t>(values.size())) {
    fail(ErrorCode::InvalidFile, "{} probabilities for {} classes", values.size(), keys);
  }
  if (!host.string_keys.empty() || feature.type == DataType::String) {
    result.keys = Tensor::from_strings(host.string_keys, shape);
  } else {
    result.keys = Tensor::from(host.int_keys, shape);
  }
  return result;
}

}  // namespace

bool shape_fits(const FeatureInfo& feature, const std::vector<int64_t>& shape) {
  if (!feature.enumerated_shapes.empty()) {
    const auto& shapes = feature.enumerated_shapes;
    return std::find(shapes.begin(), shapes.end(), shape) != shapes.end();
  }
  if (!feature.ranges.empty()) {
    return shape.size() == feature.ranges.size() &&
           std::equal(shape.begin(), shape.end(), feature.ranges.begin(), fits);
  }
  return feature.shape.empty() || shape == feature.shape;  // no shape declared, or a single one
}

namespace {

// The shape with as many of [sequence, batch, C, H, W] as the feature declares, if the others
// are 1.
std::vector<int64_t> with_declared_axes(const FeatureInfo& feature, std::vector<int64_t> shape) {
  if (shape.size() == 1) shape.insert(shape.end(), {1, 1});
  if (shape.size() != 3 && shape.size() != 4 && shape.size() != 5) return shape;
  shape.insert(shape.begin(), 5 - shape.size(), 1);
  const size_t declared = std::max(feature.shape.size(), feature.ranges.size());
  if (declared >= 5) return shape;
  if (shape[0] != 1 || shape[1] != 1) return shape;
  shape.erase(shape.begin(), shape.begin() + 2);
  if (declared == 1 && shape[1] == 1 && shape[2] == 1) shape.resize(1);
  return shape;
}

}  // namespace

// () and (1) are equivalent, as in Core ML.
std::vector<int64_t> declared_rank(const FeatureInfo& feature, const std::vector<int64_t>& shape) {
  if (feature.leading_axes) return with_declared_axes(feature, shape);
  if (shape.empty() && !feature.shape.empty()) return {1};
  return shape;
}

void check_input(const FeatureInfo& feature, const Value& value) {
  if (feature.kind == Kind::Sequence) {
    fail(ErrorCode::Unsupported, "inputs of the kind \"{}\" are not supported", to_string(feature));
  }
  if (feature.kind == Kind::Dictionary) {
    if (!std::holds_alternative<Dictionary>(value)) refuse(feature, "not a dictionary");
    return;
  }
  if (const auto* image = std::get_if<Image>(&value)) {
    if (feature.kind != Kind::Image) refuse(feature, "an image");
    return check_image(feature, *image);
  }
  if (const auto* tensor = std::get_if<Tensor>(&value)) return check_array(feature, *tensor);
  refuse(feature, "a dictionary");
}

engine::HostTensor input_value(const FeatureInfo& feature, const Value& value) {
  check_input(feature, value);
  if (feature.kind == Kind::Dictionary) {
    fail(ErrorCode::Unsupported, "programs do not take inputs of the kind \"{}\"",
         to_string(feature));
  }
  if (const auto* image = std::get_if<Image>(&value)) {
    return host_tensor(image_tensor(feature, *image));
  }
  return array_input(feature, std::get<Tensor>(value));
}

Tensor default_input(const FeatureInfo& feature, int64_t max_elements, int64_t batch) {
  std::vector<int64_t> shape = feature.shape;
  if (feature.leading_axes && shape.size() == 5) shape[1] = batch;
  double elements = 1;
  for (const int64_t size : shape) elements *= static_cast<double>(size);
  if (elements > static_cast<double>(max_elements)) {
    fail(ErrorCode::LimitExceeded, "the default shape {} has more than {} elements", shape,
         max_elements);
  }
  Tensor tensor(feature.type, shape);
  if (feature.default_value == 0) return tensor;
  const std::vector<double> values(static_cast<size_t>(tensor.size()), feature.default_value);
  return Tensor::from(values, shape).to(feature.type);
}

int64_t batch_of(const std::vector<FeatureInfo>& inputs, const Values& given) {
  for (const FeatureInfo& feature : inputs) {
    const auto found = given.find(feature.name);
    if (!feature.leading_axes || found == given.end()) continue;
    const auto* tensor = std::get_if<Tensor>(&found->second);
    if (tensor == nullptr) continue;
    const std::vector<int64_t> shape = declared_rank(feature, tensor->shape());
    if (shape.size() == 5) return shape[1];
  }
  return 1;
}

Value output_value(const FeatureInfo& feature, const engine::HostTensor& host) {
  if (feature.kind == Kind::Sequence) {
    fail(ErrorCode::Unsupported, "outputs of the kind \"sequence\" are not supported");
  }
  if (feature.kind == Kind::Dictionary) return dictionary_of(feature, host);
  Tensor tensor = tensor_of(host);
  if (tensor.shape().empty()) tensor = tensor.reshaped({1});
  if (feature.kind != Kind::Image || feature.type != DataType::UInt8) {
    return declared_type(tensor, feature.type);
  }
  const std::vector<float> values = tensor.to_floats();
  std::vector<uint8_t> levels(values.size());
  std::transform(values.begin(), values.end(), levels.begin(), level);
  return Tensor::from(levels, tensor.shape());
}

}  // namespace pippin::api
