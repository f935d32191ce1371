#include "pippin/mx/ops/conv.h"

#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/engine/cpu/launch.h"
#include "pippin/engine/weights/conv_panels.h"
#include "pippin/mx/core/copy.h"
#include "pippin/mx/core/eval.h"
#include "pippin/mx/core/primitive.h"
#include "pippin/mx/ops/operand.h"
#include "pippin/mx/ops/shape_ops.h"
#include "pippin/mx/ops/unary.h"
#include "pippin/mx/record/recorder.h"

namespace pippin::mx {
namespace {

// One spatial axis.
struct ConvAxis {
  int64_t input, kernel, output, stride, padding, kernel_step, input_step;
  bool operator==(const ConvAxis&) const = default;
};

using engine::kSpatialAxes;
using engine::Operand;

// [N, places.., C] as the engine sees it, [N, C, D, H, W] with channels last.
Operand planes_of(const Node& node) {
  const size_t rank = node.shape.size() - 2, first = 2 + kSpatialAxes - rank;
  Shape shape(2 + kSpatialAxes, 1);
  Strides strides(2 + kSpatialAxes, node.strides[0]);  // without gaps where the node has none
  shape[0] = node.shape[0], strides[0] = node.strides[0];
  shape[1] = node.shape.back(), strides[1] = node.strides.back();
  for (size_t i = 0; i < rank; ++i) {
    shape[first + i] = node.shape[i + 1];
    strides[first + i] = node.strides[i + 1];
  }
  return operand_of(node, shape, strides);
}

class Convolution final : public PrimitiveWith<Convolution> {
 public:
  Convolution(std::vector<ConvAxis> axes, int groups, bool flip)
      : axes_(std::move(axes)), groups_(groups), flip_(flip) {}
  std::string_view name() const noexcept override { return "conv"; }

  void eval(Node& out) const override {
    const Ref<Node> x = spread(row_major_as(out.inputs[0], float32));
    const Ref<Node> w = row_major_as(out.inputs[1], float32);
    if (out.size == 0) return out.allocate();
    compute_as(out, float32, [&](Node& y) { convolve(y, *x, *w); });
  }
  void record(Recorder& recorder, const Node& out) const override {
    std::vector<int64_t> to_first, to_last, strides, widths, dilations;
    const auto rank = static_cast<int64_t>(axes_.size());
    to_first = {0, rank + 1};
    to_last = {0};
    for (int64_t i = 0; i < rank; ++i) {
      const ConvAxis& axis = axes_[static_cast<size_t>(i)];
      if (axis.input_step != 1 || flip_ || axis.padding < 0) refuse_record(name(), "so ");
      to_first.push_back(i + 1);
      to_last.push_back(i + 2);
      strides.push_back(axis.stride);
      dilations.push_back(axis.kernel_step);
      // Elements after the last position needed do not create more output positions.
      const auto behind = [i](const Node& node) {
        const ConvAxis& own = axis_of(node, i);
        const int64_t reach = (own.kernel - 1) * own.kernel_step + 1;
        return (own.output - 1) * own.stride + reach - own.padding - own.input;
      };
      int64_t most = 0;
      const bool is_same = recorder.always(out, [&](const Node& node) {
        most = std::max(most, behind(node));
        const ConvAxis& own = axis_of(node, i);
        return own.kernel == axis.kernel && own.stride == axis.stride &&
               own.padding == axis.padding && own.kernel_step == axis.kernel_step;
      });
      if (!is_same || !recorder.always(out, [&](const Node& node) {
            return most < behind(node) + axis.stride;
          })) {
        refuse_record(name(), "with paddings that depend on sizes ");
      }
      widths.push_back(axis.padding);
      widths.push_back(most);
    }
    to_last.push_back(1);
    const auto y = Recorder::one(
        "conv", {{"x", pippin::array::transpose(recorder.input(out, 0), to_first)},
                 {"weight", pippin::array::transpose(recorder.input(out, 1), to_first)},
                 {"strides", strides},
                 {"pad_type", "custom"},
                 {"pad", widths},
                 {"dilations", dilations},
                 {"groups", groups_}});
    recorder.define(out, pippin::array::transpose(y, to_last));
  }
  auto members() const { return std::tie(axes_, groups_, flip_); }
  bool records_numbers() const override { return true; }

 private:
  static const ConvAxis& axis_of(const Node& node, int64_t i) {
    return static_cast<const Convolution&>(*node.primitive).axes_[static_cast<size_t>(i)];
  }
  engine::Windows windows_of() const {
    engine::Windows windows;
    for (size_t i = 0; i < axes_.size(); ++i) {
      engine::WindowAxis& axis = windows[kSpatialAxes - axes_.size() + i];
      axis.stride = axes_[i].stride;
      axis.pad = axes_[i].padding;
      axis.taps.clear();
      for (int64_t k = 0; k < axes_[i].kernel; ++k) axis.taps.push_back(k * axes_[i].kernel_step);
    }
    return windows;
  }

