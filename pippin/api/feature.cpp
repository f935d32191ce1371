#include "pippin/api/feature.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace pippin {
namespace {

std::string size_text(const SizeRange& range) {
  if (range.lower == range.upper) return fmt::format("{}", range.lower);
  return range.upper < 0 ? fmt::format("{}..", range.lower)
                         : fmt::format("{}..{}", range.lower, range.upper);
}

std::string color_text(ColorSpace color_space) {
  switch (color_space) {
    case ColorSpace::Grayscale:
      return "grayscale";
    case ColorSpace::Rgb:
      return "RGB";
    case ColorSpace::Bgr:
      return "BGR";
    case ColorSpace::GrayscaleFloat16:
      return "grayscale float16";
  }
  return {};
}

// "224 x 224": width and height, from a tensor's last two axes.
std::string image_size_text(const FeatureInfo& feature) {
  if (!feature.enumerated_shapes.empty()) {
    std::vector<std::string> sizes;
    for (const auto& shape : feature.enumerated_shapes) {
      sizes.push_back(fmt::format("{} x {}", shape[3], shape[2]));
    }
    return fmt::format("{}", fmt::join(sizes, " or "));
  }
  if (!feature.ranges.empty()) {
    return size_text(feature.ranges[3]) + " x " + size_text(feature.ranges[2]);
  }
  return fmt::format("{} x {}", feature.shape[3], feature.shape[2]);
}

std::string array_text(const FeatureInfo& feature) {
  const std::string type(to_string(feature.type));
  if (!feature.enumerated_shapes.empty()) {
    return fmt::format("{} {}", type, fmt::join(feature.enumerated_shapes, " or "));
  }
  if (!feature.ranges.empty()) {
    std::vector<std::string> sizes;
    for (const SizeRange& range : feature.ranges) sizes.push_back(size_text(range));
    return fmt::format("{} [{}]", type, fmt::join(sizes, ", "));
  }
  return feature.shape.empty() ? type : fmt::format("{} {}", type, feature.shape);
}

}  // namespace

std::string to_string(const FeatureInfo& feature) {
  switch (feature.kind) {
    case FeatureInfo::Kind::MultiArray:
    case FeatureInfo::Kind::State:
      return array_text(feature);
    case FeatureInfo::Kind::Image:
      return fmt::format("image {} {}", color_text(feature.color_space.value_or(ColorSpace::Rgb)),
                         image_size_text(feature));
    case FeatureInfo::Kind::Int64:
      return "one int64";
    case FeatureInfo::Kind::Double:
      return "one float64";
    case FeatureInfo::Kind::String:
      return "one string";
    case FeatureInfo::Kind::Dictionary:
      return fmt::format("dictionary from {} to float64", to_string(feature.type));
    case FeatureInfo::Kind::Sequence:
      return "sequence";
  }
  return {};
}

