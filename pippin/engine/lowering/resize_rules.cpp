// Padding and resizing: elements picked and mixed along axes.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "pippin/base/error.h"
#include "pippin/engine/lowering/axes.h"
#include "pippin/engine/lowering/rules.h"
#include "pippin/mil/ops/sampling.h"

namespace pippin::engine {
namespace {

using mil::Dim;
using mil::Shape;

[[noreturn]] void decline(const Builder& builder, const mil::Operation& operation) {
  fail(ErrorCode::Unsupported, "{}: no kernel for it", builder.where(operation));
}

constexpr int64_t kMostPicks = int64_t{1} << 24;

// x with the picks of `make(size)` along an axis whose size has to be known.
template <typename Make>
View picked(Builder& builder, const mil::Operation& operation, const View& x, size_t axis,
            const Make& make) {
  const auto size = x.shape[axis].try_constant();
  if (!size || *size < 1 || element_size(x.storage) != 4) decline(builder, operation);
  PickNode picks = make(*size);
  const auto count = static_cast<int64_t>(picks.first.size());
  if (count > kMostPicks) decline(builder, operation);
  // For any order of the axes in memory.
  std::vector<int64_t> order = memory_order(x);
  if (!is_contiguous(transpose_view(x, order))) std::iota(order.begin(), order.end(), 0);
  const View from = builder.contiguous(transpose_view(x, order));
  const auto at = std::find(order.begin(), order.end(), static_cast<int64_t>(axis));
  const auto place = at - order.begin();
  const auto product = [&](int64_t begin, int64_t end) {
    return mil::num_elements(Shape(from.shape.begin() + begin, from.shape.begin() + end));
  };
  const Dim outer = product(0, place), inner = product(place + 1, from.rank());
  Shape shape = from.shape;
  shape[static_cast<size_t>(place)] = Dim(count);
  const View y = builder.allocate(x.storage, shape);
  picks.name = operation.type();
  builder.emit(std::move(picks), {*reshape_view(y, {outer, Dim(count), inner}),
                                  *reshape_view(from, {outer, Dim(*size), inner})});
  return transpose_view(y, inverse(order));
}

PickNode nearest(int64_t size, int64_t count) {
  PickNode picks;
  for (int64_t i = 0; i < count; ++i) picks.first.push_back(i * size / count);
  return picks;
}

PickNode nearest_points(mil::Sampling sampling, int64_t size, int64_t count) {
  PickNode picks;
  for (int64_t i = 0; i < count; ++i) {
    const double point = mil::grid_point(sampling, i, static_cast<double>(size), count);
    picks.first.push_back(std::min<int64_t>(std::llround(point), size - 1));
  }
  return picks;
}

PickNode linear(mil::Sampling sampling, int64_t size, int64_t count) {
  PickNode picks;
  for (int64_t i = 0; i < count; ++i) {
    const double point = mil::grid_point(sampling, i, static_cast<double>(size), count);
    const auto low = static_cast<int64_t>(point);
    picks.first.push_back(low);
    picks.second.push_back(std::min(low + 1, size - 1));
    picks.part.push_back(static_cast<float>(point - static_cast<double>(low)));
  }
  return picks;
}

mil::Sampling sampling_param(const Builder& builder, const mil::Operation& operation) {
  const auto sampling = mil::find_sampling(string_param(builder, operation, "sampling_mode"));
  if (!sampling) decline(builder, operation);
  return *sampling;
}

mil::Sampling upsampling(const Builder& builder, const mil::Operation& operation) {
  const bool align = bool_param(builder, operation, "align_corners");
  const bool half = operation.find_input("half_pixel_centers") != nullptr
                        ? bool_param(builder, operation, "half_pixel_centers")
                        : !align;
  return align  ? mil::Sampling::StrictAlignCorners
         : half ? mil::Sampling::UnalignCorners
                : mil::Sampling::Default;
}

// The axes from `first` on, one after the other, in the sizes of the result.
template <typename Make>
void resize_axes(Builder& builder, const mil::Operation& operation, size_t first,
                 const Make& make) {
  View x = builder.view(operation, "x");
  if (is_float(x.storage)) x = builder.view_as(x, Storage::F32);
  const Shape& shape = builder.info(operation.output()).shape;
  // Unsupported cases are found before anything is emitted.
  for (size_t axis = first; axis < shape.size(); ++axis) {
    const auto count = shape[axis].try_constant();
    if (!count || *count < 1 || *count > kMostPicks || !x.shape[axis].try_constant()) {
      decline(builder, operation);
    }
  }
  for (size_t axis = first; axis < shape.size(); ++axis) {
    if (x.shape[axis] == shape[axis]) {
      const PickNode same = make(shape[axis].constant(), shape[axis].constant());
      bool moves = false;
      for (size_t i = 0; i < same.first.size(); ++i) {
        moves = moves || same.first[i] != static_cast<int64_t>(i) ||
                (!same.part.empty() && same.part[i] != 0);
      }
      if (!moves) continue;
    }
    x = picked(builder, operation, x, axis,
               [&](int64_t size) { return make(size, shape[axis].constant()); });
  }
  builder.define_output(operation, x);
}

void resize_nearest(Builder& builder, const mil::Operation& operation) {
  resize_axes(builder, operation, builder.shape(operation, "x").size() - 2, nearest);
}

void resize_bilinear(Builder& builder, const mil::Operation& operation) {
  const mil::Sampling sampling = operation.type() == "upsample_bilinear"
                                     ? upsampling(builder, operation)
                                     : sampling_param(builder, operation);
  resize_axes(builder, operation, builder.shape(operation, "x").size() - 2,
              [&](int64_t size, int64_t count) { return linear(sampling, size, count); });
}

void resize(Builder& builder, const mil::Operation& operation) {
  const mil::Sampling sampling = sampling_param(builder, operation);
  const bool is_nearest = string_param(builder, operation, "interpolation_mode") != "LINEAR";
  const auto axes = static_cast<size_t>(int_param(builder, operation, "resized_dims"));
  if (!is_nearest && !is_float(builder.view(operation, "x").storage)) decline(builder, operation);
  const std::vector<int64_t> sizes = ints_param(builder, operation, "shape");
  // A size of 0 leaves its axis as it is, whatever the sampling mode.
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) decline(builder, operation);
  resize_axes(builder, operation, builder.shape(operation, "x").size() - axes,
              [&](int64_t size, int64_t count) {
                return is_nearest ? nearest_points(sampling, size, count)
                                  : linear(sampling, size, count);
              });
}

// The part of the padded result that holds x.
View inside(const View& padded, const View& x, const std::vector<int64_t>& pad, size_t first) {
  View part = padded;
  part.shape = x.shape;
  for (size_t i = first; i < part.shape.size(); ++i) {
    part.offset = part.offset + Dim(pad[2 * (i - first)]) * part.strides[i];
  }
  return part;
}

void pad(Builder& builder, const mil::Operation& operation) {
  const std::vector<int64_t> amounts = ints_param(builder, operation, "pad");
  const std::string mode = string_param(builder, operation, "mode");
  View x = builder.view(operation, "x");
  const Storage storage = run_storage(builder.info(operation.output()).type);
  if (element_size(storage) != 4) decline(builder, operation);
  x = builder.view_as(x, storage);
  const Shape& shape = builder.info(operation.output()).shape;
  const size_t first = shape.size() - amounts.size() / 2;
  if (mode == "constant") {
    const double value = float_param(builder, operation, "constant_val");
    std::vector<std::byte> bytes(4);
    if (storage == Storage::F32) {
      const auto element = static_cast<float>(value);
      std::memcpy(bytes.data(), &element, bytes.size());
    } else {
      if (!(std::abs(value) <= INT32_MAX)) decline(builder, operation);
      const auto element = static_cast<int32_t>(value);
      std::memcpy(bytes.data(), &element, bytes.size());
    }
    const View y = builder.allocate(storage, shape);
    emit_fill(builder, y, builder.constant(storage, {}, std::move(bytes)));
    builder.emit_copy(inside(y, x, amounts, first), x);
    builder.define_output(operation, y);
    return;
  }
  for (size_t i = first; i < shape.size(); ++i) {
    if (!x.shape[i].try_constant() || !shape[i].try_constant() ||
        shape[i].constant() > kMostPicks) {
      decline(builder, operation);
    }
  }
  for (size_t i = first; i < shape.size(); ++i) {
    const int64_t before = amounts[2 * (i - first)], count = shape[i].constant();
    if (x.shape[i] == shape[i]) continue;
    x = picked(builder, operation, x, i, [&](int64_t size) {
      PickNode picks;
      for (int64_t k = -before; k < count - before; ++k) {
        const int64_t place = mode == "reflect" ? (k < 0       ? -k
                                                   : k >= size ? 2 * (size - 1) - k
                                                               : k)
                                                : std::clamp<int64_t>(k, 0, size - 1);
        picks.first.push_back(place);
      }
      return picks;
    });
  }
  builder.define_output(operation, x);
}

}  // namespace

void add_resize_rules(Rules& rules) {
  rules["pad"] = pad;
  rules["resize"] = resize;
  rules["resize_bilinear"] = resize_bilinear;
  rules["resize_nearest_neighbor"] = resize_nearest;
  rules["upsample_bilinear"] = resize_bilinear;
  rules["upsample_nearest_neighbor"] = resize_nearest;
}

}  // namespace pippin::engine
