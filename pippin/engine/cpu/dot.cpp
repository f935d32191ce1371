// Chooses the step of a product by the form of its weights.
#include "pippin/engine/cpu/steps.h"

namespace pippin::engine {
namespace {

using QuantizedPointer = std::shared_ptr<const QuantizedWeight>;

const Weight& first_weight(const DotNode& dot) {
  return dot.products.front().weight;
}

}  // namespace

StepPointer make_step_of(const DotNode& dot, const StepSource& source) {
  const Weight& weight = first_weight(dot);
  if (std::holds_alternative<DenseWeight>(weight)) return make_dense_dot(dot, source);
  if (std::holds_alternative<QuantizedPointer>(weight)) return make_quantized_dot(dot, source);
  return make_e4m7_dot(dot, source);
}

bool share_input(const DotNode& a, const DotNode& b, const ComputeOptions& options) {
  const Weight& one = first_weight(a);
  const Weight& other = first_weight(b);
  if (one.index() != other.index()) return false;
  if (const auto* dense = std::get_if<DenseWeight>(&one)) {
    return *dense == std::get<DenseWeight>(other);  // by one kernel
  }
  return !std::holds_alternative<QuantizedPointer>(one) || share_quantized_input(a, b, options);
}

}  // namespace pippin::engine
