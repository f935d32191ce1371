#include <cmath>
#include <memory>

#include "pippin/base/error.h"
#include "pippin/engine/cpu/launch.h"
#include "pippin/mx/core/float_rows.h"
#include "pippin/mx/core/primitive.h"
#include "pippin/mx/ops/fast.h"
#include "pippin/mx/ops/operand.h"
#include "pippin/mx/ops/unary.h"
#include "pippin/mx/record/recorder.h"

namespace pippin::mx::fast {
namespace {

// The inputs of the angles.
struct AngleKey {
  int pairs;
  float base;
  std::vector<float> periods;  // one per pair, instead of the base's; or empty
  std::vector<int64_t> offsets;
  int64_t length;
  float scale;
  friend bool operator==(const AngleKey&, const AngleKey&) = default;
};

// Radians per position, for each pair.
std::vector<float> rates_of(const AngleKey& key) {
  std::vector<float> result;
  for (const float period : key.periods) result.push_back(1 / period);
  for (int i = 0; result.size() < static_cast<size_t>(key.pairs); ++i) {
    const float power = static_cast<float>(-i) / static_cast<float>(key.pairs);
    result.push_back(std::exp(power * std::log(key.base)));
  }
  return result;
}

// cos and sin [offsets, length, pairs]. All layers of a model request the same ones in turn, so the
// latest are cached. Used only by evaluations, one of which runs at a time, also during process
// exit: never destroyed.
struct Angles {
  AngleKey key;
  std::vector<float> cos, sin;
};
std::shared_ptr<const Angles> angles_of(AngleKey key) {
  static auto& last = *new std::shared_ptr<const Angles>();
  if (last && last->key == key) return last;
  auto made = std::make_shared<Angles>();
  const std::vector<float> rates = rates_of(key);
  for (const int64_t offset : key.offsets) {
    for (int64_t t = 0; t < key.length; ++t) {
      const float position = static_cast<float>(offset + t) * key.scale;
      for (const float rate : rates) {
        const auto angle = static_cast<double>(position * rate);
        made->cos.push_back(static_cast<float>(std::cos(angle)));
        made->sin.push_back(static_cast<float>(std::sin(angle)));
      }
    }
  }
  made->key = std::move(key);
  last = made;
  return made;
}

// Inputs: x, offset[, freqs].
class Rope final : public PrimitiveWith<Rope> {
 public:
  Rope(int dims, bool traditional, float base, float scale)
      : dims_(dims), traditional_(traditional), base_(base), scale_(scale) {}
  std::string_view name() const noexcept override { return "rope"; }
  void eval(Node& out) const override {
    if (out.size == 0) return out.allocate();
    const std::shared_ptr<const Angles> angles = angles_of(key(out));
    const Ref<Node>& given = out.inputs[0];
    const size_t rank = out.shape.size();
    const bool is_direct = given->dtype == float32 && given->strides[rank - 1] == 1 && rank <= 4;
    const Ref<Node> x = is_direct ? given : row_major_as(given, float32);
    compute_as(out, float32, [&](Node& y) { rotate(y, *x, *angles, out.inputs[1]->size > 1); });
  }
  void record(Recorder& recorder, const Node& out) const override {
    const Recorder::Value& x = recorder.input(out, 0);
    const mil::Shape& shape = x.shape();
    const auto [cos, sin] = recorded_angles(recorder, out, shape);
    const int64_t half = dims_ / 2, last = x.rank() - 1;
    const auto part = [&](const Recorder::Value& of, int64_t axis, int64_t begin, int64_t end) {
      return pippin::array::slice_axis(of, axis, begin, end);
    };
    mil::Shape pairs = shape;
    pairs.back() = half;
    Recorder::Value first = part(x, last, 0, half), second = part(x, last, half, dims_);
    if (traditional_) {
      mil::Shape both = pairs;
      both.emplace_back(2);
      const auto turned = recorder.reshaped(part(x, last, 0, dims_), both);
      first = recorder.reshaped(part(turned, last + 1, 0, 1), pairs);
      second = recorder.reshaped(part(turned, last + 1, 1, 2), pairs);
    }
    using pippin::array::multiply;
    const auto left = pippin::array::subtract(multiply(first, cos), multiply(second, sin));
    const auto right = pippin::array::add(multiply(first, sin), multiply(second, cos));
    Recorder::Value result = left;
    if (traditional_) {
      mil::Shape single = pairs, whole = pairs;
      single.emplace_back(1);
      whole.back() = dims_;
      const auto both = pippin::array::concat(
          {recorder.reshaped(left, single), recorder.reshaped(right, single)}, last + 1);
      result = recorder.reshaped(both, whole);
    } else {
      result = pippin::array::concat({left, right}, last);
    }
    if (dims_ < out.shape.back()) {
      result = pippin::array::concat({result, part(x, last, dims_, out.shape.back())}, last);
    }
    recorder.define(out, result);
  }
  auto members() const { return std::tie(dims_, traditional_, base_, scale_); }