  void convolve(Node& y, const Node& x, const Node& w) const {
    const engine::Windows windows = windows_of();
    const int64_t channels = w.shape.back(), outputs = y.shape.back();
    if (x.size == 0 || w.size == 0) {
      std::fill_n(reinterpret_cast<float*>(y.data), y.size, 0.0F);
    } else if (groups_ > 1 && channels == 1 && outputs == groups_ && has_few_taps(windows)) {
      const std::vector<float> taps = weights(w, /*taps_first=*/true);
      const Operand operands[] = {
          planes_of(y), planes_of(x),
          operand_of_floats(taps.data(), {static_cast<int64_t>(taps.size())}, {1})};
      engine::launch(engine::PlaneNode{engine::ChannelsLastWindowNode{
                                           "conv", engine::WindowOp::Weights, windows, {}, false},
                                       {}},
                     operands, 1, pool());
    } else {
      multiply(y, x, w, windows);
    }
  }

  // x with zeros between its places where the input is dilated.
  Ref<Node> spread(const Ref<Node>& x) const {
    if (std::all_of(axes_.begin(), axes_.end(),
                    [](const ConvAxis& axis) { return axis.input_step == 1; })) {
      return x;
    }
    Shape shape = x->shape;
    for (size_t i = 0; i < axes_.size(); ++i) {
      shape[i + 1] = std::max<int64_t>(0, (axes_[i].input - 1) * axes_[i].input_step + 1);
    }
    Ref<Node> wide(new Node(float32, shape));
    wide->allocate();
    std::fill_n(wide->data, wide->bytes(), std::byte{0});
    Strides strides = wide->strides;
    for (size_t i = 0; i < axes_.size(); ++i) strides[i + 1] *= axes_[i].input_step;
    copy(x->shape, {x->data, float32, &x->strides}, {wide->data, float32, &strides});
    return wide;
  }

  // Weights [outputs, taps, channels] as [outputs, channels, taps], or with the taps first; a
  // flipped kernel begins with its last tap.
  std::vector<float> weights(const Node& w, bool taps_first) const {
    const int64_t outputs = w.shape[0], channels = w.shape.back();
    const int64_t taps = w.size / (outputs * channels);
    const auto* from = reinterpret_cast<const float*>(w.data);
    std::vector<float> result(static_cast<size_t>(w.size));
    for (int64_t o = 0; o < outputs; ++o) {
      for (int64_t t = 0; t < taps; ++t) {
        const int64_t tap = flip_ ? taps - 1 - t : t;
        for (int64_t c = 0; c < channels; ++c) {
          const int64_t row = o * channels + c;
          const int64_t to = taps_first ? t * outputs * channels + row : row * taps + t;
          result[static_cast<size_t>(to)] = from[(o * taps + tap) * channels + c];
        }
      }
    }
    return result;
  }

  // Products of panels, with channels last; by planes where windows have too many taps for that.
  void multiply(Node& y, const Node& x, const Node& w, const engine::Windows& windows) const {
    using Form = engine::ConvPanels::Form;
    const bool is_few = has_few_taps(windows);
    const engine::ConvPanels form(is_few ? Form::ChannelsLast : Form::Rows, groups_, w.shape[0],
                                  w.shape.back(), num_taps(windows), cpu_features());
    const std::vector<std::byte> panels = form.pack(weights(w, /*taps_first=*/false));
    Operand operands[] = {
        planes_of(y), planes_of(x),
        operand_of_floats(reinterpret_cast<const float*>(panels.data()),
                          {static_cast<int64_t>(panels.size() / sizeof(float))}, {1})};
    if (is_few) {
      engine::launch(engine::PlaneNode{engine::ChannelsLastConvNode{windows, groups_, false}, {}},
                     operands, 1, pool());
      return;
    }
    Node planes(float32, Shape(operands[0].shape, operands[0].shape + operands[0].rank));
    planes.allocate();
    const Strides strides(operands[0].strides, operands[0].strides + operands[0].rank);
    operands[0] = operand_of(planes);
    engine::launch(
        engine::PlaneNode{
            engine::ConvNode{engine::ConvNode::Operands::Floats, windows, groups_, false}, {}},
        operands, 1, pool());
    copy(planes.shape, {planes.data, float32, &planes.strides}, {y.data, float32, &strides});
  }

