// Convolutions: products of packed panels, windows of a channel's own, or linear layers.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "pippin/engine/lowering/convolution.h"
#include "pippin/engine/lowering/rules.h"
#include "pippin/engine/steps/conv_step.h"
#include "pippin/engine/steps/winograd_step.h"

namespace pippin::engine {
namespace {

using mil::Dim;

View packed_weights(Builder& builder, const mil::Operation& operation,
                    const Convolution& convolution) {
  const kernels::ConvKernels& kernels = kernels::choose_conv(builder.cpu());
  const int64_t each = convolution.outputs / convolution.groups;
  const int64_t floats = std::max<int64_t>(
      1, convolution.groups * kernels::packed_conv_weights(kernels, each, convolution.k()));
  const View w = builder.view(operation, "weight");
  if (is_plain_constant(builder, w)) {
    const auto make = [&] {
      return packed_rows(kernels, convolution,
                         weight_floats(builder, w, convolution.outputs * convolution.k()));
    };
    return weights_constant(
        builder, operation, make, floats,
        fmt::format("{} panels of {} groups", kernels.name, convolution.groups));
  }
  View panels = builder.allocate(Storage::F32, {Dim(floats)});
  const View rows = *reshape_view(builder.contiguous(builder.view_as(w, Storage::F32)),
                                  {Dim(convolution.outputs), Dim(convolution.k())});
  builder.emit<PackConvStep>({panels, rows}, builder.cpu(), convolution.groups,
                             num_taps(convolution.windows));
  return panels;
}

View winograd_panels(Builder& builder, const mil::Operation& operation,
                     const Convolution& convolution) {
  const kernels::ConvKernels& kernels = kernels::choose_conv(builder.cpu());
  const int64_t outputs = convolution.outputs, channels = convolution.channels;
  const int64_t panels = kernels::packed_conv_weights(kernels, outputs, channels);
  const int64_t floats = panels * kernels::kWinogradProducts;
  const View w = builder.view(operation, "weight");
  const auto make = [&] {
    const std::vector<float> rows = weight_floats(builder, w, outputs * channels * 9);
    std::vector<std::byte> bytes(static_cast<size_t>(floats) * sizeof(float));
    auto* to = reinterpret_cast<float*>(bytes.data());
    for (int64_t output = 0; output < outputs; ++output) {
      kernels::pack_winograd_weights(kernels, rows.data() + output * channels * 9, channels,
                                     outputs, output, to);
    }
    return bytes;
  };
  return weights_constant(builder, operation, make, floats,
                          fmt::format("{} panels of Winograd's products", kernels.name));
}

// Whether Winograd's products are fewer than the others by more than the transformations take. They
// cost digits, so `exact` does without.
bool is_winograd(const Builder& builder, const Convolution& convolution, const View& w,
                 const View& y) {
  const bool fits = builder.precision() == Precision::Fast && convolution.groups == 1 &&
                    y.rank() == 4 && WinogradStep::fits(convolution.windows) &&
                    is_plain_constant(builder, w);
  if (!fits) return false;
  // Of one element or sum; measured in multiplications of a product.
  constexpr double kTransform = 540;
  const auto sizes = [&](size_t axis) { return static_cast<double>(y.shape[axis].lower()); };
  const double channels = static_cast<double>(convolution.channels);
  const double outputs = static_cast<double>(convolution.outputs);
  const auto side = static_cast<double>(kernels::kWinogradSide);
  const double tiles = sizes(0) * std::ceil(sizes(2) / side) * std::ceil(sizes(3) / side);
  // Few columns leave most of the product's registers empty.
  const auto columns = static_cast<double>(kernels::choose_conv(builder.cpu()).columns);
  const double winograd =
      std::max(tiles, columns * 2 / 3) * kernels::kWinogradProducts * channels * outputs +
      tiles * kTransform * (channels + outputs);
  return winograd < 9 * sizes(0) * sizes(2) * sizes(3) * channels * outputs;
}

void conv(Builder& builder, const mil::Operation& operation) {
  const Convolution convolution = convolution_of(builder, operation);
  const View given = builder.floats(operation, "x");
  if (convolution.groups == 1 && is_pointwise(convolution.windows) &&
      (is_list(given) || builder.quantized(operation, "weight") != nullptr)) {
    lower_pointwise_conv(builder, operation);
    return;
  }
  // Elements of a row that lie apart would be gathered once for each tap.
  const View x = as_planes(given.strides.back() == Dim(1) ? given : builder.contiguous(given));
  const View y = builder.allocate(Storage::F32, builder.info(operation.output()).shape);
  const View planes = as_planes(y);
  std::optional<View> bias;
  if (operation.find_input("bias") != nullptr) {
    bias = builder.contiguous(builder.floats(operation, "bias"));
  }
  if (is_by_channel(convolution, x)) {
    const View w = *reshape_view(builder.contiguous(builder.floats(operation, "weight")),
                                 {Dim(convolution.outputs), Dim(convolution.k())});
    emit_convolution(builder, convolution, planes, x, true, w, bias);
  } else if (is_winograd(builder, convolution, builder.view(operation, "weight"), y)) {
    std::vector<View> views = {planes, x, winograd_panels(builder, operation, convolution)};
    if (bias) views.push_back(*bias);
    builder.emit<WinogradStep>(std::move(views), builder.cpu(), convolution.windows,
                               bias.has_value());
  } else {
    const View weights = packed_weights(builder, operation, convolution);
    const std::optional<View> places = list_of_places(x, convolution);
    emit_convolution(builder, convolution, places ? *list_of_places(planes, convolution) : planes,
                     places ? *places : x, false, weights, bias);
  }
  builder.define_output(operation, y);
}

}  // namespace

void add_conv_rules(Rules& rules) {
  rules["conv"] = conv;
}

}  // namespace pippin::engine
