// Resizing of the last axes, one after the other; each new element interpolates two.
#include <algorithm>
#include <cmath>

#include <fmt/ranges.h>

#include "pippin/mil/ops/families.h"
#include "pippin/mil/ops/sampling.h"

namespace pippin::mil {

std::optional<Sampling> find_sampling(std::string_view name) {
  if (name == "STRICT_ALIGN_CORNERS") return Sampling::StrictAlignCorners;
  if (name == "ALIGN_CORNERS") return Sampling::AlignCorners;
  if (name == "DEFAULT") return Sampling::Default;
  if (name == "OFFSET_CORNERS") return Sampling::OffsetCorners;
  if (name == "UNALIGN_CORNERS") return Sampling::UnalignCorners;
  return std::nullopt;
}

Sampling sampling_mode(const OpContext& context) {
  const std::string mode = context.string_param("sampling_mode");
  const auto sampling = find_sampling(mode);
  if (!sampling) context.reject("sampling_mode \"{}\" is unknown", mode);
  return *sampling;
}

double grid_point(Sampling sampling, int64_t i, double size, int64_t out) {
  const auto place = static_cast<double>(i), count = static_cast<double>(out);
  double point = 0;
  switch (sampling) {
    case Sampling::AlignCorners:
      if (out == 1) return (size - 1) / 2;
      [[fallthrough]];
    case Sampling::StrictAlignCorners:
      point = out == 1 ? 0 : place * (size - 1) / (count - 1);
      break;
    case Sampling::Default:
      point = place * size / count;
      break;
    case Sampling::OffsetCorners:
      point = (place + 0.5) * std::max(1.0, size - 1) / count;
      break;
    case Sampling::UnalignCorners:
      point = (place + 0.5) * size / count - 0.5;
      break;
  }
  return std::clamp(point, 0.0, size - 1);
}

namespace {

Tensor resized_linear(const Tensor& x, int64_t axis, int64_t count, Sampling sampling) {
  Dims shape = x.shape;
  shape[static_cast<size_t>(axis)] = count;
  Tensor result(x.type, shape);
  const AxisView from(x.shape, axis), to(shape, axis);
  for (int64_t i = 0; i < count; ++i) {
    const double point = grid_point(sampling, i, static_cast<double>(from.size), count);
    const auto low = static_cast<int64_t>(point);
    const int64_t high = std::min(low + 1, from.size - 1);
    const double part = point - static_cast<double>(low);
    for (int64_t o = 0; o < to.outer; ++o) {
      for (int64_t n = 0; n < to.inner; ++n) {
        const double a = x.values[from.at(o, low, n)], b = x.values[from.at(o, high, n)];
        result.values[to.at(o, i, n)] = part == 0 ? a : a * (1 - part) + b * part;
      }
    }
  }
  return result;
}

// Takes element place_of(i) of the axis for each new index i.
template <typename Place>
Tensor resized_nearest(const Tensor& x, int64_t axis, int64_t count, Place&& place_of) {
  Dims shape = x.shape;
  shape[static_cast<size_t>(axis)] = count;
  Tensor result(x.type, shape);
  const AxisView from(x.shape, axis), to(shape, axis);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t place = place_of(i);
    for (int64_t o = 0; o < to.outer; ++o) {
      for (int64_t n = 0; n < to.inner; ++n) {
        result.values[to.at(o, i, n)] = x.values[from.at(o, place, n)];
      }
    }
  }
  return result;
}

// The rule of ops that support only this one.
Tensor resized_nearest(const Tensor& x, int64_t axis, int64_t count) {
  const int64_t size = x.shape[static_cast<size_t>(axis)];
  return resized_nearest(x, axis, count, [&](int64_t i) { return i * size / count; });
}

void check_input(const OpContext& context, const Dims& shape) {
  if (shape.size() < 3) context.reject("x must have rank 3 or more");
  if (num_elements(shape) == 0) context.reject("x of shape {} has no elements", shape);
}

int64_t target_size(const OpContext& context, std::string_view parameter) {
  const int64_t size = context.int_param(parameter);
  if (size < 1 || size > INT32_MAX) context.reject("{} is {}", parameter, size);
  return size;
}

constexpr std::string_view kTargets[] = {"target_size_height", "target_size_width"};
constexpr std::string_view kFactors[] = {"scale_factor_height", "scale_factor_width"};

Infos infer_resize_to(InferContext& context) {
  const ValueInfo& x = context.input("x");
  if (x.shape.size() < 3) context.reject("x must have rank 3 or more");
  Shape shape = x.shape;
  for (const size_t i : {size_t{0}, size_t{1}}) {
    shape[shape.size() - 2 + i] = Dim(target_size(context, kTargets[i]));
  }
  return one(tensor_info(x.type, std::move(shape)));
}

Infos infer_resize_bilinear(InferContext& context) {
  sampling_mode(context);
  return infer_resize_to(context);
}

Tensors evaluate_resize_bilinear(EvalContext& context) {
  Tensor x = context.input("x");
  check_input(context, x.shape);
  const Sampling sampling = sampling_mode(context);
  for (const int64_t i : {0, 1}) {
    x = resized_linear(x, x.rank() - 2 + i, target_size(context, kTargets[i]), sampling);
  }
  return one(std::move(x));
}

Tensors evaluate_resize_nearest(EvalContext& context) {
  Tensor x = context.input("x");
  check_input(context, x.shape);
  for (const int64_t i : {0, 1}) {
    x = resized_nearest(x, x.rank() - 2 + i, target_size(context, kTargets[i]));
  }
  return one(std::move(x));
}

double factor_of(const OpContext& context, std::string_view parameter) {
  const double factor = context.float_param(parameter);
  if (!(factor > 0) || factor > 1e6) context.reject("{} is {}", parameter, factor);
  return factor;
}

int64_t scaled(const OpContext& context, int64_t size, double factor) {
  const auto result = static_cast<int64_t>(std::floor(static_cast<double>(size) * factor));
  if (result < 1) context.reject("{} times {} is nothing", size, factor);
  return result;
}

Sampling upsampling(const OpContext& context) {
  const bool align = context.bool_param("align_corners");
  const bool half =
      context.has("half_pixel_centers") ? context.bool_param("half_pixel_centers") : !align;
  if (align && half) context.reject("align_corners with half_pixel_centers");
  return align ? Sampling::StrictAlignCorners : half ? Sampling::UnalignCorners : Sampling::Default;
}

Infos infer_upsample(InferContext& context) {
  const ValueInfo& x = context.input("x");
  if (x.shape.size() < 3) context.reject("x must have rank 3 or more");
  Shape shape = x.shape;
  for (const size_t i : {size_t{0}, size_t{1}}) {
    Dim& size = shape[shape.size() - 2 + i];
    const double factor = factor_of(context, kFactors[i]);
    if (const auto known = size.try_constant()) {
      size = Dim(scaled(context, *known, factor));
    } else if (factor == std::floor(factor)) {
      size = size * Dim(static_cast<int64_t>(factor));
    } else {
      size = context.data_dependent(kFactors[i], Dim(INT64_MAX));
    }
  }
  return one(tensor_info(x.type, std::move(shape)));
}

Infos infer_upsample_bilinear(InferContext& context) {
  upsampling(context);
  return infer_upsample(context);
}

Tensors evaluate_upsample_bilinear(EvalContext& context) {
  Tensor x = context.input("x");
  check_input(context, x.shape);
  const Sampling sampling = upsampling(context);
  for (const int64_t i : {0, 1}) {
    const int64_t axis = x.rank() - 2 + i;
    const double factor = factor_of(context, kFactors[i]);
    x = resized_linear(x, axis, scaled(context, x.shape[static_cast<size_t>(axis)], factor),
                       sampling);
  }
  return one(std::move(x));
}

Tensors evaluate_upsample_nearest(EvalContext& context) {
  Tensor x = context.input("x");
  check_input(context, x.shape);
  for (const int64_t i : {0, 1}) {
    const int64_t axis = x.rank() - 2 + i;
    const double factor = factor_of(context, kFactors[i]);
    x = resized_nearest(x, axis, scaled(context, x.shape[static_cast<size_t>(axis)], factor));
  }
  return one(std::move(x));
}

// The last resized_dims sizes of `shape` replace those of x; 0 keeps x's.
size_t resized_dims(const OpContext& context, size_t rank, int64_t sizes) {
  const int64_t dims = context.int_param("resized_dims");
  if (dims < 0 || dims > sizes || sizes > static_cast<int64_t>(rank)) {
    context.reject("{} dimensions of a shape of {} for x of rank {}", dims, sizes, rank);
  }
  return static_cast<size_t>(dims);
}

bool is_nearest(const OpContext& context) {
  const std::string mode = context.string_param("interpolation_mode");
  if (mode != "LINEAR" && mode != "NEAREST_NEIGHBOR") {
    context.reject("interpolation_mode \"{}\" is unknown", mode);
  }
  return mode == "NEAREST_NEIGHBOR";
}

Infos infer_resize(InferContext& context) {
  const ValueInfo &x = context.input("x"), &sizes = context.input("shape");
  if (sizes.shape.size() != 1) context.reject("shape has rank {}", sizes.shape.size());
  const auto count = sizes.shape[0].try_constant();
  if (!count) context.reject("the number of sizes is not known");
  is_nearest(context);
  sampling_mode(context);
  const size_t dims = resized_dims(context, x.shape.size(), *count);
  Shape shape = x.shape;
  for (size_t i = 0; i < dims; ++i) {
    Dim& size = shape[shape.size() - dims + i];
    const Dim wanted =
        sizes.elements ? (*sizes.elements)[static_cast<size_t>(*count) - dims + i] : Dim(-1);
    if (wanted == Dim(0)) continue;
    if (sizes.elements) context.require_at_least(wanted, Dim(0), "a size");
    size = sizes.elements && wanted.lower() > 0
               ? wanted
               : context.data_dependent(fmt::format("dim{}", i), Dim(INT64_MAX));
  }
  return one(tensor_info(x.type, std::move(shape)));
}

Tensors evaluate_resize(EvalContext& context) {
  Tensor x = context.input("x");
  const Dims sizes = context.ints_param("shape");
  const Sampling sampling = sampling_mode(context);
  const bool nearest = is_nearest(context);
  const size_t dims = resized_dims(context, x.shape.size(), static_cast<int64_t>(sizes.size()));
  for (size_t i = 0; i < dims; ++i) {
    const size_t axis = x.shape.size() - dims + i;
    const int64_t size = sizes[sizes.size() - dims + i], old = x.shape[axis];
    if (size == 0) continue;
    if (size < 0) context.reject("a size of {}", size);
    if (old == 0) context.reject("x of shape {} has no elements to resize", x.shape);
    x = nearest ? resized_nearest(x, static_cast<int64_t>(axis), size,
                                  [&](int64_t point) {
                                    const double place =
                                        grid_point(sampling, point, static_cast<double>(old), size);
                                    return std::min<int64_t>(std::llround(place), old - 1);
                                  })
                : resized_linear(x, static_cast<int64_t>(axis), size, sampling);
  }
  return one(std::move(x));
}

OpDef upsample_bilinear_op(Opset since) {
  OpDef def{.name = "upsample_bilinear",
            .since = since,
            .parameters = {tensor("x", "f"), optional_constant("scale_factor_height", "fi", 1),
                           optional_constant("scale_factor_width", "fi", 1),
                           optional_constant("align_corners", "b", true)},
            .infer = infer_upsample_bilinear,
            .evaluate = evaluate_upsample_bilinear,
            .doc =
                "The last two axes scaled, linearly interpolated. align_corners lays the first "
                "and last elements on each other; else the elements' centres scale "
                "(half_pixel_centers, since CoreML6) or their starts."};
  if (since >= Opset::CoreML6) {
    def.parameters.push_back(optional_constant("half_pixel_centers", "b"));
  }
  return def;
}

}  // namespace

