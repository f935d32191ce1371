// Convolutions: one product of the weights with tiles of unfolded input (im2col).
#include <algorithm>
#include <cstring>

#include "pippin/base/error.h"
#include "pippin/engine/lowering/rules.h"
#include "pippin/kernels/dot/dot.h"

namespace pippin::engine {
namespace {

using mil::Dim;
using mil::Shape;

constexpr int64_t kMaxSpatial = 3;
constexpr int64_t kTile = 64;  // places of the output that are unfolded at once

struct Geometry {
  int axes = 0;
  int64_t kernel[kMaxSpatial], strides[kMaxSpatial], dilations[kMaxSpatial];
  int64_t pad_begin[kMaxSpatial] = {};
  bool same = false, same_lower = false;  // the padding follows from the sizes
  int64_t groups = 1;

  int64_t taps() const {
    int64_t count = 1;
    for (int i = 0; i < axes; ++i) count *= kernel[i];
    return count;
  }
};

// views: y [N, O, places...], x [N, C, places...], w [O, C / groups * taps], bias [O] or absent;
// all contiguous fp32.
class ConvStep : public Step {
 public:
  ConvStep(const CpuFeatures& cpu, const Geometry& geometry)
      : kernel_(kernels::choose_dot(kernels::WeightType::F32, cpu)), geometry_(geometry) {}

  std::string name() const override { return std::string("conv (") + kernel_.name + ")"; }
  int64_t scratch_bytes() const override {
    return kTile * views[2].shape[1].upper() * static_cast<int64_t>(sizeof(float));
  }
  int64_t weight_bytes() const override {
    return mil::num_elements(views[2].shape).upper() * static_cast<int64_t>(sizeof(float));
  }

  void run(const StepContext& context) const noexcept override {
    const Operand& y = context.operands[0];
    const Operand& x = context.operands[1];
    int64_t places = 1, pads[kMaxSpatial];
    for (int i = 0; i < geometry_.axes; ++i) {
      places *= y.shape[i + 2];
      pads[i] = pad_before(i, x.shape[i + 2], y.shape[i + 2]);
    }
    if (y.size() == 0) return;
    const int64_t tiles = (places + kTile - 1) / kTile;
    const int64_t jobs = y.shape[0] * geometry_.groups * tiles;
    const int64_t row = context.operands[2].shape[1];
    // Scratch is rounded up to whole cache lines, as the plan lays it out for each thread.
    const int64_t scratch = (scratch_bytes() + 63) / 64 * 64;
    context.pool.run([&](int part, int parts) {
      float* columns = reinterpret_cast<float*>(context.scratch + part * scratch);
      const Range share = split_range(jobs, part, parts);
      for (int64_t job = share.begin; job < share.end; ++job) {
        const int64_t tile = job % tiles, group = job / tiles % geometry_.groups;
        const int64_t batch = job / tiles / geometry_.groups;
        const int64_t first = tile * kTile, count = std::min(kTile, places - first);
        unfold(x, y, pads, batch, group, first, count, row, columns);
        multiply(context, batch, group, first, count, row, columns);
      }
    });
  }

 private:
  int64_t pad_before(int axis, int64_t in, int64_t out) const {
    if (!geometry_.same) return geometry_.pad_begin[axis];
    const int64_t extent = (geometry_.kernel[axis] - 1) * geometry_.dilations[axis] + 1;
    const int64_t total = std::max<int64_t>(0, (out - 1) * geometry_.strides[axis] + extent - in);
    return geometry_.same_lower ? total - total / 2 : total / 2;
  }

  // Row p of `columns`: the elements of x under the kernel at place first + p, channel by channel.
  void unfold(const Operand& x, const Operand& y, const int64_t* pads, int64_t batch, int64_t group,
              int64_t first, int64_t count, int64_t row, float* columns) const {
    const int axes = geometry_.axes;
    const int64_t taps = geometry_.taps(), channels = row / taps;
    const float* base = x.floats() + batch * x.strides[0] + group * channels * x.strides[1];
    std::fill_n(columns, count * row, 0.0F);
    for (int64_t p = 0; p < count; ++p) {
      int64_t start[kMaxSpatial] = {}, place = first + p;
      for (int i = axes; i-- > 0;) {
        start[i] = place % y.shape[i + 2] * geometry_.strides[i] - pads[i];
        place /= y.shape[i + 2];
      }
      int64_t index[kMaxSpatial] = {};
      for (int64_t tap = 0; tap < taps; ++tap) {
        int64_t offset = 0;
        bool inside = true;
        for (int i = 0; i < axes; ++i) {
          const int64_t at = start[i] + index[i] * geometry_.dilations[i];
          inside = inside && at >= 0 && at < x.shape[i + 2];
          offset += at * x.strides[i + 2];
        }
        if (inside) {
          for (int64_t c = 0; c < channels; ++c) {
            columns[p * row + c * taps + tap] = base[c * x.strides[1] + offset];
          }
        }
        for (int i = axes; i-- > 0 && ++index[i] == geometry_.kernel[i];) index[i] = 0;
      }
    }
  }