 private:
  // y is x of at most 4 axes or without gaps, rotated.
  void rotate(Node& y, const Node& x, const Angles& angles, bool has_batches) const {
    const size_t rank = y.shape.size();
    const int64_t batches = y.shape[0], length = y.shape[rank - 2], size = y.shape[rank - 1];
    const int64_t pairs = dims_ / 2, heads = y.size / (batches * length * size);
    const Shape shape{batches, heads, length, dims_}, half{batches, heads, length, pairs};
    const auto strides_of = [&](const Node& node) {
      const Strides& s = node.strides;
      return Strides{s[0], rank == 3 ? 0 : s[rank - 3], s[rank - 2], 1};
    };
    const Strides from = strides_of(x), to = strides_of(y);
    const Strides turns{has_batches ? length * pairs : 0, 0, pairs, 1};
    const engine::Operand operands[] = {operand_of(y, shape, to), operand_of(x, shape, from),
                                        operand_of_floats(angles.cos.data(), half, turns),
                                        operand_of_floats(angles.sin.data(), half, turns)};
    engine::launch(engine::RotaryNode{traditional_}, operands, pool());
    if (dims_ == size) return;
    const auto rest_of = [&](const Node& node) {
      return node.data + dims_ * static_cast<int64_t>(sizeof(float));
    };
    copy({batches, heads, length, size - dims_}, {rest_of(x), float32, &from},
         {rest_of(y), float32, &to});
  }

  struct RecordedAngles {
    Recorder::Value cos, sin;
  };
  // For x of this shape: tables if the positions are known, otherwise computed in float32.
  RecordedAngles recorded_angles(Recorder& recorder, const Node& out,
                                 const mil::Shape& shape) const {
    const Node& offset = *out.inputs[1];
    const size_t rank = shape.size();
    const mil::DataType type = mil_type(out.dtype);
    const mil::Dim& length = shape[rank - 2];
    if (out.inputs.size() > 2 && !recorder.is_constant(*out.inputs[2])) {
      refuse_record(name(), "with periods that are computed ");
    }
    if (recorder.is_constant(offset) && length.is_constant()) {
      const std::shared_ptr<const Angles> angles = angles_of(key(out));
      std::vector<int64_t> table(rank, 1);
      table[rank - 1] = dims_ / 2;
      table[rank - 2] = length.constant();
      if (offset.size > 1) table[0] = out.shape[0];
      const auto constant = [&](const std::vector<float>& values) {
        return pippin::array::constant(type, table,
                                       std::vector<double>(values.begin(), values.end()));
      };
      return {constant(angles->cos), constant(angles->sin)};
    }
    const std::vector<float> rates = rates_of(steps(out));
    const auto rate = pippin::array::constant(mil::DataType::Float32, {dims_ / 2},
                                              std::vector<double>(rates.begin(), rates.end()));
    mil::Shape begins(rank, 1), places(rank, 1);
    if (offset.size > 1) begins[0] = shape[0];
    places[rank - 2] = length;
    const auto position = pippin::array::add(recorder.reshaped(recorder.input(out, 1), begins),
                                             recorder.reshaped(Recorder::count(length), places));
    const auto scaled = pippin::array::multiply(
        pippin::array::cast(position, mil::DataType::Float32), static_cast<double>(scale_));
    const auto angle = pippin::array::multiply(scaled, rate);
    return {pippin::array::cast(pippin::array::cos(angle), type),
            pippin::array::cast(pippin::array::sin(angle), type)};
  }

  AngleKey steps(const Node& out) const {
    AngleKey key{};
    key.pairs = dims_ / 2;
    key.base = base_;
    if (out.inputs.size() > 2) key.periods = float_vector(*out.inputs[2]);
    return key;
  }

  AngleKey key(const Node& out) const {
    AngleKey key = steps(out);
    key.offsets.resize(static_cast<size_t>(out.inputs[1]->size));
    copy_to(*out.inputs[1], reinterpret_cast<std::byte*>(key.offsets.data()), int64);
    key.length = out.shape[out.shape.size() - 2];
    key.scale = scale_;
    return key;
  }

  int dims_;
  bool traditional_;
  float base_, scale_;
};

}  // namespace

array rope(const array& x, int dims, bool traditional, std::optional<float> base, float scale,
           const array& offset, const std::optional<array>& freqs) {
  if (base.has_value() == freqs.has_value()) {
    fail(ErrorCode::InvalidArgument, "[rope] Either a base or freqs has to be given.");
  }
  if (x.ndim() < 3) {
    fail(ErrorCode::InvalidArgument, "[rope] At least 3 dimensions are needed, not {}.",
         to_string(x.shape()));
  }
  if (!is_floating(x.dtype())) {
    fail(ErrorCode::InvalidArgument, "[rope] {} is not a floating-point type.",
         to_string(x.dtype()));
  }
  if (offset.ndim() > 1 || (offset.size() != 1 && offset.size() != x.shape(0)) ||
      !is_integer(offset.dtype())) {
    fail(ErrorCode::InvalidArgument, "[rope] Offsets of shape {} and type {} for {} sequences.",
         to_string(offset.shape()), to_string(offset.dtype()), x.shape(0));
  }
  if (dims <= 0 || dims % 2 != 0 || dims > x.shape(-1)) {
    fail(ErrorCode::InvalidArgument, "[rope] {} dimensions of a last axis of size {}.", dims,
         x.shape(-1));
  }
  if (freqs && (freqs->ndim() != 1 || freqs->size() != dims / 2)) {
    fail(ErrorCode::InvalidArgument, "[rope] freqs of shape {} for {} dimensions.",
         to_string(freqs->shape()), dims);
  }
  if (x.dtype() == float64) {
    return astype(rope(astype(x, float32), dims, traditional, base, scale, offset, freqs), float64);
  }
  const auto primitive = new_primitive<Rope>(dims, traditional, base ? *base : 1.0f, scale);
  if (!freqs) return make(primitive, x.dtype(), x.shape(), {&x, &offset});
  return make(primitive, x.dtype(), x.shape(), {&x, &offset, &*freqs});
}

array rope(const array& x, int dims, bool traditional, std::optional<float> base, float scale,
           int offset, const std::optional<array>& freqs) {
  return rope(x, dims, traditional, base, scale, array(offset), freqs);
}

}  // namespace pippin::mx::fast
