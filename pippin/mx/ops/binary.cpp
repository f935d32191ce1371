#include "pippin/mx/ops/binary.h"

#include <utility>

#include "pippin/base/error.h"
#include "pippin/mx/core/primitive.h"
#include "pippin/mx/loops/elementwise.h"
#include "pippin/mx/ops/complex.h"
#include "pippin/mx/ops/reduce.h"
#include "pippin/mx/record/recorder.h"

namespace pippin::mx {
namespace {

class Binary final : public Primitive {
 public:
  explicit Binary(BinaryOp op) : op_(op) {}
  std::string_view name() const noexcept override { return to_string(op_); }
  void eval(Node& out) const override {
    const Kind kind = kind_of(out.dtype, "binary");
    map_binary(out, binary_function(op_, kind), kind, binary_cost(op_));
  }
  void record(Recorder& recorder, const Node& out) const override {
    const Recorder::Value &a = recorder.input(out, 0), &b = recorder.input(out, 1);
    refuse_narrow_integers(name(), out.dtype);
    switch (op_) {
      case BinaryOp::Subtract:
        return recorder.define_binary(out, "sub");
      case BinaryOp::Multiply:
        return recorder.define_binary(out, "mul");
      case BinaryOp::Divide:
        return recorder.define_binary(out, "real_div");
      case BinaryOp::FloorDivide:
        return recorder.define_binary(out, "floor_div");
      case BinaryOp::Remainder:
        return recorder.define_binary(out, "mod");
      case BinaryOp::Power:
        return recorder.define_binary(out, "pow");
      case BinaryOp::LogAddExp: {
        const auto distance = pippin::array::abs(pippin::array::subtract(a, b));
        const auto more =
            pippin::array::add(pippin::array::exp(pippin::array::multiply(distance, -1.0)), 1.0);
        return recorder.define(
            out, pippin::array::add(
                     pippin::array::maximum(a, b),
                     Recorder::one(
                         "log", {{"x", more}, {"epsilon", mil::Value::of_float(more.type(), 0)}})));
      }
      case BinaryOp::BitwiseAnd:
      case BinaryOp::BitwiseOr:
      case BinaryOp::BitwiseXor: {  // MIL has these for bools
        if (out.dtype != bool_) refuse_record(name(), "of integers ");
        return recorder.define_binary(out, op_ == BinaryOp::BitwiseAnd  ? "logical_and"
                                           : op_ == BinaryOp::BitwiseOr ? "logical_or"
                                                                        : "logical_xor");
      }
      case BinaryOp::ArcTan2:
      case BinaryOp::LeftShift:
      case BinaryOp::RightShift:
        refuse_record(name(), "");
      default:
        return recorder.define_binary(out, name());
    }
  }

 private:
  BinaryOp op_;
};

class Compare final : public Primitive {
 public:
  explicit Compare(CompareOp op) : op_(op) {}
  std::string_view name() const noexcept override { return to_string(op_); }
  void eval(Node& out) const override {
    const Kind kind = kind_of(out.inputs[0]->dtype, "compare");
    map_compare(out, compare_function(op_, kind), kind);
  }
  void record(Recorder& recorder, const Node& out) const override {
    Recorder::Value a = recorder.input(out, 0), b = recorder.input(out, 1);
    if (a.type() == mil::DataType::Bool) {
      a = pippin::array::cast(a, mil::DataType::Int32);
      b = pippin::array::cast(b, mil::DataType::Int32);
    }
    recorder.define(out, Recorder::one(name(), {{"x", a}, {"y", b}}));
  }