  void multiply(const StepContext& context, int64_t batch, int64_t group, int64_t first,
                int64_t count, int64_t row, const float* columns) const {
    const Operand& y = context.operands[0];
    const Operand& w = context.operands[2];
    const int64_t outputs = w.shape[0] / geometry_.groups;
    kernels::DotArgs args{};
    args.x = w.floats() + group * outputs * row;
    args.x_stride = row;
    args.w = columns;
    args.w_stride = row;
    args.y = y.floats() + batch * y.strides[0] + group * outputs * y.strides[1] + first;
    args.y_stride = y.strides[1];
    args.m = outputs;
    args.n = count;
    args.k = row;
    kernel_.function(args);
    if (context.operands.size() < 4) return;
    const float* bias = context.operands[3].floats() + group * outputs;
    for (int64_t o = 0; o < outputs; ++o) {
      for (int64_t p = 0; p < count; ++p) args.y[o * args.y_stride + p] += bias[o];
    }
  }

  const kernels::DotKernel& kernel_;
  Geometry geometry_;
};

Geometry geometry_of(const Builder& builder, const mil::Operation& operation) {
  const Shape shape = builder.shape(operation, "weight");
  Geometry geometry;
  geometry.axes = static_cast<int>(shape.size()) - 2;
  const auto count = static_cast<size_t>(geometry.axes);
  const auto kernel = mil::constant_shape(shape);
  if (!kernel || geometry.axes < 1 || geometry.axes > kMaxSpatial) {
    fail(ErrorCode::Unsupported, "{}: a kernel of shape {}", builder.where(operation),
         mil::to_string(shape));
  }
  const std::vector<int64_t> ones(count, 1);
  const auto strides = ints_param(builder, operation, "strides", ones);
  const auto dilations = ints_param(builder, operation, "dilations", ones);
  const std::string type = string_param(builder, operation, "pad_type");
  std::vector<int64_t> pad(2 * count, 0);
  if (type == "custom") pad = ints_param(builder, operation, "pad", pad);
  for (size_t i = 0; i < count; ++i) {
    geometry.kernel[i] = (*kernel)[i + 2];
    geometry.strides[i] = strides.at(i);
    geometry.dilations[i] = dilations.at(i);
    geometry.pad_begin[i] = pad.at(2 * i);
  }
  geometry.same = type == "same" || type == "same_lower";
  geometry.same_lower = type == "same_lower";
  geometry.groups = int_param(builder, operation, "groups");
  return geometry;
}

bool is_pointwise(const Geometry& geometry, const mil::Operation& operation) {
  if (geometry.groups != 1) return false;
  for (int i = 0; i < geometry.axes; ++i) {
    if (geometry.kernel[i] != 1 || geometry.strides[i] != 1) return false;
  }
  // Padding around a kernel of one element adds places that hold the bias alone.
  const mil::Value* pad = operation.constant_input("pad");
  if (geometry.same || pad == nullptr) return true;
  const auto numbers = pad->to_ints();
  return std::all_of(numbers.begin(), numbers.end(), [](int64_t n) { return n == 0; });
}

void conv(Builder& builder, const mil::Operation& operation) {
  const Geometry geometry = geometry_of(builder, operation);
  if (is_pointwise(geometry, operation)) {
    lower_pointwise_conv(builder, operation);
    return;
  }
  const View x = builder.contiguous(builder.floats(operation, "x"));
  const View w = builder.contiguous(builder.floats(operation, "weight"));
  const Dim row = w.shape[1] * Dim(geometry.taps());
  const View y = builder.allocate(Storage::F32, builder.info(operation.output()).shape);
  std::vector<View> views = {y, x, *reshape_view(w, {w.shape[0], row})};
  if (operation.find_input("bias") != nullptr) {
    views.push_back(builder.contiguous(builder.floats(operation, "bias")));
  }
  builder.emit<ConvStep>(std::move(views), builder.cpu(), geometry);
  builder.define_output(operation, y);
}

}  // namespace

void add_conv_rules(Rules& rules) {
  rules["conv"] = conv;
}

}  // namespace pippin::engine
