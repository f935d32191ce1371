#include "pippin/mx/ops/conv.h"

#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/kernels/dot/dot.h"
#include "pippin/mx/core/convert.h"
#include "pippin/mx/core/copy.h"
#include "pippin/mx/core/eval.h"
#include "pippin/mx/core/primitive.h"
#include "pippin/mx/ops/shape_ops.h"
#include "pippin/mx/ops/unary.h"
#include "pippin/mx/record/recorder.h"

namespace pippin::mx {
namespace {

// One spatial axis.
struct ConvAxis {
  int64_t input, kernel, output, stride, padding, kernel_step, input_step;
  bool operator==(const ConvAxis&) const = default;

  // The input position for kernel position k and output position o; -1: none, a zero.
  int64_t place(int64_t o, int64_t k) const {
    const int64_t at = o * stride - padding + k * kernel_step;
    if (at < 0 || at % input_step != 0 || at / input_step >= input) return -1;
    return at / input_step;
  }
};

// The inputs of each output position, laid out as a row, times the weights in place:
//   y[place, o] = row(place)[kernel places, channels] · W[o, kernel places, channels]ᵀ
class Convolution final : public Primitive {
 public:
  Convolution(std::vector<ConvAxis> axes, int groups, bool flip)
      : axes_(std::move(axes)), groups_(groups), flip_(flip) {}
  std::string_view name() const noexcept override { return "conv"; }

  void eval(Node& out) const override {
    const Ref<Node> x = row_major_as(out.inputs[0], float32);
    const Ref<Node> w = row_major_as(out.inputs[1], float32);
    out.allocate();
    if (out.size == 0) return;
    static const auto& kernel = kernels::choose_dot(kernels::WeightType::F32, cpu_features());
    const int64_t channels = x->shape.back() / groups_, outputs = out.shape.back();
    const int64_t own = outputs / groups_;  // per group
    int64_t kernel_places = 1, output_places = 1, input_places = 1;
    for (const ConvAxis& axis : axes_) {
      kernel_places *= axis.kernel;
      output_places *= axis.output;
      input_places *= axis.input;
    }
    const int64_t length = kernel_places * channels;
    const int64_t places = out.shape[0] * output_places;
    const int64_t most =
        std::clamp<int64_t>((int64_t{1} << 16) / std::max<int64_t>(1, length), 8, 128);
    const auto item = static_cast<int64_t>(size_of(out.dtype));
    const int64_t pieces = (places + most - 1) / most;
    parallel(pieces, places * length * own, [&](int64_t begin, int64_t end) {
      std::vector<float> rows(static_cast<size_t>(most * length));
      std::vector<float> y(static_cast<size_t>(most * outputs));
      for (int64_t piece = begin; piece < end; ++piece) {
        const int64_t first = piece * most, count = std::min(most, places - first);
        for (int64_t g = 0; g < groups_; ++g) {
          for (int64_t i = 0; i < count; ++i) {
            const int64_t batch = (first + i) / output_places;
            const float* image = reinterpret_cast<const float*>(x->data) +
                                 batch * input_places * x->shape.back() + g * channels;
            fill_row(image, x->shape.back(), channels, (first + i) % output_places, kernel_places,
                     rows.data() + i * length);
          }
          kernel.function({rows.data(), length,
                           reinterpret_cast<const float*>(w->data) + g * own * length, length,
                           nullptr, y.data() + g * own, outputs, count, own, length});
        }
        convert(reinterpret_cast<const std::byte*>(y.data()), float32, 1,
                out.data + first * outputs * item, out.dtype, 1, count * outputs);
      }
    });
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
  bool same_as(const Primitive& other) const override {
    return equal_members(*this, other,
                         [](const auto& p) { return std::tie(p.axes_, p.groups_, p.flip_); });
  }
  bool records_numbers() const override { return true; }

 private:
  static const ConvAxis& axis_of(const Node& node, int64_t i) {
    return static_cast<const Convolution&>(*node.primitive).axes_[static_cast<size_t>(i)];
  }
  void fill_row(const float* image, int64_t pixel, int64_t channels, int64_t output_place,
                int64_t kernel_places, float* row) const {
    const size_t rank = axes_.size();
    int64_t at[3] = {};
    for (size_t axis = rank; axis-- > 0;) {
      at[axis] = output_place % axes_[axis].output;
      output_place /= axes_[axis].output;
    }
    for (int64_t k = 0; k < kernel_places; ++k) {
      // A flipped kernel starts with its last position.
      int64_t rest = flip_ ? kernel_places - 1 - k : k;
      int64_t step = 1, place = 0;
      bool is_inside = true;
      for (size_t axis = rank; axis-- > 0;) {
        const int64_t in = axes_[axis].place(at[axis], rest % axes_[axis].kernel);
        rest /= axes_[axis].kernel;
        is_inside = is_inside && in >= 0;
        place += in * step;
        step *= axes_[axis].input;
      }
      float* to = row + k * channels;
      if (is_inside) {
        std::copy(image + place * pixel, image + place * pixel + channels, to);
      } else {
        std::fill(to, to + channels, 0.0f);
      }
    }
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
