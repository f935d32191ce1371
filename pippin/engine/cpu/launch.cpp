#include "pippin/engine/cpu/launch.h"

#include "pippin/engine/cpu/make_step.h"
#include "pippin/engine/cpu/scratch.h"

namespace pippin::engine {
namespace {

View view_of(const Operand& operand, int buffer) {
  View view;
  view.buffer = buffer;
  view.storage = operand.storage;
  view.shape.assign(operand.shape, operand.shape + operand.rank);
  view.strides.assign(operand.strides, operand.strides + operand.rank);
  return view;
}

}  // namespace

void launch(NodeKind kind, std::span<const Operand> operands, size_t num_written,
            ThreadPool& pool) {
  Node node{std::move(kind), {}, num_written};
  node.views.reserve(operands.size());
  for (size_t i = 0; i < operands.size(); ++i) {
    node.views.push_back(view_of(operands[i], static_cast<int>(i)));
  }
  const auto step = make_step(node, ComputeOptions());
  const CallScratch scratch(step->scratch_bytes(), pool.num_threads());
  std::exception_ptr error;
  step->run({operands, {}, pool, scratch.data(), &error});
  if (error) std::rethrow_exception(error);
}

}  // namespace pippin::engine
