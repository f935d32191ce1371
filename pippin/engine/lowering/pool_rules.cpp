// Pooling, and operations with numbers by channel: batch_norm, instance_norm, prelu.
#include <cmath>

#include "pippin/base/error.h"
#include "pippin/engine/lowering/planes.h"
#include "pippin/engine/lowering/rules.h"

namespace pippin::engine {
namespace {

using kernels::UnaryOp;
using mil::Dim;

template <WindowOp op>
void pool(Builder& builder, const mil::Operation& operation) {
  const View given = builder.floats(operation, "x");
  const Windows windows =
      windows_of(builder, operation, ints_param(builder, operation, "kernel_sizes"));
  std::array<int64_t, kSpatialAxes> pad_end{};
  if (string_param(builder, operation, "pad_type") == "custom") {
    const std::vector<int64_t> pad = ints_param(builder, operation, "pad", std::vector<int64_t>(6));
    const auto axes = static_cast<size_t>(given.rank()) - 2;
    for (size_t i = 0; i < axes; ++i) pad_end[kSpatialAxes - axes + i] = pad.at(2 * i + 1);
  }
  WindowOp which = op;
  if (op == WindowOp::Average && bool_param(builder, operation, "exclude_padding_from_average")) {
    which = WindowOp::Inside;
  }
  const mil::Shape& shape = builder.info(operation.output()).shape;
  if (op != WindowOp::Norm && has_channels_last(given) &&
      given.shape[1].lower() >= kLeastChannels && has_few_taps(windows)) {
    const View y = allocate_channels_last(builder, shape);
    builder.emit(PlaneNode{ChannelsLastWindowNode{operation.type(), which, windows, pad_end}, {}},
                 {as_planes(y), as_planes(given)});
    return builder.define_output(operation, y);
  }
  const View x = as_planes(given.strides.back() == Dim(1) ? given : builder.contiguous(given));
  if (!fits_windows(builder, windows, x)) {
    fail(ErrorCode::Unsupported, "{}: its windows are too large", builder.where(operation));
  }
  const View y = builder.allocate(Storage::F32, shape);
  builder.emit(PlaneNode{WindowNode{operation.type(), which, windows, pad_end}, {}},
               {as_planes(y), x});
  builder.define_output(operation, y);
}

// Applies `finishes` in the node that computes x, or in a separate one.
void by_channel(Builder& builder, const mil::Operation& operation,
                const std::vector<Finish>& finishes) {
  if (finish_where_computed(builder, operation, operation.input_var("x"), finishes)) return;
  const View given = builder.floats(operation, "x");
  if (given.rank() > kPlaneRank) {
    fail(ErrorCode::Unsupported, "{}: rank {}", builder.where(operation), given.rank());
  }
  const View y = builder.allocate(Storage::F32, given.shape);
  builder.emit(PlaneNode{ChannelNode{}, finishes},
               {as_planes(y), as_planes(builder.contiguous(given))});
  builder.define_output(operation, y);
}

// A constant with a number for each channel.
std::vector<float> channel_numbers(Builder& builder, const mil::Operation& operation,
                                   std::string_view name, float absent) {
  const auto channels = builder.shape(operation, "x").at(1).try_constant();
  if (!channels || *channels > (int64_t{1} << 20)) {
    fail(ErrorCode::Unsupported, "{}: its channels are not known", builder.where(operation));
  }
  const auto count = static_cast<size_t>(*channels);
  if (operation.find_input(name) == nullptr) return std::vector<float>(count, absent);
  auto numbers = builder.constant_floats(builder.view(operation, name), *channels);
  if (!numbers || numbers->size() != count) {
    fail(ErrorCode::Unsupported, "{}: '{}' is not constant", builder.where(operation), name);
  }
  return *numbers;
}

void batch_norm(Builder& builder, const mil::Operation& operation) {
  const auto mean = channel_numbers(builder, operation, "mean", 0);
  const auto variance = channel_numbers(builder, operation, "variance", 1);
  const auto gamma = channel_numbers(builder, operation, "gamma", 1);
  const auto beta = channel_numbers(builder, operation, "beta", 0);
  const double epsilon = float_param(builder, operation, "epsilon");
  // x - mean first: scale * x and mean * scale may agree in all their digits.
  Finish center, finish;
  center.kind = finish.kind = Finish::Kind::Channels;
  center.op = finish.op = UnaryOp::Linear;
  center.name = "mean";
  finish.name = operation.type();
  center.alphas.assign(mean.size(), 1);
  for (size_t i = 0; i < mean.size(); ++i) {
    const double scale =
        static_cast<double>(gamma[i]) / std::sqrt(static_cast<double>(variance[i]) + epsilon);
    center.betas.push_back(-mean[i]);
    finish.alphas.push_back(static_cast<float>(scale));
    finish.betas.push_back(beta[i]);
  }
  by_channel(builder, operation, {center, finish});
}

void prelu(Builder& builder, const mil::Operation& operation) {
  Finish finish;
  finish.kind = Finish::Kind::Channels;
  finish.op = UnaryOp::LeakyRelu;
  finish.name = operation.type();
  finish.alphas = channel_numbers(builder, operation, "alpha", 0);
  by_channel(builder, operation, {finish});
}

void softplus_parametric(Builder& builder, const mil::Operation& operation) {
  Finish inner, softplus, outer;
  inner.kind = outer.kind = Finish::Kind::Channels;
  inner.op = outer.op = UnaryOp::Linear;
  inner.name = outer.name = "scale";
  inner.alphas = channel_numbers(builder, operation, "beta", 1);
  outer.alphas = channel_numbers(builder, operation, "alpha", 1);
  softplus.op = UnaryOp::Softplus;
  softplus.name = operation.type();
  by_channel(builder, operation, {inner, softplus, outer});
}

void instance_norm(Builder& builder, const mil::Operation& operation) {
  auto gamma = channel_numbers(builder, operation, "gamma", 1);
  auto beta = channel_numbers(builder, operation, "beta", 0);
  const View x = builder.contiguous(builder.floats(operation, "x"));
  const View y = builder.allocate(Storage::F32, x.shape);
  const int64_t axes = x.rank() - 2;
  builder.emit(InstanceNormNode{std::move(gamma), std::move(beta),
                                static_cast<float>(float_param(builder, operation, "epsilon"))},
               {*matrix_view(y, axes), *matrix_view(x, axes)});
  builder.define_output(operation, y);
}

}  // namespace

void add_pool_rules(Rules& rules) {
  rules["avg_pool"] = pool<WindowOp::Average>;
  rules["max_pool"] = pool<WindowOp::Max>;
  rules["l2_pool"] = pool<WindowOp::Norm>;
  rules["batch_norm"] = batch_norm;
  rules["instance_norm"] = instance_norm;
  rules["prelu"] = prelu;
  rules["softplus_parametric"] = softplus_parametric;
}

}  // namespace pippin::engine
