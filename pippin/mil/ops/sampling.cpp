// Sampling images at arbitrary points: resample, affine, crop_resize.
#include "pippin/mil/ops/sampling.h"

#include <algorithm>
#include <cmath>

#include <fmt/ranges.h>

#include "pippin/mil/ops/families.h"

namespace pippin::mil {
namespace {

std::string lower(std::string_view name) {
  std::string result(name);
  for (char& letter : result) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return result;
}

}  // namespace

std::optional<ImagePadding> find_image_padding(std::string_view name) {
  const std::string mode = lower(name);
  if (mode == "constant") return ImagePadding::Constant;
  if (mode == "border") return ImagePadding::Border;
  if (mode == "reflection") return ImagePadding::Reflection;
  if (mode == "symmetric") return ImagePadding::Symmetric;
  return std::nullopt;
}

std::optional<Coordinates> find_coordinates(std::string_view name) {
  const std::string mode = lower(name);
  if (mode == "unnormalized") return Coordinates::Unnormalized;
  if (mode == "normalized_minus_one_to_one") return Coordinates::MinusOneToOne;
  if (mode == "normalized_zero_to_one") return Coordinates::ZeroToOne;
  return std::nullopt;
}

std::optional<bool> find_nearest(std::string_view name) {
  const std::string mode = lower(name);
  if (mode == "bilinear") return false;
  if (mode == "nearest") return true;
  return std::nullopt;
}

// Converts to pixels; 0 is the centre of the first one.
double Sampler::to_pixels(double place, int64_t size) const {
  if (coordinates == Coordinates::Unnormalized) return place;
  if (coordinates == Coordinates::MinusOneToOne) place = (place + 1) / 2;
  const auto count = static_cast<double>(size);
  return align_corners ? place * (count - 1) : place * count - 0.5;
}

// A point inside the image whose value the padding gives to `place`; returns `place` unchanged for
// constant padding.
double Sampler::inside(double place, int64_t size) const {
  const auto last = static_cast<double>(size - 1);
  if (padding == ImagePadding::Constant) return place;
  if (padding == ImagePadding::Border) return std::isnan(place) ? 0 : std::clamp(place, 0.0, last);
  // The mirrors are at the outer pixels' centres, or at their edges.
  const double edge = padding == ImagePadding::Symmetric ? 0.5 : 0;
  const double length = last + 2 * edge;
  if (length == 0 || !std::isfinite(place)) return 0;
  double distance = std::fmod(std::abs(place + edge), 2 * length);
  if (distance > length) distance = 2 * length - distance;
  return std::clamp(distance - edge, 0.0, last);
}

PixelMix Sampler::mix(int64_t height, int64_t width, double y, double x) const {
  PixelMix mix;
  size_t next = 0;
  const auto add = [&](double row, double column, double weight) {
    if (weight == 0) return;
    const bool in_image = row >= 0 && column >= 0 && row < static_cast<double>(height) &&
                          column < static_cast<double>(width);
    if (in_image) {
      mix.pixels[next] = static_cast<int64_t>(row) * width + static_cast<int64_t>(column);
      mix.weights[next++] = weight;
    } else {
      mix.constant += weight * padding_value;
    }
  };
  y = to_pixels(y, height);
  x = to_pixels(x, width);
  if (nearest) {
    add(inside(std::floor(y + 0.5), height), inside(std::floor(x + 0.5), width), 1);
    return mix;
  }
  y = inside(y, height);
  x = inside(x, width);
  const double top = std::floor(y), left = std::floor(x);
  const double down = y - top, right = x - left;
  add(top, left, (1 - down) * (1 - right));
  add(top, left + 1, (1 - down) * right);
  add(top + 1, left, down * (1 - right));
  add(top + 1, left + 1, down * right);
  return mix;
}

double affine_point(bool align_corners, int64_t i, int64_t count) {
  const auto at = static_cast<double>(i), size = static_cast<double>(count);
  if (!align_corners) return (2 * at + 1) / size - 1;
  return count == 1 ? 0 : 2 * at / (size - 1) - 1;
}

bool Crop::set_box_mode(std::string_view name) {
  if (name != "CORNERS_HEIGHT_FIRST" && name != "CORNERS_WIDTH_FIRST" &&
      name != "CENTER_SIZE_HEIGHT_FIRST" && name != "CENTER_SIZE_WIDTH_FIRST") {
    return false;
  }
  centers = name.starts_with("CENTER");
  width_first = name.ends_with("WIDTH_FIRST");
  return true;
}

// `box` points to the axis's first number; the second is two further.
double Crop::point(const double* box, int64_t size, int64_t i, int64_t count) const {
  double first = box[0], last = box[2];
  if (centers) {
    first = box[0] - box[2] / 2;
    last = box[0] + box[2] / 2;
  }
  const double factor = scale * (normalized ? static_cast<double>(size - 1) : 1);
  first *= factor;
  last *= factor;
  const double length = std::abs(last - first), direction = last < first ? -1 : 1;
  return first + direction * grid_point(sampling, i, length + 1, count);
}

double Crop::row(const double* box, int64_t image_height, int64_t i) const {
  return point(box + (width_first ? 1 : 0), image_height, i, height);
}
double Crop::column(const double* box, int64_t image_width, int64_t i) const {
  return point(box + (width_first ? 0 : 1), image_width, i, width);
}

PixelMix Crop::mix(int64_t image_height, int64_t image_width, double row, double column) const {
  const auto outside = [](double place, int64_t size) {
    return !(place >= 0 && place <= static_cast<double>(size - 1));
  };
  if (!outside(row, image_height) && !outside(column, image_width)) {
    return Sampler().mix(image_height, image_width, row, column);
  }
  PixelMix mix;
  mix.constant = padding;
  return mix;
}

namespace {

double value_of(const PixelMix& mix, const double* image) {
  double sum = mix.constant;
  for (size_t i = 0; i < 4; ++i) {
    if (mix.weights[i] != 0) sum += mix.weights[i] * image[mix.pixels[i]];
  }
  return sum;
}

// The mode named by a parameter.
template <typename T>
T mode_param(const OpContext& context, std::string_view parameter,
             std::optional<T> (*find)(std::string_view)) {
  const std::string name = context.string_param(parameter);
  if (const auto mode = find(name)) return *mode;
  context.reject("{} \"{}\" is unknown", parameter, lower(name));
}

Sampler sampler_of(const OpContext& context) {
  Sampler sampler;
  sampler.nearest = mode_param(context, "sampling_mode", find_nearest);
  sampler.padding = mode_param(context, "padding_mode", find_image_padding);
  sampler.coordinates = mode_param(context, "coordinates_mode", find_coordinates);
  sampler.padding_value = context.float_param("padding_value");
  sampler.align_corners = context.bool_param("align_corners");
  return sampler;
}

void need_image(const OpContext& context, size_t rank) {
  if (rank != 4) context.reject("x must have rank 4, not {}", rank);
}

void need_pixels(const OpContext& context, const Tensor& x) {
  if (x.shape[2] == 0 || x.shape[3] == 0) {
    context.reject("x of shape {} has images without pixels", x.shape);
  }
}

Infos infer_resample(InferContext& context) {
  const ValueInfo &x = context.input("x"), &coordinates = context.input("coordinates");
  need_image(context, x.shape.size());
  if (coordinates.shape.size() != 4) {
    context.reject("coordinates must have rank 4, not {}", coordinates.shape.size());
  }
  context.require_equal(coordinates.shape[3], Dim(2), "a point has two coordinates");
  context.require_equal(coordinates.shape[0], x.shape[0], "coordinates for each image");
  sampler_of(context);
  return one(
      tensor_info(x.type, {x.shape[0], x.shape[1], coordinates.shape[1], coordinates.shape[2]}));
}

Tensors evaluate_resample(EvalContext& context) {
  const Tensor &x = context.input("x"), &coordinates = context.input("coordinates");
  const Sampler sampler = sampler_of(context);
  const int64_t height = x.shape[2], width = x.shape[3];
  const int64_t points = coordinates.shape[1] * coordinates.shape[2];
  Tensor result(x.type, {x.shape[0], x.shape[1], coordinates.shape[1], coordinates.shape[2]});
  if (result.values.empty()) return one(std::move(result));
  need_pixels(context, x);
  size_t next = 0;
  for (int64_t plane = 0; plane < x.shape[0] * x.shape[1]; ++plane) {
    const double* image = x.values.data() + plane * height * width;
    const double* point = coordinates.values.data() + plane / x.shape[1] * points * 2;
    for (int64_t i = 0; i < points; ++i, point += 2) {
      result.values[next++] = value_of(sampler.mix(height, width, point[1], point[0]), image);
    }
  }
  return one(std::move(result));
}

int64_t image_size(const OpContext& context, std::string_view parameter) {
  const int64_t size = context.int_param(parameter);
  if (size < 1 || size > INT32_MAX) context.reject("{} is {}", parameter, size);
  return size;
}

Sampler affine_sampler(const OpContext& context) {
  const Sampler sampler = sampler_of(context);
  if (sampler.nearest || sampler.padding != ImagePadding::Constant ||
      sampler.coordinates != Coordinates::MinusOneToOne) {
    refuse(context,
           "anything but bilinear sampling of normalized_minus_one_to_one coordinates with "
           "constant padding");
  }
  return sampler;
}

Infos infer_affine(InferContext& context) {
  const ValueInfo &x = context.input("x"), &matrix = context.input("transform_matrix");
  need_image(context, x.shape.size());
  if (matrix.shape.size() != 2) {
    context.reject("transform_matrix must have rank 2, not {}", matrix.shape.size());
  }
  context.require_equal(matrix.shape[1], Dim(6), "a transformation has six numbers");
  if (matrix.shape[0] != Dim(1)) {
    context.require_equal(matrix.shape[0], x.shape[0], "a transformation for each image");
  }
  affine_sampler(context);
  return one(tensor_info(x.type, {x.shape[0], x.shape[1], Dim(image_size(context, "output_height")),
                                  Dim(image_size(context, "output_width"))}));
}

Tensors evaluate_affine(EvalContext& context) {
  const Tensor &x = context.input("x"), &matrix = context.input("transform_matrix");
  const Sampler sampler = affine_sampler(context);
  const int64_t rows = image_size(context, "output_height"),
                columns = image_size(context, "output_width");
  const int64_t height = x.shape[2], width = x.shape[3];
  Tensor result(x.type, {x.shape[0], x.shape[1], rows, columns});
  if (result.values.empty()) return one(std::move(result));
  need_pixels(context, x);
  size_t next = 0;
  for (int64_t plane = 0; plane < x.shape[0] * x.shape[1]; ++plane) {
    const double* image = x.values.data() + plane * height * width;
    const int64_t batch = matrix.shape[0] == 1 ? 0 : plane / x.shape[1];
    const double* m = matrix.values.data() + batch * 6;
    for (int64_t row = 0; row < rows; ++row) {
      const double v = affine_point(sampler.align_corners, row, rows);
      for (int64_t column = 0; column < columns; ++column) {
        const double u = affine_point(sampler.align_corners, column, columns);
        const PixelMix mix =
            sampler.mix(height, width, m[3] * u + m[4] * v + m[5], m[0] * u + m[1] * v + m[2]);
        result.values[next++] = value_of(mix, image);
      }
    }
  }
  return one(std::move(result));
}

// The parameters shared by all forms of crop_resize.
Crop crop_of(const OpContext& context) {
  Crop crop;
  crop.height = image_size(context, "target_height");
  crop.width = image_size(context, "target_width");
  crop.normalized = context.bool_param("normalized_coordinates");
  crop.scale = context.float_param("spatial_scale");
  crop.padding = context.opset() >= Opset::CoreML6 ? context.float_param("pad_value") : 0;
  crop.sampling = sampling_mode(context);
  const std::string mode = context.string_param("box_coordinate_mode");
  if (!crop.set_box_mode(mode)) context.reject("box_coordinate_mode \"{}\" is unknown", mode);
  return crop;
}

// Appends all channels of one image, cropped to a box.
void append_crop(const Crop& crop, const Tensor& x, int64_t image, const double* box,
                 std::vector<double>& out) {
  const int64_t height = x.shape[2], width = x.shape[3];
  for (int64_t channel = 0; channel < x.shape[1]; ++channel) {
    const double* plane = x.values.data() + (image * x.shape[1] + channel) * height * width;
    for (int64_t i = 0; i < crop.height; ++i) {
      for (int64_t k = 0; k < crop.width; ++k) {
        const PixelMix mix =
            crop.mix(height, width, crop.row(box, height, i), crop.column(box, width, k));
        out.push_back(value_of(mix, plane));
      }
    }
  }
}

int64_t image_index(const OpContext& context, double index, int64_t images) {
  if (!(index >= 0 && index < static_cast<double>(images))) {
    context.reject("a box for image {} of {}", index, images);
  }
  return static_cast<int64_t>(index);
}

// roi is [N, 1, 4, 1, 1], or [N, 1, 5, 1, 1] with the image's index first.
Infos infer_crop_roi(InferContext& context) {
  const ValueInfo &x = context.input("x"), &roi = context.input("roi");
  need_image(context, x.shape.size());
  if (roi.shape.size() != 5) context.reject("roi must have rank 5, not {}", roi.shape.size());
  const Dim& numbers = roi.shape[2];
  if (numbers != Dim(4) && numbers != Dim(5)) {
    context.reject("a region has {} numbers, not 4 or 5", numbers.to_string());
  }
  for (const size_t axis : {1, 3, 4}) context.require_equal(roi.shape[axis], Dim(1), "roi");
  const Crop crop = crop_of(context);
  return one(tensor_info(x.type, {roi.shape[0], numbers == Dim(5) ? Dim(1) : x.shape[0], x.shape[1],
                                  Dim(crop.height), Dim(crop.width)}));
}

Tensors evaluate_crop_roi(EvalContext& context) {
  const Tensor &x = context.input("x"), &roi = context.input("roi");
  const Crop crop = crop_of(context);
  const int64_t numbers = roi.shape[2];
  Tensor result(x.type,
                {roi.shape[0], numbers == 5 ? 1 : x.shape[0], x.shape[1], crop.height, crop.width});
  if (result.values.empty()) return one(std::move(result));
  need_pixels(context, x);
  result.values.clear();
  for (int64_t i = 0; i < roi.shape[0]; ++i) {
    const double* region = roi.values.data() + i * numbers;
    if (numbers == 5) {
      append_crop(crop, x, image_index(context, region[0], x.shape[0]), region + 1, result.values);
      continue;
    }
    for (int64_t image = 0; image < x.shape[0]; ++image) {
      append_crop(crop, x, image, region, result.values);
    }
  }
  return one(std::move(result));
}

Infos infer_crop_boxes(InferContext& context) {
  const ValueInfo &x = context.input("x"), &boxes = context.input("boxes");
  need_image(context, x.shape.size());
  if (boxes.shape.size() != 2) context.reject("boxes must have rank 2, not {}", boxes.shape.size());
  context.require_equal(boxes.shape[1], Dim(4), "a box has four numbers");
  const Crop crop = crop_of(context);
  if (crop.normalized && !is_float(boxes.type)) {
    context.reject("normalized coordinates in {}", to_string(boxes.type));
  }
  if (context.has("box_indices")) {
    const ValueInfo& indices = context.input("box_indices");
    if (indices.shape.size() != 1) {
      context.reject("box_indices must have rank 1, not {}", indices.shape.size());
    }
    context.require_equal(indices.shape[0], boxes.shape[0], "an index for each box");
    const auto images = x.shape[0].try_constant();
    for (const Dim& index : images&& indices.elements ? *indices.elements : Shape()) {
      if (index.is_constant()) {
        image_index(context, static_cast<double>(index.constant()), *images);
      }
    }
  } else {
    context.require_at_least(x.shape[0], boxes.shape[0], "an image for each box");
  }
  return one(tensor_info(x.type, {boxes.shape[0], x.shape[1], Dim(crop.height), Dim(crop.width)}));
}

Tensors evaluate_crop_boxes(EvalContext& context) {
  const Tensor &x = context.input("x"), &boxes = context.input("boxes");
  const Tensor* indices = context.has("box_indices") ? &context.input("box_indices") : nullptr;
  const Crop crop = crop_of(context);
  Tensor result(x.type, {boxes.shape[0], x.shape[1], crop.height, crop.width});
  if (result.values.empty()) return one(std::move(result));
  need_pixels(context, x);
  result.values.clear();
  for (int64_t i = 0; i < boxes.shape[0]; ++i) {
    const double wanted =
        indices != nullptr ? indices->values.at(static_cast<size_t>(i)) : static_cast<double>(i);
    append_crop(crop, x, image_index(context, wanted, x.shape[0]), boxes.values.data() + i * 4,
                result.values);
  }
  return one(std::move(result));
}

OpDef crop_resize_op(Opset since) {
  OpDef def{.name = "crop_resize", .since = since, .parameters = {tensor("x", "f")}};
  const bool boxes = since >= Opset::CoreML7;
  if (boxes) {
    def.parameters.push_back(tensor("boxes", "fi"));
    def.parameters.push_back(optional_tensor("box_indices", "i"));
  } else {
    def.parameters.push_back(tensor("roi", "f"));
  }
  def.parameters.push_back(optional_constant("target_height", "i", 1));
  def.parameters.push_back(optional_constant("target_width", "i", 1));
  def.parameters.push_back(optional_constant("normalized_coordinates", "b", false));
  def.parameters.push_back(optional_constant("spatial_scale", "f", 1.0));
  def.parameters.push_back(optional_constant("box_coordinate_mode", "s", "CORNERS_HEIGHT_FIRST"));
  def.parameters.push_back(optional_constant("sampling_mode", "s", "DEFAULT"));
  if (since >= Opset::CoreML6) def.parameters.push_back(optional_constant("pad_value", "f", 0.0));
  def.infer = boxes ? infer_crop_boxes : infer_crop_roi;
  def.evaluate = boxes ? evaluate_crop_boxes : evaluate_crop_roi;
  def.doc =
      "Parts of images, resized bilinearly at the points of sampling_mode; points outside the "
      "image "
      "are pad_value. Before CoreML7 roi holds the boxes, for all images or with an image's index "
      "first; since then boxes and box_indices (0, 1, ... where absent).";
  return def;
}

}  // namespace

std::vector<OpDef> sampling_ops() {
  std::vector<OpDef> ops;
  for (const Opset since : {Opset::CoreML5, Opset::CoreML6, Opset::CoreML7}) {
    ops.push_back(crop_resize_op(since));
  }
  ops.push_back(
      {.name = "resample",
       .parameters = {tensor("x", "f"), tensor("coordinates", "fi"), constant("sampling_mode", "s"),
                      constant("padding_mode", "s"), constant("padding_value", "f"),
                      constant("coordinates_mode", "s"), constant("align_corners", "b")},
       .infer = infer_resample,
       .evaluate = evaluate_resample,
       .doc = "The images x at coordinates [batch, rows, columns, (x, y)], bilinear or of the "
              "nearest pixel (half way: the upper one)."});
  ops.push_back(
      {.name = "affine",
       .parameters = {tensor("x", "f"), tensor("transform_matrix", "f"),
                      constant("output_height", "i"), constant("output_width", "i"),
                      constant("sampling_mode", "s"), constant("padding_mode", "s"),
                      constant("padding_value", "f"), constant("coordinates_mode", "s"),
                      constant("align_corners", "b")},
       .infer = infer_affine,
       .evaluate = evaluate_affine,
       .doc = "The images x at (a0 u + a1 v + a2, b0 u + b1 v + b2) for every point (u, v) of the "
              "output, all in coordinates from -1 to 1."});
  return ops;
}

}  // namespace pippin::mil