std::vector<OpDef> resizing_ops() {
  return {
      {"resize_bilinear",
       Opset::CoreML5,
       {tensor("x", "f"), optional_constant("target_size_height", "i", 1),
        optional_constant("target_size_width", "i", 1),
        optional_constant("sampling_mode", "s", "DEFAULT")},
       infer_resize_bilinear,
       evaluate_resize_bilinear,
       "The last two axes in new sizes, linearly interpolated at the points of sampling_mode."},
      {"resize_nearest_neighbor",
       Opset::CoreML5,
       {tensor("x", "f"), constant("target_size_height", "i"), constant("target_size_width", "i")},
       infer_resize_to,
       evaluate_resize_nearest,
       "The last two axes in new sizes: element floor(i * old / new) of each."},
      {"upsample_nearest_neighbor",
       Opset::CoreML5,
       {tensor("x", "f"), optional_constant("scale_factor_height", "fi", 1),
        optional_constant("scale_factor_width", "fi", 1)},
       infer_upsample,
       evaluate_upsample_nearest,
       "The last two axes scaled to floor(size * factor): element floor(i * old / new) of each."},
      {"resize",
       Opset::CoreML7,
       {tensor("x", "fi"), tensor("shape", "i"), constant("resized_dims", "i"),
        optional_constant("interpolation_mode", "s", "LINEAR"),
        optional_constant("sampling_mode", "s", "DEFAULT")},
       infer_resize,
       evaluate_resize,
       "The last resized_dims axes of x in the last sizes of shape (0: as they are), linearly "
       "interpolated at the points of sampling_mode, or the nearest element (half way: the "
       "upper)."},
      upsample_bilinear_op(Opset::CoreML5),
      upsample_bilinear_op(Opset::CoreML6),
  };
}

}  // namespace pippin::mil
