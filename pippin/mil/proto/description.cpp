// The model's interface (inputs, outputs, states, metadata) between protobuf and structs.
//
// Data that the structs cannot hold stays in the message, which is kept as bytes in `raw` and
// completed when the model is written.
#include <algorithm>
#include <limits>

#include "coreml.pb.h"
#include "pippin/base/error.h"
#include "pippin/mil/proto/proto.h"

namespace pippin::mil {
namespace {

struct ArrayTypeNumber {
  DataType type;
  int32_t
      number;  // as in ArrayFeatureType: 0x10000 float, 0x20000 integer; plus the number of bits
};
constexpr ArrayTypeNumber kArrayTypes[] = {
    {DataType::Float16, 0x10010}, {DataType::Float32, 0x10020}, {DataType::Float64, 0x10040},
    {DataType::Int8, 0x20008},    {DataType::Int32, 0x20020},
};

constexpr ColorSpace kColorSpaces[] = {ColorSpace::Grayscale, ColorSpace::Rgb, ColorSpace::Bgr,
                                       ColorSpace::GrayscaleFloat16};

DataType read_array_type(int32_t number) {
  if (number == 0) return DataType::Float64;  // not stated, as by early converters
  for (const auto& known : kArrayTypes) {
    if (known.number == number) return known.type;
  }
  fail(ErrorCode::InvalidFile, "no array data type {}", number);
}

int32_t array_type_number(DataType type) {
  for (const auto& known : kArrayTypes) {
    if (known.type == type) return known.number;
  }
  fail(ErrorCode::InvalidArgument, "a model's inputs and outputs cannot be {}", to_string(type));
}

std::vector<int64_t> read_shape(const google::protobuf::RepeatedField<int64_t>& dims) {
  for (const int64_t dim : dims) {
    if (dim < 0) fail(ErrorCode::InvalidFile, "a dimension of {}", dim);
  }
  return {dims.begin(), dims.end()};
}

SizeRange read_range(const proto::SizeRange& message) {
  if (message.lower_bound() > std::numeric_limits<int64_t>::max()) {
    fail(ErrorCode::InvalidFile, "a dimension of at least {}", message.lower_bound());
  }
  return {static_cast<int64_t>(message.lower_bound()), message.upper_bound()};
}

void write_range(const SizeRange& range, proto::SizeRange& message) {
  message.set_lower_bound(static_cast<uint64_t>(range.lower));
  message.set_upper_bound(range.upper);
}

// Moves data that Feature can hold out of the message.
void read_array(proto::ArrayType& message, Feature& feature) {
  feature.data_type = read_array_type(message.data_type());
  feature.shape = read_shape(message.shape());
  message.clear_data_type();
  message.clear_shape();
  if (message.has_shape_range()) {
    for (const auto& range : message.shape_range().size_ranges()) {
      feature.ranges.push_back(read_range(range));
    }
  }
  for (const auto& shape : message.enumerated_shapes().shapes()) {
    feature.enumerated_shapes.push_back(read_shape(shape.shape()));
  }
  message.clear_flexibility();
  switch (message.default_value_case()) {
    case proto::ArrayType::kIntDefault:
      feature.default_value = message.int_default();
      break;
    case proto::ArrayType::kFloatDefault:
      feature.default_value = message.float_default();
      break;
    case proto::ArrayType::kDoubleDefault:
      feature.default_value = message.double_default();
      break;
    case proto::ArrayType::DEFAULT_VALUE_NOT_SET:
      break;
  }
  message.clear_default_value();
}

ImageSize read_size(uint64_t width, uint64_t height) {
  constexpr uint64_t kLargest = std::numeric_limits<int64_t>::max();
  if (width > kLargest || height > kLargest) {
    fail(ErrorCode::InvalidFile, "an image of {} by {}", width, height);
  }
  return {static_cast<int64_t>(width), static_cast<int64_t>(height)};
}

void read_image(proto::ImageType& message, ImageType& image) {
  image.size =
      read_size(static_cast<uint64_t>(message.width()), static_cast<uint64_t>(message.height()));
  message.clear_width();
  message.clear_height();
  const auto color_space = static_cast<ColorSpace>(message.color_space());
  if (std::find(std::begin(kColorSpaces), std::end(kColorSpaces), color_space) !=
          std::end(kColorSpaces) &&
      static_cast<int32_t>(color_space) == message.color_space()) {
    image.color_space = color_space;
    message.clear_color_space();
  }
  for (const auto& size : message.enumerated_sizes().sizes()) {
    image.enumerated_sizes.push_back(read_size(size.width(), size.height()));
  }
  if (message.has_size_range()) {
    image.width_range = read_range(message.size_range().width());
    image.height_range = read_range(message.size_range().height());
  }
  message.clear_flexibility();
}

void write_image(const ImageType& image, proto::ImageType& message) {
  message.set_width(image.size.width);
  message.set_height(image.size.height);
  if (image.color_space != ColorSpace::Unknown) {
    message.set_color_space(static_cast<int32_t>(image.color_space));
  }
  for (const ImageSize& size : image.enumerated_sizes) {
    auto* target = message.mutable_enumerated_sizes()->add_sizes();
    target->set_width(static_cast<uint64_t>(size.width));
    target->set_height(static_cast<uint64_t>(size.height));
  }
  if (image.width_range && image.height_range) {
    write_range(*image.width_range, *message.mutable_size_range()->mutable_width());
    write_range(*image.height_range, *message.mutable_size_range()->mutable_height());
  }
}

void write_array(const Feature& feature, proto::ArrayType& message) {
  message.set_data_type(array_type_number(feature.data_type));
  for (const int64_t dim : feature.shape) message.add_shape(dim);
  for (const SizeRange& range : feature.ranges) {
    write_range(range, *message.mutable_shape_range()->add_size_ranges());
  }
  for (const auto& shape : feature.enumerated_shapes) {
    auto* target = message.mutable_enumerated_shapes()->add_shapes();
    for (const int64_t dim : shape) target->add_shape(dim);
  }
  if (const auto* integer = std::get_if<int64_t>(&feature.default_value)) {
    message.set_int_default(*integer);
  } else if (const auto* single = std::get_if<float>(&feature.default_value)) {
    message.set_float_default(*single);
  } else if (const auto* full = std::get_if<double>(&feature.default_value)) {
    message.set_double_default(*full);
  }
}

Feature::Kind read_kind(proto::FeatureType::KindCase kind) {
  switch (kind) {
    case proto::FeatureType::kInt64:
      return Feature::Kind::Int64;
    case proto::FeatureType::kDouble:
      return Feature::Kind::Double;
    case proto::FeatureType::kString:
      return Feature::Kind::String;
    case proto::FeatureType::kImage:
      return Feature::Kind::Image;
    case proto::FeatureType::kMultiArray:
      return Feature::Kind::MultiArray;
    case proto::FeatureType::kDictionary:
      return Feature::Kind::Dictionary;
    case proto::FeatureType::kSequence:
      return Feature::Kind::Sequence;
    case proto::FeatureType::kState:
      return Feature::Kind::State;
    case proto::FeatureType::KIND_NOT_SET:
      break;
  }
  fail(ErrorCode::InvalidFile, "an input or output without a known type");
}

Feature read_feature(proto::FeatureDescription message) {
  Feature feature;
  feature.name = read_text(message.name(), "an input's or output's name");
  with_context(fmt::format("'{}'", feature.name), [&] {
    feature.description = read_text(message.description(), "the description");
    auto* type = message.mutable_type();
    feature.optional = type->is_optional();
    feature.kind = read_kind(type->kind_case());
    type->clear_is_optional();
    if (type->has_multi_array()) {
      read_array(*type->mutable_multi_array(), feature);
      if (type->multi_array().ByteSizeLong() == 0) type->clear_kind();
    } else if (type->has_state()) {
      read_array(*type->mutable_state()->mutable_array(), feature);
      if (type->state().array().ByteSizeLong() == 0) type->mutable_state()->clear_array();
      if (type->state().ByteSizeLong() == 0) type->clear_kind();
    } else if (type->has_image()) {
      read_image(*type->mutable_image(), feature.image);
      if (type->image().ByteSizeLong() == 0) type->clear_kind();
    } else if (type->has_dictionary()) {
      auto* dictionary = type->mutable_dictionary();
      feature.string_keys = dictionary->has_string_key();
      const size_t rest =
          dictionary->int64_key().ByteSizeLong() + dictionary->string_key().ByteSizeLong();
      if (rest == 0) dictionary->clear_key();
      if (dictionary->ByteSizeLong() == 0) type->clear_kind();
    }
    if (type->ByteSizeLong() == 0) message.clear_type();
    message.clear_name();
    message.clear_description();
  });
  feature.raw = message.SerializeAsString();
  return feature;
}

void write_feature(const Feature& feature, proto::FeatureDescription& message) {
  if (!message.ParseFromString(feature.raw)) {
    fail(ErrorCode::InvalidArgument, "'{}': its raw part is not a protobuf message", feature.name);
  }
  message.set_name(feature.name);
  message.set_description(feature.description);
  auto* type = message.mutable_type();
  type->set_is_optional(feature.optional && !feature.declared_required);
  if (feature.kind == Feature::Kind::MultiArray) {
    write_array(feature, *type->mutable_multi_array());
  } else if (feature.kind == Feature::Kind::State) {
    write_array(feature, *type->mutable_state()->mutable_array());
  } else if (feature.kind == Feature::Kind::Image) {
    write_image(feature.image, *type->mutable_image());
  } else if (feature.kind == Feature::Kind::Dictionary) {
    if (feature.string_keys) {
      type->mutable_dictionary()->mutable_string_key();
    } else {
      type->mutable_dictionary()->mutable_int64_key();
    }
  } else if (feature.kind == Feature::Kind::Int64) {
    type->mutable_int64();
  } else if (feature.kind == Feature::Kind::Double) {
    type->mutable_double_();
  } else if (feature.kind == Feature::Kind::String) {
    type->mutable_string();
  } else if (read_kind(type->kind_case()) != feature.kind) {
    fail(ErrorCode::InvalidArgument, "'{}': its raw part is of another kind", feature.name);
  }
}

template <typename Features>
std::vector<Feature> read_features(const Features& messages) {
  std::vector<Feature> features;
  for (const auto& message : messages) features.push_back(read_feature(message));
  return features;
}

// ModelDescription and FunctionDescription have the same fields with different numbers.
template <typename Message>
void take_function(Message& message, FunctionDescription& description) {
  description.inputs = read_features(message.input());
  description.outputs = read_features(message.output());
  description.states = read_features(message.state());
  description.predicted_feature_name =
      read_text(message.predicted_feature_name(), "the predicted feature's name");
  description.predicted_probabilities_name =
      read_text(message.predicted_probabilities_name(), "the probabilities' name");
  message.clear_input();
  message.clear_output();
  message.clear_state();
  message.clear_predicted_feature_name();
  message.clear_predicted_probabilities_name();
}

template <typename Message>
void put_function(const FunctionDescription& description, Message& message) {
  for (const Feature& feature : description.inputs) write_feature(feature, *message.add_input());
  for (const Feature& feature : description.outputs) write_feature(feature, *message.add_output());
  for (const Feature& feature : description.states) write_feature(feature, *message.add_state());
  message.set_predicted_feature_name(description.predicted_feature_name);
  message.set_predicted_probabilities_name(description.predicted_probabilities_name);
}

void take_metadata(proto::Metadata& message, Metadata& metadata) {
  metadata.short_description = read_text(message.short_description(), "the short description");
  metadata.version = read_text(message.version(), "the model's version");
  metadata.author = read_text(message.author(), "the author");
  metadata.license = read_text(message.license(), "the license");
  for (const auto& entry : message.user_defined()) {
    metadata.user_defined[read_text(entry.key(), "a metadata key")] =
        read_text(entry.value(), "a metadata value");
  }
  message.clear_short_description();
  message.clear_version();
  message.clear_author();
  message.clear_license();
  message.clear_user_defined();
}

}  // namespace

void write_metadata(const Metadata& metadata, proto::Metadata& message) {
  message.set_short_description(metadata.short_description);
  message.set_version(metadata.version);
  message.set_author(metadata.author);
  message.set_license(metadata.license);
  for (const auto& [key, value] : metadata.user_defined) {
    auto* entry = message.add_user_defined();
    entry->set_key(key);
    entry->set_value(value);
  }
}

void read_description(const proto::Model& message, Model& model) {
  proto::Model rest = message;
  model.specification_version = rest.specification_version();
  rest.clear_specification_version();
  auto* description = rest.mutable_description();
  model.multifunction = description->functions_size() > 0;
  if (model.multifunction) {
    model.default_function =
        read_text(description->default_function_name(), "the default function's name");
    for (auto& function : *description->mutable_functions()) {
      FunctionDescription result;
      result.name = read_text(function.name(), "a function's name");
      function.clear_name();
      with_context(fmt::format("function '{}'", result.name),
                   [&] { take_function(function, result); });
      result.raw = function.SerializeAsString();
      model.functions.push_back(std::move(result));
    }
    description->clear_functions();
    description->clear_default_function_name();
  } else {
    FunctionDescription result;
    result.name = model.default_function = "main";
    take_function(*description, result);
    model.functions.push_back(std::move(result));
  }
  take_metadata(*description->mutable_metadata(), model.metadata);
  if (description->metadata().ByteSizeLong() == 0) description->clear_metadata();
  if (description->ByteSizeLong() == 0) rest.clear_description();
  model.raw = rest.SerializeAsString();
}

void write_description(const Model& model, proto::Model& message) {
  if (!message.ParseFromString(model.raw)) {
    fail(ErrorCode::InvalidArgument, "the model's raw part is not a protobuf message");
  }
  message.set_specification_version(model.specification_version);
  auto* description = message.mutable_description();
  write_metadata(model.metadata, *description->mutable_metadata());
  if (!model.multifunction) {
    if (model.functions.size() != 1) {
      fail(ErrorCode::InvalidArgument, "{} functions in a model that is not multifunction",
           model.functions.size());
    }
    return put_function(model.functions.front(), *description);
  }
  description->set_default_function_name(model.default_function);
  for (const FunctionDescription& function : model.functions) {
    auto* target = description->add_functions();
    if (!target->ParseFromString(function.raw)) {
      fail(ErrorCode::InvalidArgument, "function '{}': its raw part is not a protobuf message",
           function.name);
    }
    target->set_name(function.name);
    put_function(function, *target);
  }
}

}  // namespace pippin::mil
