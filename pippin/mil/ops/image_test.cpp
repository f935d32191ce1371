// Resizing, sampling, non-maximum suppression.
#include "pippin/mil/ops/testing.h"

namespace pippin::mil {
namespace {

constexpr double kInf = INFINITY, kNaN = NAN;

// [[1, 2, 3], [4, 5, 6]] as one image.
const Tensor kImage = floats({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6});

Arguments resize_arguments(const Tensor& x, std::vector<double> shape, int64_t dims,
                           const std::string& mode, const std::string& sampling) {
  return {{"x", {x}},
          {"shape", {ints(std::move(shape))}},
          {"resized_dims", {numbers(DataType::UInt32, {}, {static_cast<double>(dims)})}},
          {"interpolation_mode", {text(mode)}},
          {"sampling_mode", {text(sampling)}}};
}

TEST(Resize, SamplingModes) {
  const Tensor x = floats({2}, {0, 10});
  const auto resized = [&](const std::string& sampling, double count) {
    return run_one("resize", resize_arguments(x, {count}, 1, "LINEAR", sampling));
  };
  expect_tensor(resized("DEFAULT", 5), {5}, {0, 4, 8, 10, 10});
  expect_tensor(resized("STRICT_ALIGN_CORNERS", 5), {5}, {0, 2.5, 5, 7.5, 10});
  expect_tensor(resized("ALIGN_CORNERS", 1), {1}, {5});
  expect_tensor(resized("STRICT_ALIGN_CORNERS", 1), {1}, {0});
  expect_tensor(resized("OFFSET_CORNERS", 5), {5}, {1, 3, 5, 7, 9});
  expect_tensor(resized("UNALIGN_CORNERS", 5), {5}, {0, 1, 5, 9, 10});
  EXPECT_EQ(error_code_of([&] { resized("NEAR", 5); }), ErrorCode::InvalidFile);
}

TEST(Resize, NearestAndKeptSizes) {
  const Tensor x = floats({1, 2, 1}, {3, 4});
  // Two thirds round up; 0 keeps a size; sizes before the last two are ignored.
  expect_tensor(run_one("resize", resize_arguments(x, {9, 3, 0}, 2, "NEAREST_NEIGHBOR", "DEFAULT")),
                {1, 3, 1}, {3, 4, 4});
  expect_tensor(run_one("resize", resize_arguments(x, {1, 3, 2}, 0, "LINEAR", "DEFAULT")),
                {1, 2, 1}, {3, 4});
  const auto refused = [&](std::vector<double> shape, int64_t dims, const std::string& mode) {
    return error_code_of(
        [&] { run_one("resize", resize_arguments(x, shape, dims, mode, "DEFAULT")); });
  };
  EXPECT_EQ(refused({1, 1, 2, 2}, 2, "LINEAR"), ErrorCode::InvalidFile);
  EXPECT_EQ(refused({1, 2}, 3, "LINEAR"), ErrorCode::InvalidFile);
  EXPECT_EQ(refused({1, 2, -1}, 1, "LINEAR"), ErrorCode::InvalidFile);
  EXPECT_EQ(refused({1, 2, 2}, 1, "CUBIC"), ErrorCode::InvalidFile);
}

Tensor resample(const Tensor& coordinates, const std::string& sampling, const std::string& padding,
                const std::string& mode, bool align) {
  return run_one("resample", {{"x", {kImage}},
                              {"coordinates", {coordinates}},
                              {"sampling_mode", {text(sampling)}},
                              {"padding_mode", {text(padding)}},
                              {"padding_value", {floats({}, {9})}},
                              {"coordinates_mode", {text(mode)}},
                              {"align_corners", {flag(align)}}});
}

TEST(Resample, PaddingModes) {
  // (x, y): two pixels left of the image, half a pixel below it, between all, far away.
  const Tensor points = floats({1, 1, 4, 2}, {-2, 0, 1, 1.5, 0.5, 0.5, -7, 0});
  const auto sampled = [&](const std::string& padding) {
    return resample(points, "bilinear", padding, "unnormalized", false);
  };
  expect_tensor(sampled("constant"), {1, 1, 1, 4}, {9, 7, 3, 9});
  expect_tensor(sampled("border"), {1, 1, 1, 4}, {1, 5, 3, 1});
  expect_tensor(sampled("reflection"), {1, 1, 1, 4}, {3, 3.5, 3, 2});
  expect_tensor(sampled("symmetric"), {1, 1, 1, 4}, {2, 5, 3, 1});
  EXPECT_EQ(error_code_of([&] { sampled("wrap"); }), ErrorCode::InvalidFile);
  // Halfway between two pixels, the upper one is the nearest.
  expect_tensor(resample(points, "nearest", "border", "unnormalized", false), {1, 1, 1, 4},
                {1, 5, 5, 1});
}

TEST(Resample, CoordinateModes) {
  const Tensor corners = floats({1, 1, 2, 2}, {-1, -1, 1, 1});
  expect_tensor(resample(corners, "bilinear", "border", "normalized_minus_one_to_one", true),
                {1, 1, 1, 2}, {1, 6});
  const Tensor middle = floats({1, 1, 1, 2}, {0.5, 0.5});
  expect_tensor(resample(middle, "bilinear", "border", "normalized_zero_to_one", true),
                {1, 1, 1, 1}, {3.5});
  // With the edges of three pixels at 0 and 1, a quarter is a quarter into the first.
  const Tensor quarter = floats({1, 1, 1, 2}, {0.25, 0.25});
  expect_tensor(resample(quarter, "bilinear", "border", "normalized_zero_to_one", false),
                {1, 1, 1, 1}, {1.25});
}

TEST(Resample, TakesAnyNumber) {
  const Tensor points = floats({1, 1, 3, 2}, {kNaN, 0, kInf, 0, -1e300, -kInf});
  for (const char* padding : {"constant", "border", "reflection", "symmetric"}) {
    for (const char* sampling : {"bilinear", "nearest"}) {
      const Tensor result = resample(points, sampling, padding, "unnormalized", false);
      EXPECT_EQ(result.values.size(), 3u);
    }
  }
  expect_tensor(resample(points, "bilinear", "border", "unnormalized", false), {1, 1, 1, 3},
                {1, 3, 1});
}

Tensor affine(std::vector<double> matrix, int64_t rows, int64_t columns, bool align,
              const std::string& padding = "constant") {
  return run_one("affine", {{"x", {kImage}},
                            {"transform_matrix", {floats({1, 6}, std::move(matrix))}},
                            {"output_height", {integer(rows)}},
                            {"output_width", {integer(columns)}},
                            {"sampling_mode", {text("bilinear")}},
                            {"padding_mode", {text(padding)}},
                            {"padding_value", {floats({}, {0})}},
                            {"coordinates_mode", {text("normalized_minus_one_to_one")}},
                            {"align_corners", {flag(align)}}});
}

TEST(Affine, MovesAndMirrors) {
  for (const bool align : {false, true}) {
    expect_tensor(affine({1, 0, 0, 0, 1, 0}, 2, 3, align), {1, 1, 2, 3}, {1, 2, 3, 4, 5, 6});
    expect_tensor(affine({-1, 0, 0, 0, 1, 0}, 2, 3, align), {1, 1, 2, 3}, {3, 2, 1, 6, 5, 4});
  }
  expect_tensor(affine({1, 0, 1, 0, 1, 0}, 2, 3, true), {1, 1, 2, 3}, {2, 3, 0, 5, 6, 0});
  expect_tensor(affine({1, 0, 0, 0, 1, 0}, 1, 1, true), {1, 1, 1, 1}, {3.5});
  EXPECT_EQ(error_code_of([] {
              affine({1, 0, 0, 0, 1, 0}, 1, 1, true, "border");
            }),
            ErrorCode::Unsupported);
}

// Values increase along x, so that they reveal the position of a sample.
const Tensor kImages = floats({2, 1, 2, 3}, {0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15});

TEST(CropResize, BoxesOfOpset7) {
  const auto crop = [](std::vector<double> box, const std::string& mode, double image) {
    return run_one("crop_resize", {{"x", {kImages}},
                                   {"boxes", {floats({1, 4}, std::move(box))}},
                                   {"box_indices", {ints({image})}},
                                   {"target_height", {integer(2)}},
                                   {"target_width", {integer(2)}},
                                   {"box_coordinate_mode", {text(mode)}},
                                   {"sampling_mode", {text("ALIGN_CORNERS")}},
                                   {"pad_value", {floats({}, {-1})}}});
  };
  const std::vector<double> expected = {11, 12, 14, 15};
  expect_tensor(crop({0, 1, 1, 2}, "CORNERS_HEIGHT_FIRST", 1), {1, 1, 2, 2}, expected);
  expect_tensor(crop({1, 0, 2, 1}, "CORNERS_WIDTH_FIRST", 1), {1, 1, 2, 2}, expected);
  expect_tensor(crop({0.5, 1.5, 1, 1}, "CENTER_SIZE_HEIGHT_FIRST", 1), {1, 1, 2, 2}, expected);
  expect_tensor(crop({1.5, 0.5, 1, 1}, "CENTER_SIZE_WIDTH_FIRST", 1), {1, 1, 2, 2}, expected);
  // From the last image to the first, and beyond the image.
  expect_tensor(crop({1, 2, 0, 1}, "CORNERS_HEIGHT_FIRST", 0), {1, 1, 2, 2}, {5, 4, 2, 1});
  expect_tensor(crop({0, 2, 1, 3}, "CORNERS_HEIGHT_FIRST", 0), {1, 1, 2, 2}, {2, -1, 5, -1});
  EXPECT_EQ(error_code_of([&] {
              crop({0, 0, 1, 1}, "CORNERS_HEIGHT_FIRST", 2);
            }),
            ErrorCode::InvalidFile);
  EXPECT_EQ(error_code_of([&] { crop({0, 0, 1, 1}, "CORNERS", 0); }), ErrorCode::InvalidFile);
}

TEST(CropResize, EachBoxHasItsImageByDefault) {
  const Arguments two = {{"x", {kImages}}, {"boxes", {floats({2, 4}, {0, 0, 1, 1, 1, 2, 1, 2})}}};
  expect_tensor(run_one("crop_resize", two), {2, 1, 1, 1}, {0, 15});
  EXPECT_EQ(error_code_of([] {
              run_one("crop_resize",
                      {{"x", {kImage}}, {"boxes", {floats({2, 4}, {0, 0, 1, 1, 1, 2, 1, 2})}}});
            }),
            ErrorCode::InvalidFile);
}

TEST(CropResize, RegionsBeforeOpset7) {
  const auto crop = [](Tensor roi) {
    return run_one("crop_resize",
                   {{"x", {kImages}},
                    {"roi", {std::move(roi)}},
                    {"normalized_coordinates", {flag(true)}},
                    {"sampling_mode", {text("ALIGN_CORNERS")}}},
                   Opset::CoreML5);
  };
  expect_tensor(crop(floats({1, 1, 4, 1, 1}, {0, 0, 1, 1})), {1, 2, 1, 1, 1}, {2.5, 12.5});
  expect_tensor(crop(floats({1, 1, 5, 1, 1}, {1, 0, 0, 1, 1})), {1, 1, 1, 1, 1}, {12.5});
  EXPECT_EQ(error_code_of([&] {
              crop(floats({1, 1, 3, 1, 1}, {0, 0, 1}));
            }),
            ErrorCode::InvalidFile);
}

// Two boxes that overlap by a third, and one apart.
const Tensor kBoxes = floats({1, 3, 4}, {1, 1, 2, 2, 2, 1, 2, 2, 9, 9, 2, 2});

std::vector<Tensor> suppress(const Tensor& scores, double iou, double score, int64_t count,
                             bool per_class = false) {
  return run_op("non_maximum_suppression",
                {{"boxes", {kBoxes}},
                 {"scores", {scores}},
                 {"iou_threshold", {floats({}, {iou})}},
                 {"score_threshold", {floats({}, {score})}},
                 {"max_boxes", {integer(count)}},
                 {"per_class_suppression", {flag(per_class)}}},
                Opset::CoreML6);
}

TEST(NonMaximumSuppression, KeepsTheBest) {
  const Tensor scores = floats({1, 3, 1}, {0.5, 0.75, 0.25});
  std::vector<Tensor> outputs = suppress(scores, 0.25, 0, 4);
  ASSERT_EQ(outputs.size(), 4u);
  expect_tensor(outputs[0], {1, 4, 4}, {2, 1, 2, 2, 9, 9, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0});
  expect_tensor(outputs[1], {1, 4, 1}, {0.75, 0.25, 0, 0});
  expect_tensor(outputs[2], {1, 4}, {1, 2, -1, -1});
  expect_tensor(outputs[3], {1}, {2});
  expect_tensor(suppress(scores, 0.5, 0, 4)[2], {1, 4}, {1, 0, 2, -1});
  expect_tensor(suppress(scores, 0.5, 0.3, 4)[2], {1, 4}, {1, 0, -1, -1});
  expect_tensor(suppress(scores, 0.5, 0, 1)[2], {1, 1}, {1});
  // There is always at least one box.
  expect_tensor(suppress(scores, 0.5, 1, 2)[2], {1, 2}, {1, -1});
}

TEST(NonMaximumSuppression, PerClass) {
  const Tensor scores = floats({1, 3, 2}, {0.5, 0.1, 0.2, 0.75, 0.25, 0});
  expect_tensor(suppress(scores, 0.25, 0, 3, true)[2], {1, 3}, {1, 0, 2});
  expect_tensor(suppress(scores, 0.25, 0, 3, false)[2], {1, 3}, {1, 2, -1});
}

TEST(NonMaximumSuppression, BoxesComeLastSinceOpset7) {
  const std::vector<Tensor> outputs =
      run_op("non_maximum_suppression", {{"boxes", {floats({1, 4, 2}, {1, 9, 1, 9, 2, 2, 2, 2})}},
                                         {"scores", {floats({1, 1, 2}, {0.5, kNaN})}},
                                         {"iou_threshold", {floats({}, {0.5})}},
                                         {"max_boxes", {integer(3)}}});
  ASSERT_EQ(outputs.size(), 3u);
  expect_tensor(outputs[0], {1, 4, 3}, {1, 9, 0, 1, 9, 0, 2, 2, 0, 2, 2, 0});
  expect_tensor(outputs[2], {1, 3}, {0, 1, -1});
}

TEST(NonMaximumSuppression, OverlapsOfExactlyTheThreshold) {
  // The first two share one fifth; the third is apart, an overlap of 0.
  const std::vector<double> boxes = {1.5, 2, 1, 2, 1, 1, 2, 2, 9, 9, 1, 1};
  const auto kept = [&](double threshold, Opset opset) {
    const bool last = opset >= Opset::CoreML7;
    Arguments arguments = {{"iou_threshold", {floats({}, {threshold})}},
                           {"max_boxes", {integer(3)}}};
    const Tensor rows = floats({1, 3, 4}, boxes), scores = floats({1, 3, 1}, {3, 2, 1});
    const auto turned = [](const Tensor& x) {
      return run_one("transpose", {{"x", {x}}, {"perm", {ints({0, 2, 1})}}});
    };
    arguments.push_back({"boxes", {last ? turned(rows) : rows}});
    arguments.push_back({"scores", {last ? turned(scores) : scores}});
    if (!last) arguments.push_back({"score_threshold", {floats({}, {0})}});
    return run_op("non_maximum_suppression", arguments, opset).at(2);
  };
  const double fifth = static_cast<double>(0.2f);
  expect_tensor(kept(fifth, Opset::CoreML6), {1, 3}, {0, 1, 2});
  expect_tensor(kept(fifth, Opset::CoreML7), {1, 3}, {0, 2, -1});
  expect_tensor(kept(0, Opset::CoreML7), {1, 3}, {0, 2, -1});
}

TEST(ConvQuantized, ScalesTheWeight) {
  const Tensor x = floats({1, 1, 3}, {1, 2, 3});
  const Tensor weight = numbers(DataType::UInt8, {2, 1, 1}, {1, 255});
  const auto run = [&](const std::string& type) {
    return run_one("conv_quantized", {{"x", {x}},
                                      {"weight", {weight}},
                                      {"quantization_type", {text(type)}},
                                      {"quant_scale", {floats({2}, {2, 1})}},
                                      {"quant_bias", {floats({}, {-1})}}});
  };
  expect_tensor(run("linear"), {1, 2, 3}, {1, 2, 3, 254, 508, 762});
  EXPECT_EQ(error_code_of([&] { run("lut"); }), ErrorCode::Unsupported);
}

}  // namespace
}  // namespace pippin::mil
