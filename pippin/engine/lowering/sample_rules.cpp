// resample, affine and crop_resize.
#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/engine/cpu/sample_step.h"
#include "pippin/engine/lowering/rules.h"

namespace pippin::engine {
namespace {

using mil::Dim;
using mil::PixelMix;

[[noreturn]] void no_kernel(const Builder& builder, const mil::Operation& operation) {
  fail(ErrorCode::Unsupported, "{}: no kernel for it", builder.where(operation));
}

// The mode that a parameter names.
template <typename T>
T mode_param(const Builder& builder, const mil::Operation& operation, std::string_view parameter,
             std::optional<T> (*find)(std::string_view)) {
  const auto mode = find(string_param(builder, operation, parameter));
  if (!mode) no_kernel(builder, operation);
  return *mode;
}

mil::Sampler sampler_of(const Builder& builder, const mil::Operation& operation) {
  mil::Sampler sampler;
  sampler.nearest = mode_param(builder, operation, "sampling_mode", mil::find_nearest);
  sampler.padding = mode_param(builder, operation, "padding_mode", mil::find_image_padding);
  sampler.coordinates = mode_param(builder, operation, "coordinates_mode", mil::find_coordinates);
  sampler.padding_value = float_param(builder, operation, "padding_value");
  sampler.align_corners = bool_param(builder, operation, "align_corners");
  return sampler;
}

// The images, which have pixels, and not too many.
View images_of(Builder& builder, const mil::Operation& operation) {
  View x = builder.contiguous(builder.floats(operation, "x"));
  const Dim &height = x.shape.at(2), &width = x.shape.at(3);
  if (height.lower() < 1 || width.lower() < 1 || (height * width).upper() > INT32_MAX) {
    no_kernel(builder, operation);
  }
  return x;
}

// views: ..., coordinates [images, rows, columns, 2], x before y.
class ResampleStep final : public SampleStep {
 public:
  ResampleStep(std::string name, mil::Sampler sampler)
      : SampleStep(std::move(name)), sampler_(sampler) {}

 private:
  void mix(const StepContext& context, int64_t image, int64_t row, int64_t column, int64_t count,
           PixelMix* mixes) const noexcept override {
    const Operand& x = context.operands[1];
    const Operand& points = context.operands[2];
    const float* point =
        points.floats() + ((image * points.shape[1] + row) * points.shape[2] + column) * 2;
    for (int64_t i = 0; i < count; ++i, point += 2) {
      mixes[i] = sampler_.mix(x.shape[2], x.shape[3], double{point[1]}, double{point[0]});
    }
  }

  mil::Sampler sampler_;
};

void resample(Builder& builder, const mil::Operation& operation) {
  const mil::Sampler sampler = sampler_of(builder, operation);
  const View given = builder.view(operation, "coordinates");
  // Large integers are no floats.
  if (!is_float(given.storage)) no_kernel(builder, operation);
  const View x = images_of(builder, operation);
  const View y = builder.allocate(Storage::F32, builder.info(operation.output()).shape);
  builder.emit_step<ResampleStep>({y, x, builder.contiguous(builder.view_as(given, Storage::F32))},
                                  operation.type(), sampler);
  builder.define_output(operation, y);
}

// views: ..., the transformations [images or 1, 6].
class AffineStep final : public SampleStep {
 public:
  AffineStep(std::string name, mil::Sampler sampler)
      : SampleStep(std::move(name)), sampler_(sampler) {}

 private:
  void mix(const StepContext& context, int64_t image, int64_t row, int64_t column, int64_t count,
           PixelMix* mixes) const noexcept override {
    const Operand& y = context.operands[0];
    const Operand& x = context.operands[1];
    const Operand& matrices = context.operands[2];
    double m[6];
    std::copy_n(matrices.floats() + (matrices.shape[0] == 1 ? 0 : image * 6), 6, m);
    const bool align = sampler_.align_corners;
    const double v = mil::affine_point(align, row, y.shape[2]);
    for (int64_t i = 0; i < count; ++i) {
      const double u = mil::affine_point(align, column + i, y.shape[3]);
      mixes[i] = sampler_.mix(x.shape[2], x.shape[3], m[3] * u + m[4] * v + m[5],
                              m[0] * u + m[1] * v + m[2]);
    }
  }