namespace api {
namespace {

FeatureInfo::Kind public_kind(mil::Feature::Kind kind) {
  switch (kind) {
    case mil::Feature::Kind::MultiArray:
      return FeatureInfo::Kind::MultiArray;
    case mil::Feature::Kind::Image:
      return FeatureInfo::Kind::Image;
    case mil::Feature::Kind::State:
      return FeatureInfo::Kind::State;
    case mil::Feature::Kind::Int64:
      return FeatureInfo::Kind::Int64;
    case mil::Feature::Kind::Double:
      return FeatureInfo::Kind::Double;
    case mil::Feature::Kind::String:
      return FeatureInfo::Kind::String;
    case mil::Feature::Kind::Dictionary:
      return FeatureInfo::Kind::Dictionary;
    case mil::Feature::Kind::Sequence:
      break;
  }
  return FeatureInfo::Kind::Sequence;
}

ColorSpace public_color_space(const mil::Feature& feature) {
  switch (feature.image.color_space) {
    case mil::ColorSpace::Grayscale:
      return ColorSpace::Grayscale;
    case mil::ColorSpace::Rgb:
      return ColorSpace::Rgb;
    case mil::ColorSpace::Bgr:
      return ColorSpace::Bgr;
    case mil::ColorSpace::GrayscaleFloat16:
      return ColorSpace::GrayscaleFloat16;
    case mil::ColorSpace::Unknown:
      break;
  }
  fail(ErrorCode::Unsupported, "'{}': an image without a known color space", feature.name);
}

SizeRange public_range(const mil::SizeRange& range) {
  return {range.lower, range.upper};
}

void describe_image(const mil::Feature& feature, FeatureInfo& info) {
  info.color_space = public_color_space(feature);
  info.type =
      info.color_space == ColorSpace::GrayscaleFloat16 ? DataType::Float16 : DataType::UInt8;
  const bool color = info.color_space == ColorSpace::Rgb || info.color_space == ColorSpace::Bgr;
  const int64_t channels = color ? 3 : 1;
  const mil::ImageType& image = feature.image;
  const auto shape = [&](const mil::ImageSize& size) {
    return std::vector<int64_t>{1, channels, size.height, size.width};
  };
  info.shape = shape(image.size);
  for (const mil::ImageSize& size : image.enumerated_sizes) {
    info.enumerated_shapes.push_back(shape(size));
  }
  if (image.width_range && image.height_range) {
    info.ranges = {{1, 1},
                   {channels, channels},
                   public_range(*image.height_range),
                   public_range(*image.width_range)};
  }
}

}  // namespace

DataType to_public(mil::DataType type) {
  switch (type) {
    case mil::DataType::Bool:
      return DataType::Bool;
    case mil::DataType::String:
      return DataType::String;
    case mil::DataType::Float16:
      return DataType::Float16;
    case mil::DataType::Float32:
      return DataType::Float32;
    case mil::DataType::Float64:
      return DataType::Float64;
    case mil::DataType::Int8:
      return DataType::Int8;
    case mil::DataType::UInt8:
      return DataType::UInt8;
    case mil::DataType::Int16:
      return DataType::Int16;
    case mil::DataType::UInt16:
      return DataType::UInt16;
    case mil::DataType::Int32:
      return DataType::Int32;
    case mil::DataType::UInt32:
      return DataType::UInt32;
    case mil::DataType::Int64:
      return DataType::Int64;
    case mil::DataType::UInt64:
      return DataType::UInt64;
    default:
      fail(ErrorCode::Unsupported, "values of type {} cannot leave a model", to_string(type));
  }
}

mil::DataType to_mil(DataType type) {
  switch (type) {
    case DataType::Bool:
      return mil::DataType::Bool;
    case DataType::Int8:
      return mil::DataType::Int8;
    case DataType::UInt8:
      return mil::DataType::UInt8;
    case DataType::Int16:
      return mil::DataType::Int16;
    case DataType::UInt16:
      return mil::DataType::UInt16;
    case DataType::Int32:
      return mil::DataType::Int32;
    case DataType::UInt32:
      return mil::DataType::UInt32;
    case DataType::Int64:
      return mil::DataType::Int64;
    case DataType::UInt64:
      return mil::DataType::UInt64;
    case DataType::Float16:
      return mil::DataType::Float16;
    case DataType::Float32:
      return mil::DataType::Float32;
    case DataType::Float64:
      return mil::DataType::Float64;
    case DataType::String:
      break;
  }
  return mil::DataType::String;
}

FeatureInfo feature_info(const mil::Feature& feature) {
  FeatureInfo info;
  info.name = feature.name;
  info.description = feature.description;
  info.kind = public_kind(feature.kind);
  info.optional = feature.optional;
  info.leading_axes = feature.has_leading_axes;
  switch (info.kind) {
    case FeatureInfo::Kind::MultiArray:
    case FeatureInfo::Kind::State:
      info.type = to_public(feature.data_type);
      info.shape = feature.shape;
      info.enumerated_shapes = feature.enumerated_shapes;
      for (const mil::SizeRange& range : feature.ranges) info.ranges.push_back(public_range(range));
      break;
    case FeatureInfo::Kind::Image:
      describe_image(feature, info);
      break;
    case FeatureInfo::Kind::Int64:
      info.type = DataType::Int64;
      info.shape = {1};
      break;
    case FeatureInfo::Kind::Double:
      info.type = DataType::Float64;
      info.shape = {1};
      break;
    case FeatureInfo::Kind::String:
      info.type = DataType::String;
      info.shape = {1};
      break;
    case FeatureInfo::Kind::Dictionary:
      info.type = feature.string_keys ? DataType::String : DataType::Int64;
      break;
    case FeatureInfo::Kind::Sequence:
      break;
  }
  // Without a stated default, Core ML uses the first or smallest.
  const bool sized = info.kind == FeatureInfo::Kind::Image ? info.shape[2] > 0 && info.shape[3] > 0
                                                           : !info.shape.empty();
  if (!sized && !info.enumerated_shapes.empty()) info.shape = info.enumerated_shapes.front();
  if (!sized && !info.ranges.empty()) {
    info.shape.clear();
    for (const SizeRange& range : info.ranges) info.shape.push_back(range.lower);
  }
  if (const auto* number = std::get_if<int64_t>(&feature.default_value)) {
    info.default_value = static_cast<double>(*number);
  } else if (const auto* single = std::get_if<float>(&feature.default_value)) {
    info.default_value = *single;
  } else if (const auto* wide = std::get_if<double>(&feature.default_value)) {
    info.default_value = *wide;
  }
  return info;
}

std::vector<FeatureInfo> feature_infos(const std::vector<mil::Feature>& features) {
  std::vector<FeatureInfo> infos;
  infos.reserve(features.size());
  for (const mil::Feature& feature : features) infos.push_back(feature_info(feature));
  return infos;
}

std::string list_features(const std::vector<FeatureInfo>& features) {
  if (features.empty()) return "none";
  std::string list;
  for (const FeatureInfo& feature : features) {
    list += fmt::format("{}{} ({}{})", list.empty() ? "" : ", ", feature.name, to_string(feature),
                        feature.optional ? ", optional" : "");
  }
  return list;
}

}  // namespace api
}  // namespace pippin
