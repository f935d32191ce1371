// The middle of an MLP: activation(gate) * up, for SwiGLU, GeGLU and similar gates.
#include <optional>

#include "pippin/engine/fusion/activation.h"
#include "pippin/engine/fusion/fusion.h"

namespace pippin::engine {
namespace {

using kernels::GateOp;
using kernels::UnaryOp;

std::optional<GateOp> gate_op(UnaryOp op) {
  switch (op) {
    case UnaryOp::Silu:
      return GateOp::Silu;
    case UnaryOp::Gelu:
      return GateOp::Gelu;
    case UnaryOp::GeluTanh:
      return GateOp::GeluTanh;
    case UnaryOp::GeluSigmoid:
      return GateOp::GeluSigmoid;
    case UnaryOp::Sigmoid:
      return GateOp::Sigmoid;
    default:
      return std::nullopt;
  }
}

}  // namespace

bool fuse_gate(Builder& builder, const mil::Operation& operation) {
  const mil::Shape& shape = builder.info(operation.output()).shape;
  for (const bool swapped : {false, true}) {
    const mil::Var* gate = operation.input_var(swapped ? "y" : "x");
    const mil::Var* up = operation.input_var(swapped ? "x" : "y");
    const auto activation = activation_of(builder, gate);
    const auto op = activation ? gate_op(activation->op) : std::nullopt;
    // Repeated values would be computed once for each repetition, and values with other readers
    // exist anyway.
    if (!op || !builder.read_once(gate) || up == nullptr || builder.info(gate).shape != shape ||
        builder.info(up).shape != shape || same_value(builder, activation->x, up)) {
      continue;
    }
    const View x = builder.view_as(builder.view(activation->x), Storage::F32);
    const View other = builder.view_as(builder.view(up), Storage::F32);
    const View y = builder.allocate_like(Storage::F32, x);
    builder.emit(GateNode{activation->name, *op}, in_memory_order({y, x, other}));
    builder.define_output(operation, y);
    return true;
  }
  return false;
}

}  // namespace pippin::engine