  mil::Sampler sampler_;
};

void affine(Builder& builder, const mil::Operation& operation) {
  const mil::Sampler sampler = sampler_of(builder, operation);
  const View x = images_of(builder, operation);
  const View y = builder.allocate(Storage::F32, builder.info(operation.output()).shape);
  builder.emit_step<AffineStep>(
      {y, x, builder.contiguous(builder.floats(operation, "transform_matrix"))}, operation.type(),
      sampler);
  builder.define_output(operation, y);
}

// views: ..., the boxes [boxes, 4], or [boxes, 5] with the image's index first; the images' indices
// int32 [boxes] if they stand apart. Without indices every box is for all images, or box i for
// image i.
class CropStep final : public SampleStep {
 public:
  enum class Images { InBoxes, Apart, InOrder, All };
  CropStep(std::string name, std::string where, mil::Crop crop, Images images)
      : SampleStep(std::move(name)), where_(std::move(where)), crop_(crop), images_(images) {}

 private:
  int64_t box_of(const StepContext& context, int64_t image) const noexcept {
    return images_ == Images::All ? image / context.operands[1].shape[0] : image;
  }
  const float* numbers(const StepContext& context, int64_t box) const noexcept {
    const Operand& boxes = context.operands[2];
    return boxes.floats() + box * boxes.shape[1];
  }
  double wanted(const StepContext& context, int64_t image) const noexcept {
    switch (images_) {
      case Images::InBoxes:
        return double{numbers(context, image)[0]};
      case Images::Apart:
        return context.operands[3].ints()[image];
      case Images::InOrder:
        return static_cast<double>(image);
      case Images::All:
        return static_cast<double>(image % context.operands[1].shape[0]);
    }
    return 0;
  }
  bool check(const StepContext& context) const noexcept override {
    const int64_t images = context.operands[1].shape[0];
    for (int64_t i = 0; i < context.operands[0].shape[0]; ++i) {
      const double index = wanted(context, i);
      if (index >= 0 && index < static_cast<double>(images)) continue;
      leave_errors(context, [&] {
        fail(ErrorCode::InvalidFile, "{}: a box for image {} of {}", where_, index, images);
      });
      return false;
    }
    return true;
  }
  int64_t source(const StepContext& context, int64_t image) const noexcept override {
    return static_cast<int64_t>(wanted(context, image));
  }
  void mix(const StepContext& context, int64_t image, int64_t row, int64_t column, int64_t count,
           PixelMix* mixes) const noexcept override {
    const Operand& x = context.operands[1];
    const float* given = numbers(context, box_of(context, image));
    double box[4];
    std::copy_n(given + (images_ == Images::InBoxes ? 1 : 0), 4, box);
    const double y_place = crop_.row(box, x.shape[2], row);
    for (int64_t i = 0; i < count; ++i) {
      mixes[i] =
          crop_.mix(x.shape[2], x.shape[3], y_place, crop_.column(box, x.shape[3], column + i));
    }
  }

  std::string where_;
  mil::Crop crop_;
  Images images_;
};

void crop_resize(Builder& builder, const mil::Operation& operation) {
  mil::Crop crop;
  crop.height = int_param(builder, operation, "target_height");
  crop.width = int_param(builder, operation, "target_width");
  crop.normalized = bool_param(builder, operation, "normalized_coordinates");
  crop.scale = float_param(builder, operation, "spatial_scale");
  if (operation.find_input("pad_value") != nullptr) {
    crop.padding = float_param(builder, operation, "pad_value");
  }
  crop.sampling = mode_param(builder, operation, "sampling_mode", mil::find_sampling);
  if (!crop.set_box_mode(string_param(builder, operation, "box_coordinate_mode"))) {
    no_kernel(builder, operation);
  }
  const bool is_roi = operation.find_input("roi") != nullptr;
  View boxes = builder.contiguous(builder.floats(operation, is_roi ? "roi" : "boxes"));
  CropStep::Images images = CropStep::Images::InOrder;
  if (is_roi) {
    images = boxes.shape.at(2) == Dim(5) ? CropStep::Images::InBoxes : CropStep::Images::All;
    boxes = *reshape_view(boxes, {boxes.shape[0], boxes.shape[2]});
  }
  const View x = images_of(builder, operation);
  // Boxes and images together where both have an axis of their own.
  mil::Shape shape = builder.info(operation.output()).shape;
  const View y = builder.allocate(Storage::F32, shape);
  if (shape.size() == 5) shape = {shape[0] * shape[1], shape[2], shape[3], shape[4]};
  std::vector<View> views = {*reshape_view(y, shape), x, boxes};
  if (operation.find_input("box_indices") != nullptr) {
    images = CropStep::Images::Apart;
    views.push_back(builder.contiguous(builder.ints(operation, "box_indices")));
  }
  builder.emit_step<CropStep>(std::move(views), operation.type(), builder.where(operation), crop,
                              images);
  builder.define_output(operation, y);
}

}  // namespace

void add_sample_rules(Rules& rules) {
  rules["affine"] = affine;
  rules["crop_resize"] = crop_resize;
  rules["resample"] = resample;
}

}  // namespace pippin::engine