 private:
  CompareOp op_;
};

class Select final : public Primitive {
 public:
  std::string_view name() const noexcept override { return "where"; }
  void eval(Node& out) const override { map_select(out); }
  void record(Recorder& recorder, const Node& out) const override {
    const Recorder::Value &condition = recorder.input(out, 0), &b = recorder.input(out, 2);
    Recorder::Value a = recorder.input(out, 1);
    // In Core ML, the result has the shape of both choices.
    const mil::Shape shape = recorder.shape(out);
    if (!(b.shape() == shape)) a = recorder.broadcast(a, shape);
    recorder.define(out, pippin::array::select(condition, a, b));
  }
};

Shape common_shape(std::string_view op, const array& a, const array& b) {
  return a.shape() == b.shape() ? a.shape() : broadcast_shapes(op, a.shape(), b.shape());
}

template <BinaryOp kOp>
array typed(const array& a, const array& b, Dtype dtype) {
  if (dtype == complex64) return complex_binary(kOp, a, b);
  Shape shape = common_shape(to_string(kOp), a, b);
  if (a.dtype() == dtype && b.dtype() == dtype) {
    return make(shared_primitive<Binary, kOp>(), dtype, std::move(shape), {&a, &b});
  }
  const array left = astype(a, dtype), right = astype(b, dtype);
  return make(shared_primitive<Binary, kOp>(), dtype, std::move(shape), {&left, &right});
}

template <BinaryOp kOp>
array promoted(const array& a, const array& b) {
  return typed<kOp>(a, b, promote_types(a.dtype(), b.dtype()));
}

template <BinaryOp kOp>
array real_function(const array& a, const array& b) {
  return typed<kOp>(a, b, at_least_float(promote_types(a.dtype(), b.dtype())));
}

template <BinaryOp kOp>
array bits(const array& a, const array& b) {
  Dtype dtype = promote_types(a.dtype(), b.dtype());
  if (is_inexact(dtype)) {
    fail(ErrorCode::InvalidArgument, "[{}] Needs integers or bools, not {} and {}.", to_string(kOp),
         to_string(a.dtype()), to_string(b.dtype()));
  }
  const bool is_shift = kOp == BinaryOp::LeftShift || kOp == BinaryOp::RightShift;
  if (is_shift && dtype == bool_) dtype = uint8;
  return typed<kOp>(a, b, dtype);
}

template <CompareOp kOp>
array compare(const array& a, const array& b) {
  const Dtype dtype = promote_types(a.dtype(), b.dtype());
  if (dtype == complex64) return complex_compare(kOp, a, b);
  Shape shape = common_shape(to_string(kOp), a, b);
  const array left = astype(a, dtype), right = astype(b, dtype);
  return make(shared_primitive<Compare, kOp>(), bool_, std::move(shape), {&left, &right});
}

}  // namespace

array add(const array& a, const array& b) {
  return promoted<BinaryOp::Add>(a, b);
}
array subtract(const array& a, const array& b) {
  return promoted<BinaryOp::Subtract>(a, b);
}
array multiply(const array& a, const array& b) {
  return promoted<BinaryOp::Multiply>(a, b);
}
array divide(const array& a, const array& b) {
  return real_function<BinaryOp::Divide>(a, b);
}
array floor_divide(const array& a, const array& b) {
  return promoted<BinaryOp::FloorDivide>(a, b);
}
array remainder(const array& a, const array& b) {
  return promoted<BinaryOp::Remainder>(a, b);
}
std::vector<array> divmod(const array& a, const array& b) {
  return {floor_divide(a, b), remainder(a, b)};
}
array power(const array& a, const array& b) {
  return promoted<BinaryOp::Power>(a, b);
}
array maximum(const array& a, const array& b) {
  return promoted<BinaryOp::Maximum>(a, b);
}
array minimum(const array& a, const array& b) {
  return promoted<BinaryOp::Minimum>(a, b);
}
array logaddexp(const array& a, const array& b) {
  return real_function<BinaryOp::LogAddExp>(a, b);
}
array arctan2(const array& a, const array& b) {
  return real_function<BinaryOp::ArcTan2>(a, b);
}

array equal(const array& a, const array& b) {
  return compare<CompareOp::Equal>(a, b);
}
array not_equal(const array& a, const array& b) {
  return compare<CompareOp::NotEqual>(a, b);
}
array less(const array& a, const array& b) {
  return compare<CompareOp::Less>(a, b);
}
array less_equal(const array& a, const array& b) {
  return compare<CompareOp::LessEqual>(a, b);
}
array greater(const array& a, const array& b) {
  return compare<CompareOp::Greater>(a, b);
}
array greater_equal(const array& a, const array& b) {
  return compare<CompareOp::GreaterEqual>(a, b);
}
array logical_and(const array& a, const array& b) {
  return typed<BinaryOp::LogicalAnd>(a, b, bool_);
}
array logical_or(const array& a, const array& b) {
  return typed<BinaryOp::LogicalOr>(a, b, bool_);
}
array logical_xor(const array& a, const array& b) {
  return compare<CompareOp::NotEqual>(astype(a, bool_), astype(b, bool_));
}

array bitwise_and(const array& a, const array& b) {
  return bits<BinaryOp::BitwiseAnd>(a, b);
}
array bitwise_or(const array& a, const array& b) {
  return bits<BinaryOp::BitwiseOr>(a, b);
}
array bitwise_xor(const array& a, const array& b) {
  return bits<BinaryOp::BitwiseXor>(a, b);
}
array left_shift(const array& a, const array& b) {
  return bits<BinaryOp::LeftShift>(a, b);
}
array right_shift(const array& a, const array& b) {
  return bits<BinaryOp::RightShift>(a, b);
}

array where(const array& condition, const array& a, const array& b) {
  const Dtype dtype = promote_types(a.dtype(), b.dtype());
  Shape shape = broadcast_shapes("where", condition.shape(), common_shape("where", a, b));
  const array which = astype(condition, bool_), left = astype(a, dtype), right = astype(b, dtype);
  return make(shared_primitive<Select>(), dtype, std::move(shape), {&which, &left, &right});
}

array clip(const array& a, const std::optional<array>& low, const std::optional<array>& high) {
  if (!low && !high) {
    fail(ErrorCode::InvalidArgument, "[clip] At least one of the bounds has to be given.");
  }
  array result = astype(a, result_type(low && high ? std::vector<array>{a, *low, *high}
                                       : low       ? std::vector<array>{a, *low}
                                                   : std::vector<array>{a, *high}));
  if (low) result = maximum(result, *low);
  return high ? minimum(result, *high) : result;
}

array isclose(const array& a, const array& b, double rtol, double atol, bool equal_nan) {
  const Dtype dtype = at_least_float(promote_types(a.dtype(), b.dtype()));
  const array x = astype(a, dtype), y = astype(b, dtype);
  const Dtype size = dtype == complex64 ? float32 : dtype;
  const array bound = add(array(atol, size), multiply(array(rtol, size), abs(y)));
  // Infinities are close only to themselves.
  const array is_finite = logical_and(isfinite(x), isfinite(y));
  array result =
      logical_or(logical_and(is_finite, less_equal(abs(subtract(x, y)), bound)), equal(x, y));
  if (equal_nan) result = logical_or(result, logical_and(isnan(x), isnan(y)));
  return result;
}

array allclose(const array& a, const array& b, double rtol, double atol, bool equal_nan) {
  return all(isclose(a, b, rtol, atol, equal_nan));
}

array array_equal(const array& a, const array& b, bool equal_nan) {
  if (!(a.shape() == b.shape())) return array(false);
  const Dtype dtype = promote_types(a.dtype(), b.dtype());
  const array x = astype(a, dtype), y = astype(b, dtype);
  array same = equal(x, y);
  if (equal_nan && is_inexact(dtype)) same = logical_or(same, logical_and(isnan(x), isnan(y)));
  return all(same);
}

Dtype result_type(const std::vector<array>& arrays) {
  Dtype dtype = bool_;
  for (const array& each : arrays) dtype = promote_types(dtype, each.dtype());
  return dtype;
}

}  // namespace pippin::mx
