// Values checked against declarations, without a program.
#include <cmath>

#include <gtest/gtest.h>

#include "pippin/api/feature.h"
#include "pippin/io/fault_test.h"

namespace pippin::api {
namespace {

FeatureInfo array(DataType type, std::vector<int64_t> shape) {
  FeatureInfo feature;
  feature.name = "x";
  feature.type = type;
  feature.shape = std::move(shape);
  return feature;
}

mil::Feature image_feature(mil::ColorSpace color_space, int64_t width, int64_t height) {
  mil::Feature feature;
  feature.name = "picture";
  feature.kind = mil::Feature::Kind::Image;
  feature.image.size = {width, height};
  feature.image.color_space = color_space;
  return feature;
}

Image image(int64_t width, int64_t height, int channels, const std::vector<int>& pixels) {
  Image result{width, height, channels, DataType::UInt8, {}};
  for (const int pixel : pixels) result.pixels.push_back(static_cast<std::byte>(pixel));
  return result;
}

Tensor floats(const std::vector<float>& values, std::vector<int64_t> shape) {
  return Tensor::from(values, std::move(shape));
}

std::vector<double> values_of(const engine::HostTensor& host) {
  return Tensor::from_bytes(to_public(host.type), host.bytes, host.shape).to_doubles();
}

TEST(InputValue, FixedShapes) {
  const FeatureInfo feature = array(DataType::Float16, {1, 2});
  const auto host = input_value(feature, Tensor::from(std::vector<double>{0.5, -2}, {1, 2}));
  EXPECT_EQ(host.type, mil::DataType::Float16);
  EXPECT_EQ(values_of(host), (std::vector<double>{0.5, -2}));
  EXPECT_FAULT(input_value(feature, floats({1, 2}, {2})), "shape [2]; expected float16 [1, 2]");
  EXPECT_FAULT(input_value(feature, Image{}), "an image; expected float16 [1, 2]");
  EXPECT_FAULT(input_value(feature, Dictionary{}), "a dictionary; expected float16 [1, 2]");
  EXPECT_FAULT(input_value(feature, Tensor(DataType::String, {1, 2})),
               "string [1, 2]; expected float16 [1, 2]");
  EXPECT_FAULT(input_value(array(DataType::Int32, {1}), floats({0.5}, {1})),
               "element 0 is 0.5, which int32 cannot hold; expected int32 [1]");
}

TEST(InputValue, ScalarsAreVectorsOfOne) {
  EXPECT_EQ(input_value(array(DataType::Int32, {1}), floats({3}, {})).shape,
            std::vector<int64_t>{1});
}

TEST(InputValue, RangesAndEnumeratedShapes) {
  FeatureInfo ranged = array(DataType::Int32, {1, 4});
  ranged.ranges = {{1, 1}, {1, 8}, {2, -1}};
  EXPECT_EQ(to_string(ranged), "int32 [1, 1..8, 2..]");
  const auto shaped = [](std::vector<int64_t> shape) { return Tensor(DataType::Int32, shape); };
  EXPECT_EQ(input_value(ranged, shaped({1, 8, 100})).shape[2], 100);
  EXPECT_FAULT(input_value(ranged, shaped({1, 9, 2})), "shape [1, 9, 2]; expected int32 [1, 1..8");
  EXPECT_FAULT(input_value(ranged, shaped({1, 0, 2})), "shape [1, 0, 2]");
  EXPECT_FAULT(input_value(ranged, shaped({1, 1, 1})), "shape [1, 1, 1]");
  EXPECT_FAULT(input_value(ranged, shaped({1, 8})), "shape [1, 8]");

  FeatureInfo listed = array(DataType::Float32, {2, 3});
  listed.enumerated_shapes = {{2, 3}, {4, 3}};
  EXPECT_EQ(to_string(listed), "float32 [2, 3] or [4, 3]");
  EXPECT_EQ(input_value(listed, shaped({4, 3})).shape[0], 4);
  EXPECT_FAULT(input_value(listed, shaped({3, 3})), "shape [3, 3]; expected float32 [2, 3] or [4");
}

TEST(InputValue, DefaultsOfOptionalInputs) {
  mil::Feature declared;
  declared.shape = {2};
  declared.optional = true;
  EXPECT_EQ(default_input(feature_info(declared), 2).to_doubles(), (std::vector<double>{0, 0}));
  declared.default_value = 0.25f;
  EXPECT_EQ(default_input(feature_info(declared), 2).to_doubles(),
            (std::vector<double>{0.25, 0.25}));
  declared.data_type = mil::DataType::Int32;
  declared.default_value = int64_t{-7};
  EXPECT_EQ(default_input(feature_info(declared), 2).to_doubles(), (std::vector<double>{-7, -7}));
  declared.shape = {int64_t{1} << 40, int64_t{1} << 40};
  EXPECT_FAULT(default_input(feature_info(declared), 1000), "has more than 1000 elements");
}

TEST(InputValue, TheDefaultShapeComesFromTheFlexibility) {
  mil::Feature declared;
  declared.ranges = {{2, 5}, {1, -1}};
  EXPECT_EQ(feature_info(declared).shape, (std::vector<int64_t>{2, 1}));
  declared.ranges.clear();
  declared.enumerated_shapes = {{3}, {1}};
  EXPECT_EQ(feature_info(declared).shape, std::vector<int64_t>{3});
}

TEST(InputValue, ImagesBecomePlanesInTheDeclaredOrder) {
  const Image colors = image(2, 1, 3, {1, 2, 3, 4, 5, 6});
  const FeatureInfo rgb = feature_info(image_feature(mil::ColorSpace::Rgb, 2, 1));
  EXPECT_EQ(rgb.shape, (std::vector<int64_t>{1, 3, 1, 2}));
  EXPECT_EQ(to_string(rgb), "image RGB 2 x 1");
  EXPECT_EQ(values_of(input_value(rgb, colors)), (std::vector<double>{1, 4, 2, 5, 3, 6}));
  const FeatureInfo bgr = feature_info(image_feature(mil::ColorSpace::Bgr, 2, 1));
  EXPECT_EQ(values_of(input_value(bgr, colors)), (std::vector<double>{3, 6, 2, 5, 1, 4}));
  const FeatureInfo gray = feature_info(image_feature(mil::ColorSpace::Grayscale, 2, 1));
  const Image levels = image(2, 1, 1, {7, 200});
  EXPECT_EQ(values_of(input_value(gray, levels)), (std::vector<double>{7, 200}));
  EXPECT_EQ(values_of(input_value(rgb, levels)), (std::vector<double>{7, 200, 7, 200, 7, 200}));
  // 0.299 R + 0.587 G + 0.114 B
  EXPECT_EQ(values_of(input_value(gray, image(2, 1, 3, {255, 0, 0, 0, 100, 100}))),
            (std::vector<double>{76, 70}));
}

TEST(InputValue, ImagesOfHalves) {
  const FeatureInfo feature = feature_info(image_feature(mil::ColorSpace::GrayscaleFloat16, 1, 2));
  const Tensor halves = floats({-3.5, 1000}, {2}).to(DataType::Float16);
  Image picture{1, 2, 1, DataType::Float16, {halves.bytes().begin(), halves.bytes().end()}};
  EXPECT_EQ(values_of(input_value(feature, picture)), (std::vector<double>{-3.5, 1000}));
  EXPECT_EQ(values_of(input_value(feature, floats({-3.5, 1000}, {1, 1, 2, 1}))),
            (std::vector<double>{-3.5, 1000}));
  EXPECT_FAULT(input_value(feature_info(image_feature(mil::ColorSpace::Grayscale, 1, 2)), picture),
               "an image of float16 pixels; expected image grayscale 1 x 2");
}

TEST(InputValue, ImagesThatDoNotFit) {
  mil::Feature declared = image_feature(mil::ColorSpace::Rgb, 2, 1);
  FeatureInfo feature = feature_info(declared);
  EXPECT_FAULT(input_value(feature, image(1, 2, 3, {1, 2, 3, 4, 5, 6})),
               "an image of 1 x 2 pixels; expected image RGB 2 x 1");
  EXPECT_FAULT(input_value(feature, image(2, 1, 3, {1, 2, 3, 4, 5})), "3 channels, uint8, 5 bytes");
  EXPECT_FAULT(input_value(feature, image(2, 1, 4, {1, 2, 3, 4, 5, 6, 7, 8})), "4 channels");
  EXPECT_FAULT(input_value(feature, image(-2, -1, 1, {1, 2})), "an image of -2 x -1 pixels");
  EXPECT_FAULT(input_value(feature, floats({0, 1, 2, 3, 4, 256}, {1, 3, 1, 2})),
               "element 5 is 256, outside of 0 to 255");
  EXPECT_FAULT(input_value(feature, floats({0, 1}, {1, 1, 1, 2})), "shape [1, 1, 1, 2]");
  declared.image.enumerated_sizes = {{2, 1}, {3, 3}};
  EXPECT_EQ(to_string(feature_info(declared)), "image RGB 2 x 1 or 3 x 3");
  declared.image.enumerated_sizes.clear();
  declared.image.width_range = mil::SizeRange{2, 10};
  declared.image.height_range = mil::SizeRange{1, -1};
  feature = feature_info(declared);
  EXPECT_EQ(to_string(feature), "image RGB 2..10 x 1..");
  EXPECT_EQ(input_value(feature, image(2, 2, 1, {1, 2, 3, 4})).shape[2], 2);
  EXPECT_FAULT(input_value(feature, image(1, 2, 1, {1, 2})), "an image of 1 x 2 pixels; expected");
  declared.image.color_space = mil::ColorSpace::Unknown;
  EXPECT_FAULT(feature_info(declared), "'picture': an image without a known color space");
}

engine::HostTensor host(mil::DataType type, const Tensor& tensor) {
  return {type, tensor.shape(), {tensor.bytes().begin(), tensor.bytes().end()}, {}, {}, {}};
}

TEST(OutputValue, IsOfTheDeclaredType) {
  const Value single =
      output_value(array(DataType::Float16, {1}), host(mil::DataType::Float32, floats({1e9f}, {})));
  EXPECT_EQ(std::get<Tensor>(single).type(), DataType::Float16);
  EXPECT_EQ(std::get<Tensor>(single).shape(), std::vector<int64_t>{1});
  EXPECT_EQ(std::get<Tensor>(single).to_floats()[0], HUGE_VALF);
  const Value whole = output_value(array(DataType::Int32, {3}),
                                   host(mil::DataType::Float32, floats({-1.5, 3e9f, 2}, {3})));
  EXPECT_EQ(std::get<Tensor>(whole).to_doubles(), (std::vector<double>{-1, 2147483647, 2}));
}

TEST(OutputValue, ImagesAreLevels) {
  const FeatureInfo feature = feature_info(image_feature(mil::ColorSpace::Grayscale, 4, 1));
  const Value value = output_value(
      feature, host(mil::DataType::Float32, floats({-1, 254.6f, 300, NAN}, {1, 1, 1, 4})));
  EXPECT_EQ(std::get<Tensor>(value).type(), DataType::UInt8);
  EXPECT_EQ(std::get<Tensor>(value).to_doubles(), (std::vector<double>{0, 255, 255, 0}));
}

TEST(OutputValue, ClassifiersGiveLabelsAndDictionaries) {
  mil::Feature declared;
  declared.kind = mil::Feature::Kind::String;
  engine::HostTensor label;
  label.type = mil::DataType::String;
  label.strings = {"cat"};
  const Value text = output_value(feature_info(declared), label);
  EXPECT_EQ(std::get<Tensor>(text).strings(), std::vector<std::string>{"cat"});

  declared.kind = mil::Feature::Kind::Dictionary;
  declared.string_keys = true;
  engine::HostTensor probabilities = host(mil::DataType::Float32, floats({0.25, 0.75}, {1, 2}));
  probabilities.string_keys = {"dog", "cat"};
  const auto named = std::get<Dictionary>(output_value(feature_info(declared), probabilities));
  EXPECT_EQ(named.keys.strings(), (std::vector<std::string>{"dog", "cat"}));
  EXPECT_EQ(named.values.type(), DataType::Float64);
  EXPECT_EQ(named.values.to_doubles(), (std::vector<double>{0.25, 0.75}));

  declared.string_keys = false;
  probabilities.string_keys.clear();
  EXPECT_FAULT(output_value(feature_info(declared), probabilities), "2 probabilities for 0");
  probabilities.int_keys = {10, 20};
  const auto numbered = std::get<Dictionary>(output_value(feature_info(declared), probabilities));
  EXPECT_EQ(numbered.keys.to_doubles(), (std::vector<double>{10, 20}));
}

}  // namespace
}  // namespace pippin::api