  std::vector<ConvAxis> axes_;
  int64_t groups_;
  bool flip_;
};

int64_t number(const std::vector<int>& numbers, size_t axis, size_t rank, const char* what,
               int64_t least, int64_t otherwise) {
  if (numbers.empty()) return otherwise;
  if (numbers.size() != rank && numbers.size() != 1) {
    fail(ErrorCode::InvalidArgument, "[conv] {} numbers of {} for {} spatial axes.", numbers.size(),
         what, rank);
  }
  const int64_t value = numbers[numbers.size() == 1 ? 0 : axis];
  if (value < least) fail(ErrorCode::InvalidArgument, "[conv] A {} of {}.", what, value);
  return value;
}

void check_shapes(const array& x, const array& w, int groups) {
  const bool fits = x.ndim() >= 3 && x.ndim() <= 5 && w.ndim() == x.ndim() && groups > 0 &&
                    x.shape(-1) == w.shape(-1) * groups && w.shape(0) % groups == 0;
  if (fits) return;
  fail(ErrorCode::InvalidArgument,
       "[conv] An input of shape {} and weights of shape {} in {} groups do not go together.",
       to_string(x.shape()), to_string(w.shape()), groups);
}

}  // namespace

array conv_general(const array& input, const array& weight, const ConvOptions& options) {
  check_shapes(input, weight, options.groups);
  const Dtype dtype = at_least_float(promote_types(input.dtype(), weight.dtype()));
  const size_t rank = input.ndim() - 2;
  const std::vector<int>& high =
      options.padding_high.empty() ? options.padding_low : options.padding_high;
  std::vector<ConvAxis> axes;
  Shape shape{input.shape(0)};
  for (size_t i = 0; i < rank; ++i) {
    ConvAxis axis{};
    axis.input = input.shape()[i + 1];
    axis.kernel = weight.shape()[i + 1];
    axis.stride = number(options.stride, i, rank, "stride", 1, 1);
    axis.kernel_step = number(options.kernel_dilation, i, rank, "kernel dilation", 1, 1);
    axis.input_step = number(options.input_dilation, i, rank, "input dilation", 1, 1);
    constexpr int64_t kAny = -(int64_t{1} << 31);  // negative values are cut off
    axis.padding = number(options.padding_low, i, rank, "padding", kAny, 0);
    const int64_t behind = number(high, i, rank, "padding", kAny, 0);
    const int64_t wide = axis.input == 0 ? 0 : (axis.input - 1) * axis.input_step + 1;
    const int64_t reach = (axis.kernel - 1) * axis.kernel_step + 1;
    const int64_t room = wide + axis.padding + behind - reach;
    if (room < 0 || axis.kernel < 1) {
      fail(ErrorCode::InvalidArgument,
           "[conv] A kernel that reaches over {} places does not fit into {} with paddings {} and "
           "{}.",
           reach, wide, axis.padding, behind);
    }
    axis.output = room / axis.stride + 1;
    shape.push_back(axis.output);
    axes.push_back(axis);
  }
  shape.push_back(weight.shape(0));
  const array x = astype(input, dtype), w = astype(weight, dtype);
  return make(new_primitive<Convolution>(std::move(axes), options.groups, options.flip), dtype,
              std::move(shape), {&x, &w});
}

array conv(const array& input, const array& weight, const std::vector<int>& stride,
           const std::vector<int>& padding, const std::vector<int>& dilation, int groups) {
  ConvOptions options;
  options.stride = stride;
  options.padding_low = padding;
  options.kernel_dilation = dilation;
  options.groups = groups;
  return conv_general(input, weight, options);
}

array conv_transpose(const array& input, const array& weight, const std::vector<int>& stride,
                     const std::vector<int>& padding, const std::vector<int>& dilation,
                     const std::vector<int>& output_padding, int groups) {
  check_shapes(input, weight, groups);
  const size_t rank = input.ndim() - 2;
  ConvOptions options;
  options.groups = groups;
  options.flip = true;
  for (size_t i = 0; i < rank; ++i) {
    const int64_t step = number(stride, i, rank, "stride", 1, 1);
    const int64_t spread = number(dilation, i, rank, "dilation", 1, 1);
    const int64_t reach = spread * (weight.shape()[i + 1] - 1);
    const int64_t low = reach - number(padding, i, rank, "padding", 0, 0);
    const int64_t more = number(output_padding, i, rank, "output padding", 0, 0);
    options.input_dilation.push_back(static_cast<int>(step));
    options.kernel_dilation.push_back(static_cast<int>(spread));
    options.padding_low.push_back(static_cast<int>(low));
    options.padding_high.push_back(static_cast<int>(low + more));
  }
  return conv_general(input, weight, options);
}

array convolve(const array& a, const array& v, const std::string& mode) {
  if (a.ndim() != 1 || v.ndim() != 1 || a.size() == 0 || v.size() == 0) {
    fail(ErrorCode::InvalidArgument, "[convolve] Two vectors with elements are needed, not {}, {}.",
         to_string(a.shape()), to_string(v.shape()));
  }
  const array& longer = a.size() >= v.size() ? a : v;
  const array& shorter = a.size() >= v.size() ? v : a;
  const auto reach = static_cast<int>(shorter.size()) - 1;
  ConvOptions options;
  options.flip = true;
  if (mode == "full") {
    options.padding_low = {reach};
  } else if (mode == "same") {  // the middle of the full result, with the size of the longer vector
    options.padding_low = {reach - reach / 2};
    options.padding_high = {reach / 2};
  } else if (mode != "valid") {
    fail(ErrorCode::InvalidArgument,
         "[convolve] The mode is \"full\", \"same\" or \"valid\", not \"{}\".", mode);
  }
  const array y = conv_general(reshape(longer, {1, longer.size(), 1}),
                               reshape(shorter, {1, shorter.size(), 1}), options);
  return reshape(y, {y.size()});
}

}  // namespace pippin::mx
