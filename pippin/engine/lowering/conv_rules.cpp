// Convolutions: products of packed panels, windows of a channel's own, or linear layers.
#include <algorithm>
#include <cstring>

#include "pippin/base/error.h"
#include "pippin/base/float16.h"
#include "pippin/engine/lowering/planes.h"
#include "pippin/engine/lowering/rules.h"
#include "pippin/engine/steps/conv_step.h"
#include "pippin/engine/steps/copy_step.h"
#include "pippin/engine/steps/window_step.h"
#include "pippin/engine/weights/cached_array.h"

namespace pippin::engine {
namespace {

using mil::Dim;
using mil::Shape;

// What is summed: windows of x, with weights [outputs, channels of a group, taps].
struct Convolution {
  Windows windows;
  int64_t groups = 1, outputs = 0, channels = 0;
  int64_t k() const { return channels * num_taps(windows); }
};

std::vector<int64_t> kernel_shape(const Builder& builder, const mil::Operation& operation) {
  const Shape shape = builder.shape(operation, "weight");
  const auto kernel = mil::constant_shape(shape);
  if (!kernel || kernel->size() < 3 || kernel->size() > kPlaneRank) {
    fail(ErrorCode::Unsupported, "{}: a kernel of shape {}", builder.where(operation),
         mil::to_string(shape));
  }
  return *kernel;
}

// One element at every place, none beside x: what is convolved is the list of places.
bool is_pointwise(const Windows& windows) {
  return std::all_of(windows.begin(), windows.end(), [](const WindowAxis& axis) {
    return axis.taps.size() == 1 && axis.stride == 1 && (axis.pad == 0 || axis.same);
  });
}

// Whether a pointwise convolution is a linear layer: of weights that stay compressed, of tokens
// ([N, C, 1, tokens], or rows of channels in memory), or of so few places that reading the weights
// is what takes the time.
bool is_linear(const Builder& builder, const mil::Operation& operation, const View& x) {
  constexpr int64_t kFewPlaces = 32;
  Dim places = 1;
  for (size_t i = 2; i < x.shape.size(); ++i) places = places * x.shape[i];
  const bool rows = x.strides[1] == Dim(1) && !(x.strides.back() == Dim(1));
  const bool tokens = x.rank() == 4 && x.shape[2] == Dim(1);
  return rows || tokens || builder.quantized(operation, "weight") != nullptr ||
         places.lower() < kFewPlaces;
}

// A copy of the elements of constant weights as floats.
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

// Panels of `rows`, weights [outputs, channels, taps].
std::vector<std::byte> packed(const kernels::ConvKernels& kernels, const Convolution& convolution,
                              const std::vector<float>& rows) {
  const int64_t each = convolution.outputs / convolution.groups,
                taps = num_taps(convolution.windows);
  const int64_t panels = kernels::packed_conv_weights(kernels, each, convolution.k());
  // Something, also of no channels.
  std::vector<std::byte> bytes(
      static_cast<size_t>(std::max<int64_t>(1, convolution.groups * panels)) * sizeof(float));
  auto* floats = reinterpret_cast<float*>(bytes.data());
  for (int64_t i = 0; i < convolution.outputs; ++i) {
    kernels::pack_conv_weights(kernels, rows.data() + i * convolution.k(), convolution.channels,
                               taps, i % each, floats + i / each * panels);
  }
  return bytes;
}

// Computed weights by `make`, kept in memory once for all plans of the program.
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

bool is_plain_constant(const Builder& builder, const View& w) {
  return builder.is_constant(w) && is_contiguous(w) && w.offset.is_constant() &&
         is_float(w.storage);
}

View packed_weights(Builder& builder, const mil::Operation& operation,
                    const Convolution& convolution) {
  const kernels::ConvKernels& kernels = kernels::choose_conv(builder.cpu());
  const int64_t each = convolution.outputs / convolution.groups;
  const int64_t floats = std::max<int64_t>(
      1, convolution.groups * kernels::packed_conv_weights(kernels, each, convolution.k()));
  const View w = builder.view(operation, "weight");
  if (is_plain_constant(builder, w)) {
    const auto make = [&] {
      return packed(kernels, convolution,
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

// The planes as one row each, where a convolution takes one element for each place.
std::optional<View> list_of_places(const View& planes, const Convolution& convolution) {
  if (!is_pointwise(convolution.windows)) return std::nullopt;
  const Dim places = planes.shape[2] * planes.shape[3] * planes.shape[4];
  return reshape_view(planes, {planes.shape[0], planes.shape[1], Dim(1), Dim(1), places});
}

// y of x, `weights` being those of WindowStep or panels.
void emit(Builder& builder, const Convolution& convolution, const View& y, const View& x,
          bool by_channel, const View& weights, const std::optional<View>& bias) {
  std::vector<View> views = {y, x, weights};
  if (bias) views.push_back(*bias);
  if (by_channel) {
    builder.emit<WindowStep>(std::move(views), builder.cpu(), "depthwise conv", WindowOp::Weights,
                             convolution.windows, std::array<int64_t, kSpatialAxes>{},
                             bias.has_value());
  } else {
    builder.emit<ConvStep>(std::move(views), builder.cpu(), convolution.windows, convolution.groups,
                           bias.has_value());
  }
}

// Whether each channel of x has a few outputs of its own.
bool is_by_channel(const Convolution& convolution, const View& x) {
  constexpr int64_t kFewOutputs = 4;
  return convolution.channels == 1 && convolution.outputs <= kFewOutputs * convolution.groups &&
         convolution.k() > 1 && WindowStep::fits(convolution.windows, x);
}

void conv(Builder& builder, const mil::Operation& operation) {
  const std::vector<int64_t> shape = kernel_shape(builder, operation);
  Convolution convolution;
  convolution.windows = windows_of(builder, operation, {shape.begin() + 2, shape.end()});
  convolution.groups = int_param(builder, operation, "groups");
  convolution.outputs = shape[0];
  convolution.channels = shape[1];
  const View given = builder.floats(operation, "x");
  if (convolution.groups == 1 && is_pointwise(convolution.windows) &&
      is_linear(builder, operation, given)) {
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
    emit(builder, convolution, planes, x, true, w, bias);
  } else {
    const View weights = packed_weights(builder, operation, convolution);
    const std::optional<View> places = list_of_places(x, convolution);
    emit(builder, convolution, places ? *list_of_places(planes, convolution) : planes,
         places ? *places : x, false, weights, bias);
  }
  builder.define_output(operation, y);
}

// A transposed convolution along one axis. Element i of x reaches the places i * s + t * d of a
// result of which `cut` are left out in front; place q * s + r is phase r of window q, to which tap
// t gives its weight times element q - t * d / s where r is the remainder. Phases beside each other
// that look at the same elements are outputs of one convolution.
struct TransposedAxis {
  int64_t stride = 1, dilation = 1, kernel = 1, cut = 0;
  Dim size = 1;  // of the result

  Dim count() const {  // of windows
    return stride == 1 ? size : floor_div(size + Dim(cut + stride - 1), Dim(stride));
  }
};
using TransposedAxes = std::array<TransposedAxis, kSpatialAxes>;

struct Phases {
  int64_t begin = 0, count = 0;
  // By phase the tap that looks at the element so far before its window's, for each of them.
  std::vector<int64_t> shifts;
  int64_t tap(const TransposedAxis& axis, size_t shift, int64_t phase) const {
    return (shifts[shift] * axis.stride + begin + phase) / axis.dilation;
  }
};

std::vector<Phases> phases_of(const TransposedAxis& axis) {
  std::vector<std::vector<int64_t>> shifts(static_cast<size_t>(axis.stride));
  for (int64_t t = 0; t < axis.kernel; ++t) {
    const int64_t place = t * axis.dilation;
    shifts[static_cast<size_t>(place % axis.stride)].push_back(place / axis.stride);
  }
  std::vector<Phases> runs;
  for (size_t r = 0; r < shifts.size(); ++r) {
    if (runs.empty() || runs.back().shifts != shifts[r]) {
      runs.push_back({static_cast<int64_t>(r), 0, shifts[r]});
    }
    ++runs.back().count;
  }
  return runs;
}

TransposedAxes transposed_axes(const Builder& builder, const mil::Operation& operation,
                               const std::vector<int64_t>& kernel) {
  const Windows windows = windows_of(builder, operation, kernel);
  const Shape& shape = builder.info(operation.output()).shape;
  TransposedAxes axes;
  const size_t missing = kSpatialAxes - kernel.size();
  for (size_t i = missing; i < kSpatialAxes; ++i) {
    const WindowAxis& window = windows[i];
    TransposedAxis& axis = axes[i];
    axis.stride = window.stride;
    axis.kernel = static_cast<int64_t>(window.taps.size());
    axis.dilation = axis.kernel > 1 ? window.taps[1] : 1;
    const int64_t total = std::max<int64_t>(0, window.taps.back() + 1 - axis.stride);
    axis.cut = !window.same ? window.pad : window.same_lower ? total - total / 2 : total / 2;
    axis.size = shape[2 + i - missing];
  }
  return axes;
}

// The phases along each axis that one convolution computes.
using PhaseBlock = std::array<Phases, kSpatialAxes>;

int64_t num_phases(const PhaseBlock& block) {
  return block[0].count * block[1].count * block[2].count;
}

// Weights [C, outputs of a group, taps] as [outputs * phases, C / groups, shifts].
std::vector<float> phase_weights(const std::vector<float>& w, const TransposedAxes& axes,
                                 const PhaseBlock& block, const Convolution& convolution) {
  const int64_t phases = num_phases(block), channels = convolution.channels;
  const int64_t each = convolution.outputs / convolution.groups / phases;
  std::vector<float> result;
  result.reserve(static_cast<size_t>(convolution.outputs * convolution.k()));
  for (int64_t output = 0; output < convolution.outputs; ++output) {
    const int64_t group = output / phases / each, o = output / phases % each;
    const int64_t w_phase = output % block[2].count, rest = output % phases / block[2].count;
    const int64_t h_phase = rest % block[1].count, d_phase = rest / block[1].count;
    for (int64_t c = 0; c < channels; ++c) {
      const int64_t row = (group * channels + c) * each + o;
      for (size_t i = 0; i < block[0].shifts.size(); ++i) {
        for (size_t j = 0; j < block[1].shifts.size(); ++j) {
          for (size_t k = 0; k < block[2].shifts.size(); ++k) {
            const int64_t d = row * axes[0].kernel + block[0].tap(axes[0], i, d_phase);
            const int64_t h = d * axes[1].kernel + block[1].tap(axes[1], j, h_phase);
            const int64_t at = h * axes[2].kernel + block[2].tap(axes[2], k, w_phase);
            result.push_back(w[static_cast<size_t>(at)]);
          }
        }
      }
    }
  }
  return result;
}

// The convolution that computes some of the phases.
Convolution phase_convolution(const TransposedAxes& axes, const PhaseBlock& block,
                              const std::vector<int64_t>& shape, int64_t groups) {
  Convolution convolution;
  convolution.groups = groups;
  convolution.channels = shape[0] / groups;
  convolution.outputs = shape[1] * groups * num_phases(block);
  for (size_t i = 0; i < kSpatialAxes; ++i) {
    WindowAxis& axis = convolution.windows[i];
    axis.taps.clear();
    for (const int64_t shift : block[i].shifts) axis.taps.push_back(-shift);
    axis.pad = axes[i].stride == 1 ? -axes[i].cut : 0;  // else the result is cut
  }
  return convolution;
}

// Where the phases [N, outputs, phases..., windows...] of a block lie in `all`, which has the
// phases of each window side by side.
View phase_places(const View& all, const TransposedAxes& axes, const PhaseBlock& block) {
  View places = all;
  for (size_t i = 0; i < kSpatialAxes; ++i) {
    const Dim stride = all.strides[i + 2];
    places.offset = places.offset + Dim(block[i].begin) * stride;
    places.shape.insert(places.shape.begin() + static_cast<std::ptrdiff_t>(2 + i),
                        Dim(block[i].count));
    places.strides.insert(places.strides.begin() + static_cast<std::ptrdiff_t>(2 + i), stride);
    places.shape[3 + 2 * i] = axes[i].count();
    places.strides[3 + 2 * i] = stride * Dim(axes[i].stride);
  }
  return places;
}

class TransposedConv {
 public:
  TransposedConv(Builder& builder, const mil::Operation& operation)
      : builder_(builder),
        operation_(operation),
        shape_(kernel_shape(builder, operation)),
        axes_(transposed_axes(builder, operation, {shape_.begin() + 2, shape_.end()})),
        groups_(int_param(builder, operation, "groups")),
        w_(builder.view(operation, "weight")) {
    for (size_t i = 0; i < kSpatialAxes; ++i) {
      if (axes_[i].stride > kMostPhases) decline();
      runs_[i] = phases_of(axes_[i]);
    }
    if (!is_plain_constant(builder, w_) ||
        runs_[0].size() * runs_[1].size() * runs_[2].size() > kMostBlocks) {
      decline();
    }
  }

  void lower() {
    const View given = builder_.floats(operation_, "x");
    x_ = as_planes(given.strides.back() == Dim(1) ? given : builder_.contiguous(given));
    Shape shape = {x_.shape[0], Dim(shape_[1] * groups_)};
    for (const TransposedAxis& axis : axes_) shape.push_back(axis.count() * Dim(axis.stride));
    View all = builder_.allocate(Storage::F32, shape);
    for (const Phases& d : runs_[0]) {
      for (const Phases& h : runs_[1]) {
        for (const Phases& w : runs_[2]) compute({d, h, w}, all);
      }
    }
    for (size_t i = 0; i < kSpatialAxes; ++i) {
      if (axes_[i].stride > 1) all.offset = all.offset + Dim(axes_[i].cut) * all.strides[i + 2];
      all.shape[i + 2] = axes_[i].size;
    }
    // Without the axes that x does not have.
    const auto missing = static_cast<std::ptrdiff_t>(kPlaneRank - given.rank());
    all.shape.erase(all.shape.begin() + 2, all.shape.begin() + 2 + missing);
    all.strides.erase(all.strides.begin() + 2, all.strides.begin() + 2 + missing);
    builder_.define_output(operation_, all);
  }

 private:
  static constexpr int64_t kMostPhases = 256;
  static constexpr size_t kMostBlocks = 32;

  [[noreturn]] void decline() const {
    fail(ErrorCode::Unsupported, "{}: no kernel for it", builder_.where(operation_));
  }

  // Some phases into their places.
  void compute(const PhaseBlock& block, const View& all) {
    const Convolution convolution = phase_convolution(axes_, block, shape_, groups_);
    const int64_t phases = num_phases(block);
    const bool whole = axes_[0].stride * axes_[1].stride * axes_[2].stride == 1;
    Shape shape = {all.shape[0], Dim(convolution.outputs)};
    for (const TransposedAxis& axis : axes_) shape.push_back(axis.count());
    const View y = whole ? all : builder_.allocate(Storage::F32, shape);
    std::optional<View> bias;
    if (operation_.find_input("bias") != nullptr) {
      View one = builder_.contiguous(builder_.floats(operation_, "bias"));
      one.shape.emplace_back(phases);
      one.strides.emplace_back(0);
      bias = *reshape_view(builder_.contiguous(one), {Dim(convolution.outputs)});
    }
    const bool by_channel = is_by_channel(convolution, x_);
    emit(builder_, convolution, y, x_, by_channel, weights(convolution, block, by_channel), bias);
    if (whole) return;
    const View places = phase_places(all, axes_, block);
    builder_.emit_copy(places, *reshape_view(y, places.shape));
  }

  View weights(const Convolution& convolution, const PhaseBlock& block, bool by_channel) {
    const kernels::ConvKernels& kernels = kernels::choose_conv(builder_.cpu());
    std::string variant =
        fmt::format("{} of {} groups", by_channel ? "rows" : kernels.name, groups_);
    for (size_t i = 0; i < kSpatialAxes; ++i) {
      variant += fmt::format(", {} + {} of {} every {}", block[i].begin, block[i].count,
                             axes_[i].stride, axes_[i].dilation);
    }
    const auto rows = [&] {
      const int64_t taps = axes_[0].kernel * axes_[1].kernel * axes_[2].kernel;
      return phase_weights(weight_floats(builder_, w_, shape_[0] * shape_[1] * taps), axes_, block,
                           convolution);
    };
    if (!by_channel) {
      const int64_t each = convolution.outputs / groups_;
      const int64_t floats = groups_ * kernels::packed_conv_weights(kernels, each, convolution.k());
      return weights_constant(
          builder_, operation_, [&] { return packed(kernels, convolution, rows()); },
          std::max<int64_t>(1, floats), variant);
    }
    const auto make = [&] {
      const std::vector<float> floats = rows();
      std::vector<std::byte> bytes(floats.size() * sizeof(float));
      std::memcpy(bytes.data(), floats.data(), bytes.size());
      return bytes;
    };
    const int64_t floats = convolution.outputs * convolution.k();
    return *reshape_view(weights_constant(builder_, operation_, make, floats, variant),
                         {Dim(convolution.outputs), Dim(convolution.k())});
  }

  Builder& builder_;
  const mil::Operation& operation_;
  std::vector<int64_t> shape_;  // of the weights
  TransposedAxes axes_;
  int64_t groups_;
  View w_, x_;
  std::array<std::vector<Phases>, kSpatialAxes> runs_;
};

void conv_transpose(Builder& builder, const mil::Operation& operation) {
  TransposedConv(builder, operation).lower();
}

}  // namespace

void add_conv_rules(Rules& rules) {
  rules["conv"] = conv;
  rules["conv_transpose"] = conv_transpose;
}

}  // namespace pippin::engine
