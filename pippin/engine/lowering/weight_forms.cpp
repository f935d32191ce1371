#include "pippin/engine/lowering/weight_forms.h"

#include <utility>

#include "pippin/engine/weights/dense_step.h"
#include "pippin/engine/weights/e4m7_weight.h"
#include "pippin/engine/weights/quantized_weight.h"

namespace pippin::engine {
namespace {

using mil::Dim;
using mil::Shape;

// The constexpr forms of the package, as they are stored.
std::optional<WeightDot> quantized(Builder& builder, const WeightUse& use, const std::string& name,
                                   bool bias) {
  if (!use.own_rows) return std::nullopt;
  const auto weight = builder.quantized(use.operation, use.parameter);
  if (weight == nullptr) return std::nullopt;
  const auto& matrix = weight->matrix;
  const Shape shape = builder.shape(use.operation, use.parameter);
  if (shape.size() < 2 || !(shape[0] == Dim(matrix.n)) ||
      !(mil::num_elements(shape) == Dim(matrix.n * matrix.k))) {
    return std::nullopt;
  }
  return WeightDot{make_quantized_dot(name, weight, bias, builder.cpu(), builder.precision()),
                   Dim(matrix.n), std::nullopt};
}

bool is_constant(const Builder& builder, const View& w) {
  return builder.is_constant(w) && w.shape[0].is_constant();
}

// Halves that need no more than 12 bits, with the sums that steady rows have.
std::optional<WeightDot> narrow(Builder& builder, const WeightUse& use, const std::string& name,
                                bool bias) {
  const View& w = use.matrix();
  if (!is_constant(builder, w)) return std::nullopt;
  const mil::Var* var = use.operation.input_var(use.parameter);
  const bool half = w.storage == Storage::F16 || w.storage == Storage::BF16;
  if (builder.precision() != Precision::Fast || !builder.steady_rows() || var == nullptr || !half ||
      !is_contiguous(w) || !(w.offset == Dim(0)) || builder.view(var).buffer != w.buffer) {
    return std::nullopt;
  }
  const Buffer& buffer = builder.buffers()[static_cast<size_t>(w.buffer)];
  const HalfWeight stored{var, weight_type(w.storage), buffer.data, w.shape[0].constant(),
                          w.shape[1].constant()};
  if (!(buffer.elements == Dim(stored.n * stored.k))) return std::nullopt;
  auto weight = narrow_weight(stored, builder.opset(), builder.cache());
  if (weight == nullptr) return std::nullopt;
  return WeightDot{make_e4m7_dot(name, std::move(weight), bias, builder.cpu()), w.shape[0],
                   std::nullopt};
}

// fp16, bf16 and fp32.
std::optional<WeightDot> dense(Builder& builder, const WeightUse& use, const std::string& name,
                               bool bias) {
  const View& w = use.matrix();
  if (!is_constant(builder, w)) return std::nullopt;
  return WeightDot{make_dense_dot(name, w, bias, builder.steady_rows(), builder.cpu()), w.shape[0],
                   w};
}

constexpr WeightForm kForms[] = {quantized, narrow, dense};

}  // namespace

std::span<const WeightForm> weight_forms() {
  return kForms;
}

}  // namespace pippin::engine
