// Convolutions: as products of packed panels, windows of each channel, or linear layers.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "pippin/engine/lowering/convolution.h"
#include "pippin/engine/lowering/rules.h"

namespace pippin::engine {
namespace {

using mil::Dim;

View packed_weights(Builder& builder, const mil::Operation& operation,
                    const Convolution& convolution) {
  const ConvPanels form = panels_of(builder, ConvPanels::Form::Rows, convolution);
  const View w = builder.view(operation, "weight");
  if (is_plain_constant(builder, w)) {
    const auto make = [&] {
      return form.pack(weight_floats(builder, w, convolution.outputs * convolution.k()));
    };
    return weights_constant(
        builder, operation, make, form.floats(),
        fmt::format("{} panels of {} groups", form.kernel(), convolution.groups));
  }
  View panels = builder.allocate(Storage::F32, {Dim(form.floats())});
  const View rows = *reshape_view(builder.contiguous(builder.view_as(w, Storage::F32)),
                                  {Dim(convolution.outputs), Dim(convolution.k())});
  builder.emit(PackConvNode{convolution.groups, num_taps(convolution.windows)}, {panels, rows});
  return panels;
}

// The panels of channels_last_tile for all groups, or, for weights of one channel, those of a tap
// next to each other. With `row_taps` > 1, that many taps of a row count as channels.
View channels_last_weights(Builder& builder, const mil::Operation& operation,
                           const Convolution& convolution, bool by_channel, int64_t row_taps) {
  const ConvPanels panels = panels_of(builder, ConvPanels::Form::ChannelsLast, convolution);
  const int64_t k = convolution.k(), taps = num_taps(convolution.windows);
  const View w = builder.view(operation, "weight");
  const auto by_tap = [&] {
    const std::vector<float> rows = weight_floats(builder, w, convolution.outputs * k);
    std::vector<std::byte> bytes(static_cast<size_t>(convolution.outputs * taps) * sizeof(float));
    auto* to = reinterpret_cast<float*>(bytes.data());
    for (int64_t i = 0; i < convolution.outputs; ++i) {
      for (int64_t tap = 0; tap < taps; ++tap) {
        to[tap * convolution.outputs + i] = rows[static_cast<size_t>(i * k + tap)];
      }
    }
    return bytes;
  };
  if (by_channel) {
    return weights_constant(builder, operation, by_tap, convolution.outputs * taps,
                            "taps of channels");
  }
  const auto make = [&] {
    const std::vector<float> rows = weight_floats(builder, w, convolution.outputs * k);
    if (row_taps == 1) return panels.pack(rows);
    const int64_t channels = convolution.channels / row_taps;
    std::vector<float> turned(rows.size());
    for (int64_t i = 0; i < convolution.outputs; ++i) {
      for (int64_t at = 0; at < k; ++at) {
        const int64_t channel = at / row_taps / taps, tap = at / row_taps % taps;
        const int64_t to = (at % row_taps * channels + channel) * taps + tap;
        turned[static_cast<size_t>(i * k + to)] = rows[static_cast<size_t>(i * k + at)];
      }
    }
    return panels.pack(turned);
  };
  return weights_constant(builder, operation, make, panels.floats(),
                          fmt::format("{} panels of places, {} groups, {} taps in a row",
                                      panels.kernel(), convolution.groups, row_taps));
}

// Turns the taps of a row into channels: x with zeros around its rows is written once with channels
// last, and a view of it holds the elements of a row under each window as channels. Nothing if that
// does not apply.
std::optional<View> rows_as_channels(Builder& builder, Convolution& convolution, const View& x,
                                     const mil::Shape& y) {
  WindowAxis& axis = convolution.windows[kSpatialAxes - 1];
  const auto in = x.shape.back().try_constant(), out = y.back().try_constant();
  const auto taps = static_cast<int64_t>(axis.taps.size());
  if (!in || !out || convolution.groups != 1 || axis.taps.back() != taps - 1) return std::nullopt;
  const int64_t before = -axis.start(*in, *out), channels = convolution.channels;
  const int64_t width = std::max(before + *in, (*out - 1) * axis.stride + taps);
  if (before < 0 || taps == 1) return std::nullopt;
  mil::Shape shape = x.shape;
  shape.back() = Dim(width);
  View padded = allocate_channels_last(builder, shape);
  const auto part = [&](int64_t begin, int64_t count) {
    View columns = padded;
    columns.offset = columns.offset + Dim(begin) * columns.strides.back();
    columns.shape.back() = Dim(count);
    return columns;
  };
  const View zero = builder.constant(Storage::F32, {}, std::vector<std::byte>(sizeof(float)));
  if (before > 0) builder.emit_copy(part(0, before), zero);
  if (before + *in < width) builder.emit_copy(part(before + *in, width - before - *in), zero);
  builder.emit_copy(part(before, *in), x);
  padded.shape[1] = Dim(channels * taps);
  padded.shape.back() = Dim(*out);
  padded.strides.back() = Dim(channels * axis.stride);
  convolution.channels = channels * taps;
  axis = WindowAxis{};
  return padded;
}

// The convolution with channels last; nothing if it does not suit that layout.
std::optional<View> channels_last_conv(Builder& builder, const mil::Operation& operation,
                                       Convolution convolution, const View& given,
                                       const std::optional<View>& bias) {
  constexpr int64_t kFewChannels = 4;  // fewer take longer to point at than to multiply, for each
                                       // tap
  const int64_t inputs = convolution.channels * convolution.groups;
  const int64_t each = convolution.outputs / std::max<int64_t>(1, convolution.groups);
  const bool by_channel = convolution.channels == 1 && each == 1 && convolution.groups > 1;
  const bool few = convolution.groups > 1 && (by_channel ? inputs : each) < kLeastChannels;
  const bool fits = convolution.k() > 0 && !few && has_few_taps(convolution.windows) &&
                    is_plain_constant(builder, builder.view(operation, "weight"));
  if (!fits) return std::nullopt;
  const mil::Shape& shape = builder.info(operation.output()).shape;
  std::optional<View> x;
  const auto row_taps = static_cast<int64_t>(convolution.windows.back().taps.size());
  if (inputs <= kFewChannels && !has_channels_last(given)) {
    x = rows_as_channels(builder, convolution, given, shape);
  }
  const bool turned = x.has_value();
  if (!turned) x = channels_last(builder, given);
  const View y = allocate_channels_last(builder, shape);
  std::vector<View> views = {
      as_planes(y), as_planes(*x),
      channels_last_weights(builder, operation, convolution, by_channel, turned ? row_taps : 1)};
  if (bias) views.push_back(*bias);
  if (by_channel) {
    builder.emit(
        PlaneNode{
            ChannelsLastWindowNode{
                "depthwise conv", WindowOp::Weights, convolution.windows, {}, bias.has_value()},
            {}},
        std::move(views));
  } else {
    builder.emit(
        PlaneNode{ChannelsLastConvNode{convolution.windows, convolution.groups, bias.has_value()},
                  {}},
        std::move(views));
  }
  return y;
}

View winograd_panels(Builder& builder, const mil::Operation& operation,
                     const Convolution& convolution) {
  const ConvPanels panels = panels_of(builder, ConvPanels::Form::Winograd, convolution);
  const View w = builder.view(operation, "weight");
  const auto make = [&] {
    return panels.pack(weight_floats(builder, w, convolution.outputs * convolution.k()));
  };
  return weights_constant(builder, operation, make, panels.floats(),
                          fmt::format("{} panels of Winograd's products", panels.kernel()));
}

// Whether Winograd's algorithm saves more multiplications than its transformations cost. It loses
// digits, so `exact` does not use it.
bool pays_winograd(const Builder& builder, const Convolution& convolution, const View& w,
                   const mil::Shape& y) {
  const bool fits = builder.precision() == Precision::Fast && convolution.groups == 1 &&
                    y.size() == 4 && is_winograd(convolution.windows) &&
                    std::min(convolution.channels, convolution.outputs) >= kLeastChannels &&
                    is_plain_constant(builder, w);
  if (!fits) return false;
  // Of one element or sum, in multiplications of a product; measured.
  constexpr double kTransform = 200;
  const auto sizes = [&](size_t axis) { return static_cast<double>(y[axis].lower()); };
  const double channels = static_cast<double>(convolution.channels);
  const double outputs = static_cast<double>(convolution.outputs);
  const auto side = static_cast<double>(winograd_side());
  const double tiles = sizes(0) * std::ceil(sizes(2) / side) * std::ceil(sizes(3) / side);
  // With few tiles, reading four times the weights does not pay off.
  constexpr double kLeastTiles = 16;
  const double winograd =
      std::max(tiles, kLeastTiles) * static_cast<double>(winograd_products()) * channels * outputs +
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
  std::optional<View> bias;
  if (operation.find_input("bias") != nullptr) {
    bias = builder.contiguous(builder.floats(operation, "bias"));
  }
  const mil::Shape& shape = builder.info(operation.output()).shape;
  if (pays_winograd(builder, convolution, builder.view(operation, "weight"), shape)) {
    const View y = allocate_channels_last(builder, shape);
    std::vector<View> views = {as_planes(y), as_planes(channels_last(builder, given)),
                               winograd_panels(builder, operation, convolution)};
    if (bias) views.push_back(*bias);
    builder.emit(PlaneNode{WinogradNode{convolution.windows, bias.has_value()}, {}},
                 std::move(views));
    return builder.define_output(operation, y);
  }
  if (const auto y = channels_last_conv(builder, operation, convolution, given, bias)) {
    return builder.define_output(operation, *y);
  }
  // Elements of a row that are not adjacent would be gathered once for each tap.
  const View x = as_planes(given.strides.back() == Dim(1) ? given : builder.contiguous(given));
  const View y = builder.allocate(Storage::F32, shape);
  const View planes = as_planes(y);
  if (is_by_channel(builder, convolution, x)) {
    const View w = *reshape_view(builder.contiguous(builder.floats(operation, "weight")),
                                 {Dim(convolution.outputs), Dim(convolution.k())});
    emit_convolution(builder, convolution, planes, x, true, w, bias);
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
