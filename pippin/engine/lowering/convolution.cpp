#include "pippin/engine/lowering/convolution.h"

#include <algorithm>
#include <utility>

#include "pippin/base/error.h"
#include "pippin/engine/lowering/rules.h"
#include "pippin/engine/weights/cached_array.h"
#include "pippin/engine/weights/copy_operand.h"

namespace pippin::engine {

using mil::Dim;
using mil::Shape;

std::vector<int64_t> kernel_shape(const Builder& builder, const mil::Operation& operation) {
  const Shape shape = builder.shape(operation, "weight");
  const auto kernel = mil::constant_shape(shape);
  if (!kernel || kernel->size() < 3 || kernel->size() > kPlaneRank) {
    fail(ErrorCode::Unsupported, "{}: a kernel of shape {}", builder.where(operation),
         mil::to_string(shape));
  }
  return *kernel;
}

Convolution convolution_of(const Builder& builder, const mil::Operation& operation) {
  const std::vector<int64_t> shape = kernel_shape(builder, operation);
  Convolution convolution;
  convolution.windows = windows_of(builder, operation, {shape.begin() + 2, shape.end()});
  convolution.groups = int_param(builder, operation, "groups");
  convolution.outputs = shape[0];
  convolution.channels = shape[1];
  return convolution;
}

std::optional<View> list_of_places(const View& planes, const Convolution& convolution) {
  if (!is_pointwise(convolution.windows)) return std::nullopt;
  const Dim places = planes.shape[2] * planes.shape[3] * planes.shape[4];
  return reshape_view(planes, {planes.shape[0], planes.shape[1], Dim(1), Dim(1), places});
}

bool is_list(const View& x) {
  constexpr int64_t kFewPlaces = 32;
  Dim places = 1;
  for (size_t i = 2; i < x.shape.size(); ++i) places = places * x.shape[i];
  const bool rows = x.rank() == 3 && x.strides[1] == Dim(1) && !(x.strides.back() == Dim(1));
  const bool tokens = x.rank() == 4 && (x.shape[2] == Dim(1) || x.shape[3] == Dim(1));
  return rows || tokens || places.lower() < kFewPlaces;
}

bool is_by_channel(const Builder& builder, const Convolution& convolution, const View& x) {
  constexpr int64_t kFewOutputs = 4;
  return convolution.channels == 1 && convolution.outputs <= kFewOutputs * convolution.groups &&
         convolution.k() > 1 && fits_windows(builder, convolution.windows, x);
}

bool is_plain_constant(const Builder& builder, const View& w) {
  return builder.is_constant(w) && is_contiguous(w) && w.offset.is_constant() &&
         is_float(w.storage);
}

std::vector<float> weight_floats(Builder& builder, const View& w, int64_t count) {
  std::vector<float> floats(static_cast<size_t>(count));
  const Operand from{const_cast<std::byte*>(builder.buffers()[static_cast<size_t>(w.buffer)].data +
                                            w.offset.constant() * element_size(w.storage)),
                     w.storage,
                     1,
                     {count},
                     {1}};
  const Operand to{reinterpret_cast<std::byte*>(floats.data()), Storage::F32, 1, {count}, {1}};
  copy_operand(to, from, builder.cpu());
  return floats;
}

ConvPanels panels_of(const Builder& builder, ConvPanels::Form form,
                     const Convolution& convolution) {
  if (!builder.target().takes_panels) {
    fail(ErrorCode::Unsupported, "the device does not support panels of convolutions");
  }
  return {form,
          convolution.groups,
          convolution.outputs,
          convolution.channels,
          num_taps(convolution.windows),
          builder.cpu()};
}

View weights_constant(Builder& builder, const mil::Operation& operation,
                      const std::function<std::vector<std::byte>()>& make, int64_t floats,
                      const std::string& variant) {
  const mil::Var* var = operation.input_var("weight");
  const Shape shape = {Dim(floats)};
  if (var == nullptr || var->producer == nullptr) {
    return builder.constant(Storage::F32, shape, make());
  }
  const ArrayRequest request{var, static_cast<uint64_t>(floats) * sizeof(float), builder.opset(),
                             variant, nullptr};
  return builder.shared_constant(Storage::F32, shape, shared_array(request, make));
}

void emit_convolution(Builder& builder, const Convolution& convolution, const View& y,
                      const View& x, bool by_channel, const View& weights,
                      const std::optional<View>& bias) {
  std::vector<View> views = {y, x, weights};
  if (bias) views.push_back(*bias);
  if (by_channel) {
    builder.emit(
        PlaneNode{
            WindowNode{
                "depthwise conv", WindowOp::Weights, convolution.windows, {}, bias.has_value()},
            {}},
        std::move(views));
  } else {
    builder.emit(PlaneNode{ConvNode{ConvNode::Operands::Floats, convolution.windows,
                                    convolution.groups, bias.has_value()},
                           {}},
                 std::move(views));
  }
}

}  // namespace pippin::engine
