#include "pippin/engine/weight_forms.h"

#include <utility>

#include "pippin/engine/dense_step.h"
#include "pippin/engine/e4m7_step.h"
#include "pippin/engine/packed_step.h"

namespace pippin::engine {
namespace {

using mil::Dim;
using mil::Shape;

// The constexpr forms of the package, as they are stored.
std::optional<WeightDot> packed(Builder& builder, const WeightUse& use, const std::string& name,
                                bool bias) {
  if (!use.own_rows) return std::nullopt;
  const auto weight = builder.packed(use.operation, use.parameter);
  if (weight == nullptr) return std::nullopt;
  const auto& matrix = weight->matrix;
  const Shape shape = builder.shape(use.operation, use.parameter);
  if (shape.size() < 2 || !(shape[0] == Dim(matrix.n)) ||
      !(mil::num_elements(shape) == Dim(matrix.n * matrix.k))) {
    return std::nullopt;
  }
  return WeightDot{make_packed_dot(name, weight, bias, builder.cpu(), builder.precision()),
                   Dim(matrix.n), std::nullopt};
}

bool is_constant(const Builder& builder, const View& w) {
  return builder.is_constant(w) && w.shape[0].is_constant();
}

// Halves that need no more than 12 bits.
std::optional<WeightDot> narrow(Builder& builder, const WeightUse& use, const std::string& name,
                                bool bias) {
  const View& w = use.matrix();
  if (!is_constant(builder, w)) return std::nullopt;
  auto weight = narrow_weight(builder, use.operation.input_var(use.parameter), w);
  if (weight == nullptr) return std::nullopt;
  return WeightDot{make_e4m7_dot(name, std::move(weight), bias, builder.cpu()), w.shape[0],
                   std::nullopt};
}

// fp16, bf16 and fp32.
std::optional<WeightDot> dense(Builder& builder, const WeightUse& use, const std::string& name,
                               bool bias) {
  const View& w = use.matrix();
  if (!is_constant(builder, w)) return std::nullopt;
  return WeightDot{make_dense_dot(name, w, bias, builder.cpu()), w.shape[0], w};
}

constexpr WeightForm kForms[] = {packed, narrow, dense};

}  // namespace

std::span<const WeightForm> weight_forms() {
  return kForms;
}

}  // namespace pippin::engine
