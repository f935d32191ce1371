#include "pippin/engine/lowering/planes.h"

#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/engine/lowering/axes.h"
#include "pippin/engine/lowering/rules.h"
#include "pippin/mil/ops/op.h"

namespace pippin::engine {
namespace {

using mil::Dim;
using mil::Var;

constexpr int64_t kMostTaps = int64_t{1} << 20;  // along an axis

// Whether planes have the layout of a step's result.
bool lies_as(const View& view, const View& y) {
  const View planes = as_planes(view);
  return planes.strides == y.strides || (is_contiguous(planes) && is_contiguous(y));
}

// Whether an operation's results are read only for `last`: by it or, within a few steps, by
// operations whose results it reads.
bool is_read_for(const Builder& builder, const mil::Operation& operation,
                 const mil::Operation& last, int steps) {
  return builder.all_users(operation, [&](const mil::Operation& user) {
    return &user == &last || (steps > 0 && is_read_for(builder, user, last, steps - 1));
  });
}

// Whether a value, under any names and in any shapes, is read for one operation only.
bool is_own(const Builder& builder, const Var* var, const mil::Operation& last) {
  constexpr int kSteps = 4;  // of a formula
  if (var->producer == nullptr) return false;
  if (!builder.read_once(var) && !is_read_for(builder, *var->producer, last, kSteps)) return false;
  while (var->producer != nullptr && mil::keeps_elements(*var->producer)) {
    var = var->producer->input_var("x");
    if (var == nullptr || !builder.read_once(var)) return false;
  }
  return true;
}

// The index of the node over planes whose whole result is `var`, if that is read only for `last`,
// and the node could as well be computed now.
std::optional<size_t> own_node(Builder& builder, const Var* var, const mil::Operation& last) {
  if (!builder.fusion() || var == nullptr || !builder.is_lowered(var)) return std::nullopt;
  const View shown = builder.view(var);
  const auto& nodes = builder.nodes();
  const size_t index = writer_of(nodes, shown);
  if (index == nodes.size() || nodes[index].as<PlaneNode>() == nullptr) return std::nullopt;
  const Node& node = nodes[index];
  const bool whole =
      shown.storage == Storage::F32 && shown.rank() >= 3 && shown.rank() <= kPlaneRank &&
      lies_as(shown, node.views[0]) && shown.offset == node.views[0].offset &&
      shown.shape[0] == node.views[0].shape[0] && shown.shape[1] == node.views[0].shape[1] &&
      mil::num_elements(shown.shape) == mil::num_elements(node.views[0].shape);
  if (!whole || !is_own(builder, var, last)) return std::nullopt;
  // Its inputs must not have been written since.
  for (size_t i = 1; i < node.views.size(); ++i) {
    const size_t writer = writer_of(nodes, node.views[i]);
    if (writer != nodes.size() && writer > index) return std::nullopt;
  }
  return index;
}

// Emits a node that applies a finish after those of another node, whose result is then not read:
// `x`, its result, becomes the operation's result.
void finish_node(Builder& builder, const mil::Operation& operation, const Var* x, Node node,
                 const std::vector<Finish>& finishes, const View* residual = nullptr) {
  const int buffer = builder.allocate(Storage::F32, node.views[0].shape).buffer;
  PlaneNode& plane = *node.as<PlaneNode>();
  for (Finish finish : finishes) {
    finish.residual = node.views.size();
    if (residual != nullptr) node.views.push_back(*residual);
    plane.finishes.push_back(std::move(finish));
  }
  node.views[0].buffer = buffer;
  builder.add(std::move(node));
  View result = builder.view(x);
  result.buffer = buffer;
  builder.define_output(operation, result);
}

}  // namespace

View as_planes(const View& view) {
  View planes = view;
  const auto missing = static_cast<size_t>(kPlaneRank - view.rank());
  planes.shape.insert(planes.shape.begin() + 2, missing, Dim(1));
  // Contiguous if the view is.
  const Dim stride = view.shape[2] * view.strides[2];
  planes.strides.insert(planes.strides.begin() + 2, missing, stride);
  return planes;
}

namespace {

// The permutation of the axes [N, C, spatial...] to [N, spatial..., C], and its inverse.
std::vector<int64_t> channels_last_order(int64_t rank) {
  return axes_last({1}, rank);
}

}  // namespace

View allocate_channels_last(Builder& builder, const mil::Shape& shape) {
  const std::vector<int64_t> order = channels_last_order(static_cast<int64_t>(shape.size()));
  mil::Shape places;
  for (const int64_t axis : order) places.push_back(shape[static_cast<size_t>(axis)]);
  return transpose_view(builder.allocate(Storage::F32, places), inverse(order));
}

View channels_last(Builder& builder, const View& view) {
  const std::vector<int64_t> order = channels_last_order(view.rank());
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

bool fits_windows(const Builder& builder, const Windows& windows, const View& x) {
  const auto& fits = builder.target().fits_windows;
  return !fits || fits(windows, x);
}

bool finish_where_computed(Builder& builder, const mil::Operation& operation, const Var* x,
                           const std::vector<Finish>& finishes) {
  const auto index = own_node(builder, x, operation);
  if (!index) return false;
  finish_node(builder, operation, x, builder.nodes()[*index], finishes);
  return true;
}

bool add_where_computed(Builder& builder, const mil::Operation& operation) {
  for (const bool swapped : {false, true}) {
    const Var* x = operation.input_var(swapped ? "y" : "x");
    const Var* other = operation.input_var(swapped ? "x" : "y");
    // A value that is read only for the sum may be read to compute the other one: then x is needed
    // as it is.
    if (x == nullptr || other == nullptr || !builder.read_once(x) || !builder.is_lowered(other) ||
        builder.info(other).shape != builder.info(x).shape) {
      continue;
    }
    const auto index = own_node(builder, x, operation);
    View residual = builder.view(other);
    if (!index || residual.storage != Storage::F32) continue;
    const View y = builder.nodes()[*index].views[0];
    // A residual in another layout is copied: adding across layouts takes longer.
    if (has_channels_last(y)) residual = channels_last(builder, residual);
    if (!lies_as(residual, y)) continue;
    const Finish finish = {.kind = Finish::Kind::Add, .name = "add"};
    const View planes = as_planes(residual);
    finish_node(builder, operation, x, builder.nodes()[*index], {finish}, &planes);
    return true;
  }
  return false;
}

}  // namespace pippin::engine
