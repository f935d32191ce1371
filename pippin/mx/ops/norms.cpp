#include "pippin/base/error.h"
#include "pippin/mx/core/chosen_kernels.h"
#include "pippin/mx/core/float_rows.h"
#include "pippin/mx/core/primitive.h"
#include "pippin/mx/ops/binary.h"
#include "pippin/mx/ops/fast.h"
#include "pippin/mx/ops/reduce.h"
#include "pippin/mx/ops/unary.h"
#include "pippin/mx/record/recorder.h"

namespace pippin::mx::fast {
namespace {

// Inputs: x[, weight][, bias].
class Norm final : public PrimitiveWith<Norm> {
 public:
  enum class Form : uint8_t { Rms, Layer };
  Norm(Form form, float eps, bool has_weight, bool has_bias)
      : form_(form), eps_(eps), has_weight_(has_weight), has_bias_(has_bias) {}
  std::string_view name() const noexcept override {
    return form_ == Form::Rms ? "rms_norm" : "layer_norm";
  }
  void eval(Node& out) const override {
    const int64_t length = out.shape.back();
    Ref<Node> gamma, beta;
    if (has_weight_) gamma = row_major_as(out.inputs[1], float32);
    if (has_bias_) beta = row_major_as(out.inputs[has_weight_ ? 2 : 1], float32);
    const auto* weight = has_weight_ ? reinterpret_cast<const float*>(gamma->data) : nullptr;
    const auto* bias = has_bias_ ? reinterpret_cast<const float*>(beta->data) : nullptr;
    each_float_rows(out, length, [&](const float* x, float* y, int64_t rows) {
      const kernels::RowsArgs args{x, length, y, length, rows, length};
      if (form_ == Form::Rms) {
        row_kernels().rms_norm(args, weight, eps_);
      } else {
        row_kernels().layer_norm(args, weight, bias, eps_);
      }
    });
  }
  void record(Recorder& recorder, const Node& out) const override {
    // In fp32, as in eval(): squares of halves overflow.
    const auto in_float = [](const Recorder::Value& value) {
      return pippin::array::cast(value, mil::DataType::Float32);
    };
    Recorder::Value x = in_float(recorder.input(out, 0));
    if (form_ == Form::Layer) {
      x = pippin::array::subtract(x, pippin::array::reduce_mean(x, {-1}, true));
    }
    const auto squares = pippin::array::reduce_mean(pippin::array::multiply(x, x), {-1}, true);
    x = pippin::array::multiply(
        x, Recorder::one(
               "rsqrt", {{"x", squares}, {"epsilon", mil::Value::of_float(squares.type(), eps_)}}));
    if (has_weight_) x = pippin::array::multiply(x, in_float(recorder.input(out, 1)));
    if (has_bias_) {
      x = pippin::array::add(x, in_float(recorder.input(out, has_weight_ ? 2 : 1)));
    }
    recorder.define(out, x);
  }
  auto members() const { return std::tie(form_, eps_, has_weight_, has_bias_); }

 private:
  Form form_;
  float eps_;
  bool has_weight_, has_bias_;
};

void check_vector(const char* op, const char* what, const std::optional<array>& v, const array& x) {
  if (!v || (v->ndim() == 1 && v->size() == x.shape(-1))) return;
  fail(ErrorCode::InvalidArgument, "[{}] A {} of shape {} for an array of shape {}.", op, what,
       to_string(v->shape()), to_string(x.shape()));
}

array norm(const char* op, Norm::Form form, const array& x, const std::optional<array>& weight,
           const std::optional<array>& bias, float eps) {
  if (x.ndim() == 0) fail(ErrorCode::InvalidArgument, "[{}] A number has no last axis.", op);
  check_vector(op, "weight", weight, x);
  check_vector(op, "bias", bias, x);
  Dtype dtype = x.dtype();
  std::vector<array> inputs;
  if (weight) dtype = promote_types(dtype, weight->dtype());
  if (bias) dtype = promote_types(dtype, bias->dtype());
  if (!is_floating(dtype)) {
    fail(ErrorCode::InvalidArgument, "[{}] {} is not a floating-point type.", op, to_string(dtype));
  }
  if (dtype == float64) {
    array y = astype(x, float64);
    if (form == Norm::Form::Layer) y = subtract(y, mean(y, -1, true));
    y = multiply(y,
                 rsqrt(add(mean(square(y), -1, true), array(static_cast<double>(eps), float64))));
    if (weight) y = multiply(y, *weight);
    return bias ? add(y, *bias) : y;
  }
  inputs.push_back(x);
  if (weight) inputs.push_back(*weight);
  if (bias) inputs.push_back(*bias);
  return make(new_primitive<Norm>(form, eps, weight.has_value(), bias.has_value()), dtype,
              x.shape(), std::span<const array>(inputs));
}

}  // namespace

array rms_norm(const array& x, const std::optional<array>& weight, float eps) {
  return norm("rms_norm", Norm::Form::Rms, x, weight, std::nullopt, eps);
}

array layer_norm(const array& x, const std::optional<array>& weight,
                 const std::optional<array>& bias, float eps) {
  return norm("layer_norm", Norm::Form::Layer, x, weight, bias, eps);
}

}  // namespace pippin::mx::fast
