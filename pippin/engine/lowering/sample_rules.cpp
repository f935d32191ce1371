// resample, affine and crop_resize.
#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/engine/lowering/rules.h"

namespace pippin::engine {
namespace {

using mil::Dim;

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

// The images, checked for size: not empty and not too many elements.
View images_of(Builder& builder, const mil::Operation& operation) {
  View x = builder.contiguous(builder.floats(operation, "x"));
  const Dim &height = x.shape.at(2), &width = x.shape.at(3);
  if (height.lower() < 1 || width.lower() < 1 || (height * width).upper() > INT32_MAX) {
    no_kernel(builder, operation);
  }
  return x;
}

void resample(Builder& builder, const mil::Operation& operation) {
  const mil::Sampler sampler = sampler_of(builder, operation);
  const View given = builder.view(operation, "coordinates");
  // Floats cannot hold large integers.
  if (!is_float(given.storage)) no_kernel(builder, operation);
  const View x = images_of(builder, operation);
  const View y = builder.allocate(Storage::F32, builder.info(operation.output()).shape);
  builder.emit(ResampleNode{sampler},
               {y, x, builder.contiguous(builder.view_as(given, Storage::F32))});
  builder.define_output(operation, y);
}

void affine(Builder& builder, const mil::Operation& operation) {
  const mil::Sampler sampler = sampler_of(builder, operation);
  const View x = images_of(builder, operation);
  const View y = builder.allocate(Storage::F32, builder.info(operation.output()).shape);
  builder.emit(AffineNode{sampler},
               {y, x, builder.contiguous(builder.floats(operation, "transform_matrix"))});
  builder.define_output(operation, y);
}

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
  CropNode::Images images = CropNode::Images::InOrder;
  if (is_roi) {
    images = boxes.shape.at(2) == Dim(5) ? CropNode::Images::InBoxes : CropNode::Images::All;
    boxes = *reshape_view(boxes, {boxes.shape[0], boxes.shape[2]});
  }
  const View x = images_of(builder, operation);
  // Boxes and images together if each has its own axis.
  mil::Shape shape = builder.info(operation.output()).shape;
  const View y = builder.allocate(Storage::F32, shape);
  if (shape.size() == 5) shape = {shape[0] * shape[1], shape[2], shape[3], shape[4]};
  std::vector<View> views = {*reshape_view(y, shape), x, boxes};
  if (operation.find_input("box_indices") != nullptr) {
    images = CropNode::Images::Apart;
    views.push_back(builder.contiguous(builder.ints(operation, "box_indices")));
  }
  builder.emit(CropNode{builder.where(operation), crop, images}, std::move(views));
  builder.define_output(operation, y);
}

}  // namespace

void add_sample_rules(Rules& rules) {
  rules["affine"] = affine;
  rules["crop_resize"] = crop_resize;
  rules["resample"] = resample;
}

}  // namespace pippin::engine
