// Images sampled at any points: resample, affine, crop_resize.
#include "pippin/mil/ops/sampling.h"

#include <algorithm>
#include <cmath>

#include <fmt/ranges.h>

#include "pippin/mil/ops/families.h"

namespace pippin::mil {
namespace {

enum class Padding { Constant, Border, Reflection, Symmetric };
enum class Coordinates { Unnormalized, MinusOneToOne, ZeroToOne };

std::string lower_param(const OpContext& context, std::string_view parameter) {
  std::string name = context.string_param(parameter);
  for (char& letter : name) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return name;
}

// How a point between pixels becomes a value.
struct Sampler {
  bool nearest = false;
  Padding padding = Padding::Constant;
  double padding_value = 0;
  Coordinates coordinates = Coordinates::Unnormalized;
  bool align_corners = false;

  // In pixels, 0 being the centre of the first one.
  double to_pixels(double place, int64_t size) const {
    if (coordinates == Coordinates::Unnormalized) return place;
    if (coordinates == Coordinates::MinusOneToOne) place = (place + 1) / 2;
    const auto count = static_cast<double>(size);
    return align_corners ? place * (count - 1) : place * count - 0.5;
  }

  // A point inside the image whose value the padding gives to `place`; as it is for constants.
  double inside(double place, int64_t size) const {
    const auto last = static_cast<double>(size - 1);
    if (padding == Padding::Constant) return place;
    if (padding == Padding::Border) return std::isnan(place) ? 0 : std::clamp(place, 0.0, last);
    // Mirrors stand on the outer pixels' centres, or on their edges.
    const double edge = padding == Padding::Symmetric ? 0.5 : 0;
    const double length = last + 2 * edge;
    if (length == 0 || !std::isfinite(place)) return 0;
    double distance = std::fmod(std::abs(place + edge), 2 * length);
    if (distance > length) distance = 2 * length - distance;
    return std::clamp(distance - edge, 0.0, last);
  }

  double pixel(const double* image, int64_t height, int64_t width, double y, double x) const {
    const bool in_image =
        y >= 0 && x >= 0 && y < static_cast<double>(height) && x < static_cast<double>(width);
    return in_image ? image[static_cast<int64_t>(y) * width + static_cast<int64_t>(x)]
                    : padding_value;
  }

