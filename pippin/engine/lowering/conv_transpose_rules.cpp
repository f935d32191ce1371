// Transposed convolutions, as convolutions of their phases.
#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/engine/lowering/convolution.h"
#include "pippin/engine/lowering/rules.h"

namespace pippin::engine {
namespace {

using mil::Dim;
using mil::Shape;

// A transposed convolution along one axis. Element i of x contributes to the places i * s + t * d
// of a result whose first `cut` places are omitted; place q * s + r is phase r of window q, to
// which tap t contributes its weight times element q - t * d / s, where r is the remainder.
// Adjacent phases that read the same elements are outputs of one convolution.
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
  // For each phase and each shift, the tap that reads the element at that distance before its
  // window's.
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

// Weights [C, outputs of a group, taps] as [outputs * phases, C / groups, shifts]; with
// `phases_first` as [phases * outputs, ...] of one group.
std::vector<float> phase_weights(const std::vector<float>& w, const TransposedAxes& axes,
                                 const PhaseBlock& block, const Convolution& convolution,
                                 bool phases_first) {
  const int64_t phases = num_phases(block), channels = convolution.channels;
  const int64_t each = convolution.outputs / convolution.groups / phases;
  std::vector<float> result;
  result.reserve(static_cast<size_t>(convolution.outputs * convolution.k()));
  for (int64_t output = 0; output < convolution.outputs; ++output) {
    const int64_t group = output / phases / each;
    const int64_t o = phases_first ? output % each : output / phases % each;
    const int64_t phase = phases_first ? output / each : output % phases;
    const int64_t w_phase = phase % block[2].count, rest = phase / block[2].count;
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
// phases of each window next to each other.
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
    // With groups, the outputs of a phase would not be adjacent.
    places_ = groups_ == 1;
    x_ = as_planes(places_                          ? channels_last(builder_, given)
                   : given.strides.back() == Dim(1) ? given
                                                    : builder_.contiguous(given));
    Shape shape = {x_.shape[0], Dim(shape_[1] * groups_)};
    for (const TransposedAxis& axis : axes_) shape.push_back(axis.count() * Dim(axis.stride));
    View all =
        places_ ? allocate_channels_last(builder_, shape) : builder_.allocate(Storage::F32, shape);
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

  // Computes some phases and stores them in their places.
  void compute(const PhaseBlock& block, const View& all) {
    const Convolution convolution = phase_convolution(axes_, block, shape_, groups_);
    if (places_ && convolution.k() > 0 && has_few_taps(convolution.windows)) {
      return compute_channels_last(convolution, block, all);
    }
    const int64_t phases = num_phases(block);
    const bool whole = !places_ && axes_[0].stride * axes_[1].stride * axes_[2].stride == 1;
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
    const View x = x_.strides.back() == Dim(1) ? x_ : builder_.contiguous(x_);
    const bool by_channel = is_by_channel(builder_, convolution, x);
    emit_convolution(builder_, convolution, y, x, by_channel,
                     weights(convolution, block, by_channel), bias);
    if (whole) return;
    const View places = phase_places(all, axes_, block);
    builder_.emit_copy(places, *reshape_view(y, places.shape));
  }

  // The same with channels last: at each place, all outputs of a phase, then those of the next.
  void compute_channels_last(Convolution convolution, const PhaseBlock& block, const View& all) {
    for (WindowAxis& axis : convolution.windows) {
      const int64_t least = *std::min_element(axis.taps.begin(), axis.taps.end());
      for (int64_t& tap : axis.taps) tap -= least;
      axis.pad -= least;
    }
    const bool whole = axes_[0].stride * axes_[1].stride * axes_[2].stride == 1;
    Shape shape = {all.shape[0], Dim(convolution.outputs)};
    for (const TransposedAxis& axis : axes_) shape.push_back(axis.count());
    const View y = whole ? all : allocate_channels_last(builder_, shape);
    std::vector<View> views = {y, x_, channels_last_weights(convolution, block)};
    const bool has_bias = operation_.find_input("bias") != nullptr;
    if (has_bias) {
      const View one = builder_.contiguous(builder_.floats(operation_, "bias"));
      const View all_phases = broadcast_view(one, {Dim(num_phases(block)), one.shape[0]});
      views.push_back(*reshape_view(builder_.contiguous(all_phases), {Dim(convolution.outputs)}));
    }
    builder_.emit(PlaneNode{ChannelsLastConvNode{convolution.windows, 1, has_bias}, {}},
                  std::move(views));
    if (whole) return;
    const View places = phase_places(all, axes_, block);
    Shape phases_first = places.shape;
    std::rotate(phases_first.begin() + 1, phases_first.begin() + 2, phases_first.begin() + 5);
    builder_.emit_copy(places,
                       transpose_view(*reshape_view(y, phases_first), {0, 4, 1, 2, 3, 5, 6, 7}));
  }

  // The properties of a block that its weights depend on.
  std::string variant_of(const PhaseBlock& block, std::string_view layout) const {
    std::string variant = fmt::format("{} of {} groups", layout, groups_);
    for (size_t i = 0; i < kSpatialAxes; ++i) {
      variant += fmt::format(", {} + {} of {} every {}", block[i].begin, block[i].count,
                             axes_[i].stride, axes_[i].dilation);
    }
    return variant;
  }

  std::vector<float> rows_of(const Convolution& convolution, const PhaseBlock& block,
                             bool phases_first) {
    const int64_t taps = axes_[0].kernel * axes_[1].kernel * axes_[2].kernel;
    return phase_weights(weight_floats(builder_, w_, shape_[0] * shape_[1] * taps), axes_, block,
                         convolution, phases_first);
  }

  View channels_last_weights(const Convolution& convolution, const PhaseBlock& block) {
    const ConvPanels panels = panels_of(builder_, ConvPanels::Form::ChannelsLast, convolution);
    return weights_constant(
        builder_, operation_, [&] { return panels.pack(rows_of(convolution, block, true)); },
        panels.floats(), variant_of(block, fmt::format("{} places", panels.kernel())));
  }

  View weights(const Convolution& convolution, const PhaseBlock& block, bool by_channel) {
    const auto rows = [&] { return rows_of(convolution, block, false); };
    if (!by_channel) {
      const ConvPanels panels = panels_of(builder_, ConvPanels::Form::Rows, convolution);
      return weights_constant(
          builder_, operation_, [&] { return panels.pack(rows()); }, panels.floats(),
          variant_of(block, panels.kernel()));
    }
    const auto make = [&] {
      const std::vector<float> floats = rows();
      std::vector<std::byte> bytes(floats.size() * sizeof(float));
      std::memcpy(bytes.data(), floats.data(), bytes.size());
      return bytes;
    };
    const int64_t floats = convolution.outputs * convolution.k();
    return *reshape_view(
        weights_constant(builder_, operation_, make, floats, variant_of(block, "rows")),
        {Dim(convolution.outputs), Dim(convolution.k())});
  }

  Builder& builder_;
  const mil::Operation& operation_;
  std::vector<int64_t> shape_;  // of the weights
  TransposedAxes axes_;
  int64_t groups_;
  bool places_ = false;  // channels last
  View w_, x_;
  std::array<std::vector<Phases>, kSpatialAxes> runs_;
};

void conv_transpose(Builder& builder, const mil::Operation& operation) {
  TransposedConv(builder, operation).lower();
}

}  // namespace

void add_conv_transpose_rules(Rules& rules) {
  rules["conv_transpose"] = conv_transpose;
}

}  // namespace pippin::engine
