// Shared by the rules of convolutions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "pippin/engine/lowering/builder.h"
#include "pippin/engine/lowering/planes.h"
#include "pippin/engine/weights/conv_panels.h"

namespace pippin::engine {

// A convolution: windows of x, with weights [outputs, channels of a group, taps].
struct Convolution {
  Windows windows;
  int64_t groups = 1, outputs = 0, channels = 0;
  int64_t k() const { return channels * num_taps(windows); }
};

// The shape of the operation's weight; throws Unsupported unless all sizes are known and there are
// one to three spatial axes.
std::vector<int64_t> kernel_shape(const Builder& builder, const mil::Operation& operation);

// The convolution that an operation `conv` describes.
Convolution convolution_of(const Builder& builder, const mil::Operation& operation);

// The planes as one row each, if a convolution reads one element for each place.
std::optional<View> list_of_places(const View& planes, const Convolution& convolution);

// Whether a pointwise convolution of x is a linear layer rather than one of planes: of tokens ([N,
// C, 1, tokens], or [N, C, tokens] with channels last), or of so few places that reading the
// weights dominates the time.
bool is_list(const View& x);

// Whether each channel of x has a few outputs of its own.
bool is_by_channel(const Builder& builder, const Convolution& convolution, const View& x);

// Weights that are known floats, stored contiguously.
bool is_plain_constant(const Builder& builder, const View& w);
// A copy of `count` such elements as floats.
std::vector<float> weight_floats(Builder& builder, const View& w, int64_t count);
// The layout of the panels of its weights.
ConvPanels panels_of(const Builder& builder, ConvPanels::Form form, const Convolution& convolution);
// The weights that `make` computes, of that many floats, kept in memory once for all plans of the
// program.
View weights_constant(Builder& builder, const mil::Operation& operation,
                      const std::function<std::vector<std::byte>()>& make, int64_t floats,
                      const std::string& variant);

// Emits y from x (planes.h): by channel with weights [outputs, k()], else with panels of them.
void emit_convolution(Builder& builder, const Convolution& convolution, const View& y,
                      const View& x, bool by_channel, const View& weights,
                      const std::optional<View>& bias);

}  // namespace pippin::engine