  // The image's value at a point in the coordinates of coordinates_mode.
  double sample(const double* image, int64_t height, int64_t width, double y, double x) const {
    y = to_pixels(y, height);
    x = to_pixels(x, width);
    if (nearest) {
      return pixel(image, height, width, inside(std::floor(y + 0.5), height),
                   inside(std::floor(x + 0.5), width));
    }
    y = inside(y, height);
    x = inside(x, width);
    const double top = std::floor(y), left = std::floor(x);
    const double down = y - top, right = x - left;
    double sum = 0;
    const auto add = [&](double row, double column, double weight) {
      if (weight != 0) sum += weight * pixel(image, height, width, row, column);
    };
    add(top, left, (1 - down) * (1 - right));
    add(top, left + 1, (1 - down) * right);
    add(top + 1, left, down * (1 - right));
    add(top + 1, left + 1, down * right);
    return sum;
  }
};

Sampler sampler_of(const OpContext& context) {
  Sampler sampler;
  const std::string mode = lower_param(context, "sampling_mode"),
                    padding = lower_param(context, "padding_mode"),
                    coordinates = lower_param(context, "coordinates_mode");
  if (mode != "bilinear" && mode != "nearest") {
    context.reject("sampling_mode \"{}\" is unknown", mode);
  }
  sampler.nearest = mode == "nearest";
  if (padding == "constant") {
    sampler.padding = Padding::Constant;
  } else if (padding == "border") {
    sampler.padding = Padding::Border;
  } else if (padding == "reflection") {
    sampler.padding = Padding::Reflection;
  } else if (padding == "symmetric") {
    sampler.padding = Padding::Symmetric;
  } else {
    context.reject("padding_mode \"{}\" is unknown", padding);
  }
  if (coordinates == "unnormalized") {
    sampler.coordinates = Coordinates::Unnormalized;
  } else if (coordinates == "normalized_minus_one_to_one") {
    sampler.coordinates = Coordinates::MinusOneToOne;
  } else if (coordinates == "normalized_zero_to_one") {
    sampler.coordinates = Coordinates::ZeroToOne;
  } else {
    context.reject("coordinates_mode \"{}\" is unknown", coordinates);
  }
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
      result.values[next++] = sampler.sample(image, height, width, point[1], point[0]);
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
  if (sampler.nearest || sampler.padding != Padding::Constant ||
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
  // Pixel i of the output, its first and last one (or their outer edges) being -1 and 1.
  const auto place = [&](int64_t i, int64_t count) {
    const auto at = static_cast<double>(i), size = static_cast<double>(count);
    if (!sampler.align_corners) return (2 * at + 1) / size - 1;
    return count == 1 ? 0 : 2 * at / (size - 1) - 1;
  };
  size_t next = 0;
  for (int64_t plane = 0; plane < x.shape[0] * x.shape[1]; ++plane) {
    const double* image = x.values.data() + plane * height * width;
    const int64_t batch = matrix.shape[0] == 1 ? 0 : plane / x.shape[1];
    const double* m = matrix.values.data() + batch * 6;
    for (int64_t row = 0; row < rows; ++row) {
      const double v = place(row, rows);
      for (int64_t column = 0; column < columns; ++column) {
        const double u = place(column, columns);
        result.values[next++] = sampler.sample(image, height, width, m[3] * u + m[4] * v + m[5],
                                               m[0] * u + m[1] * v + m[2]);
      }
    }
  }
  return one(std::move(result));
}

// Parameters that the forms of crop_resize share.
struct Crop {
  int64_t height, width;
  bool normalized, centers, width_first;
  double scale, padding;
  Sampling sampling;
};

Crop crop_of(const OpContext& context) {
  Crop crop{};
  crop.height = image_size(context, "target_height");
  crop.width = image_size(context, "target_width");
  crop.normalized = context.bool_param("normalized_coordinates");
  crop.scale = context.float_param("spatial_scale");
  crop.padding = context.opset() >= Opset::CoreML6 ? context.float_param("pad_value") : 0;
  crop.sampling = sampling_mode(context);
  const std::string mode = context.string_param("box_coordinate_mode");
  if (mode != "CORNERS_HEIGHT_FIRST" && mode != "CORNERS_WIDTH_FIRST" &&
      mode != "CENTER_SIZE_HEIGHT_FIRST" && mode != "CENTER_SIZE_WIDTH_FIRST") {
    context.reject("box_coordinate_mode \"{}\" is unknown", mode);
  }
  crop.centers = mode.starts_with("CENTER");
  crop.width_first = mode.ends_with("WIDTH_FIRST");
  return crop;
}

// Where the samples of one axis of a box lie; `box` has the axis's first number, the second comes
// two further.
std::vector<double> crop_points(const Crop& crop, const double* box, int64_t size, int64_t count) {
  double first = box[0], last = box[2];
  if (crop.centers) {
    first = box[0] - box[2] / 2;
    last = box[0] + box[2] / 2;
  }
  const double scale = crop.scale * (crop.normalized ? static_cast<double>(size - 1) : 1);
  first *= scale;
  last *= scale;
  const double length = std::abs(last - first), direction = last < first ? -1 : 1;
  std::vector<double> points;
  for (int64_t i = 0; i < count; ++i) {
    points.push_back(first + direction * grid_point(crop.sampling, i, length + 1, count));
  }
  return points;
}

// Appends all channels of one image, cropped to a box.
void append_crop(const Crop& crop, const Tensor& x, int64_t image, const double* box,
                 std::vector<double>& out) {
  const int64_t height = x.shape[2], width = x.shape[3];
  const std::vector<double> rows =
      crop_points(crop, box + (crop.width_first ? 1 : 0), height, crop.height);
  const std::vector<double> columns =
      crop_points(crop, box + (crop.width_first ? 0 : 1), width, crop.width);
  Sampler sampler;
  const auto outside = [](double place, int64_t size) {
    return !(place >= 0 && place <= static_cast<double>(size - 1));
  };
  for (int64_t channel = 0; channel < x.shape[1]; ++channel) {
    const double* plane = x.values.data() + (image * x.shape[1] + channel) * height * width;
    for (const double row : rows) {
      for (const double column : columns) {
        out.push_back(outside(row, height) || outside(column, width)
                          ? crop.padding
                          : sampler.sample(plane, height, width, row, column));
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
