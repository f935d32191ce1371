#include "pippin/engine/lowering/planes.h"

#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/engine/lowering/axes.h"
#include "pippin/engine/lowering/rules.h"
#include "pippin/engine/steps/place_pointers.h"

namespace pippin::engine {
namespace {

using mil::Dim;
using mil::Var;

constexpr int64_t kMostTaps = int64_t{1} << 20;  // along an axis

// The index of the step that wrote what a view shows, or one past the last.
size_t writer_of(Builder& builder, const View& view) {
  const auto& steps = builder.steps();
  for (size_t i = steps.size(); i-- > 0;) {
    for (size_t k = 0; k < steps[i]->num_written; ++k) {
      if (steps[i]->views[k].buffer == view.buffer) return i;
    }
  }
  return steps.size();
}

// Whether planes lie as the result of a step does.
bool lies_as(const View& view, const View& y) {
  const View planes = as_planes(view);
  return planes.strides == y.strides || (is_contiguous(planes) && is_contiguous(y));
}

// The step over planes whose whole result `var` is and that nobody else reads, or null.
PlaneStep* own_step(Builder& builder, const Var* var) {
  if (!builder.fusion() || var == nullptr || !builder.is_lowered(var) || !builder.read_once(var)) {
    return nullptr;
  }
  const View shown = builder.view(var);
  const size_t index = writer_of(builder, shown);
  if (index == builder.steps().size()) return nullptr;
  auto* step = dynamic_cast<PlaneStep*>(builder.steps()[index].get());
  const bool whole = step != nullptr && shown.storage == Storage::F32 && shown.rank() >= 3 &&
                     shown.rank() <= kPlaneRank && lies_as(shown, step->views[0]) &&
                     shown.offset == step->views[0].offset &&
                     shown.shape[0] == step->views[0].shape[0] &&
                     shown.shape[1] == step->views[0].shape[1] &&
                     mil::num_elements(shown.shape) == mil::num_elements(step->views[0].shape);
  return whole ? step : nullptr;
}

}  // namespace

View as_planes(const View& view) {
  View planes = view;
  const auto missing = static_cast<size_t>(kPlaneRank - view.rank());
  planes.shape.insert(planes.shape.begin() + 2, missing, Dim(1));
  // Contiguous where the view is.
  const Dim stride = view.shape[2] * view.strides[2];
  planes.strides.insert(planes.strides.begin() + 2, missing, stride);
  return planes;
}

namespace {

// The axes of [N, C, spatial...] as [N, spatial..., C], and the way back.
std::vector<int64_t> places_first(int64_t rank) {
  return axes_last({1}, rank);
}

}  // namespace

View allocate_channels_last(Builder& builder, const mil::Shape& shape) {
  const std::vector<int64_t> order = places_first(static_cast<int64_t>(shape.size()));
  mil::Shape places;
  for (const int64_t axis : order) places.push_back(shape[static_cast<size_t>(axis)]);
  return transpose_view(builder.allocate(Storage::F32, places), inverse(order));
}

View channels_last(Builder& builder, const View& view) {
  const std::vector<int64_t> order = places_first(view.rank());
  if (view.strides[1] == Dim(1)) return view;
  return transpose_view(builder.contiguous(transpose_view(view, order)), inverse(order));
}

Windows windows_of(const Builder& builder, const mil::Operation& operation,
                   const std::vector<int64_t>& kernel) {
  const size_t count = kernel.size(), first = kSpatialAxes - count;
  const std::vector<int64_t> ones(count, 1);
  const auto strides = ints_param(builder, operation, "strides", ones);
  const auto dilations = ints_param(builder, operation, "dilations", ones);
  const std::string type = string_param(builder, operation, "pad_type");
  std::vector<int64_t> pad(2 * count, 0);
  if (type == "custom") pad = ints_param(builder, operation, "pad", pad);
  Windows windows;
  for (size_t i = 0; i < count; ++i) {
    WindowAxis& axis = windows[first + i];
    axis.taps.clear();
    if (kernel[i] > kMostTaps) {
      fail(ErrorCode::Unsupported, "{}: a kernel of {}", builder.where(operation), kernel[i]);
    }
    for (int64_t tap = 0; tap < kernel[i]; ++tap) axis.taps.push_back(tap * dilations.at(i));
    axis.stride = strides.at(i);
    axis.pad = pad.at(2 * i);
    axis.same = type == "same" || type == "same_lower";
    axis.same_lower = type == "same_lower";
  }
  return windows;
}

bool finish_in_place(Builder& builder, const mil::Operation& operation,
                     const std::vector<Finish>& finishes) {
  const Var* x = operation.input_var("x");
  PlaneStep* step = own_step(builder, x);
  if (step == nullptr) return false;
  for (const Finish& finish : finishes) step->add_finish(finish);
  builder.define_output(operation, builder.view(x));
  return true;
}

bool add_in_place(Builder& builder, const mil::Operation& operation) {
  for (const bool swapped : {false, true}) {
    const Var* x = operation.input_var(swapped ? "y" : "x");
    const Var* other = operation.input_var(swapped ? "x" : "y");
    PlaneStep* step = own_step(builder, x);
    if (step == nullptr || other == nullptr || other == x || !builder.is_lowered(other) ||
        builder.info(other).shape != builder.info(x).shape) {
      continue;
    }
    View residual = builder.view(other);
    if (residual.storage != Storage::F32) continue;
    // One in another layout is copied: adding across layouts takes longer.
    if (has_channels_last(step->views[0])) residual = channels_last(builder, residual);
    if (!lies_as(residual, step->views[0])) continue;
    // The residual may be younger than what it is added to, and a state be written in between.
    auto& steps = builder.steps();
    const size_t writer = writer_of(builder, residual), index = writer_of(builder, builder.view(x));
    if (writer < steps.size() && writer > index) {
      const bool moves =
          std::none_of(step->views.begin(), step->views.end(), [&](const View& view) {
            return builder.buffers()[static_cast<size_t>(view.buffer)].kind == Buffer::Kind::State;
          });
      if (!moves) continue;
      std::rotate(steps.begin() + static_cast<std::ptrdiff_t>(index),
                  steps.begin() + static_cast<std::ptrdiff_t>(index) + 1, steps.end());
    }
    Finish finish;
    finish.kind = Finish::Kind::Add;
    finish.name = "add";
    const View planes = as_planes(residual);
    step->add_finish(std::move(finish), &planes);
    builder.define_output(operation, builder.view(x));
    return true;
  }
  return false;
}

}  // namespace pippin::engine
