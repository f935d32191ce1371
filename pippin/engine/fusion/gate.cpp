// The middle of an MLP: activation(gate) * up, for SwiGLU, GeGLU and their relatives.
#include <optional>

#include "pippin/engine/cpu/elementwise_loop.h"
#include "pippin/engine/fusion/activation.h"
#include "pippin/engine/fusion/fusion.h"
#include "pippin/kernels/rows/rows.h"

namespace pippin::engine {
namespace {

using kernels::GateOp;
using kernels::UnaryOp;

// views: y, gate, up of one shape.
class GateStep : public Step {
 public:
  GateStep(const CpuFeatures& cpu, std::string name, GateOp op)
      : kernels_(kernels::choose_rows(cpu)), name_(std::move(name)), op_(op) {}
  std::string name() const override { return name_ + " * up"; }
  void run(const StepContext& context) const noexcept override {
    run_rows<3>(context, [&](const auto& p, const auto&, int64_t count) {
      const auto floats = [&](size_t i) { return reinterpret_cast<float*>(p[i]); };
      kernels_.gated(op_, {floats(1), count, floats(0), count, 1, count}, floats(2), count);
    });
  }

 private:
  const kernels::RowsKernels& kernels_;
  std::string name_;
  GateOp op_;
};

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
    // Repeated values would be computed once for each repetition, and what others read exists.
    if (!op || !builder.read_once(gate) || up == nullptr || builder.info(gate).shape != shape ||
        builder.info(up).shape != shape || same_value(builder, activation->x, up)) {
      continue;
    }
    const View x = builder.view_as(builder.view(activation->x), Storage::F32);
    const View other = builder.view_as(builder.view(up), Storage::F32);
    const View y = builder.allocate_like(Storage::F32, x);
    builder.emit_step<GateStep>(in_memory_order({y, x, other}), builder.cpu(), activation->name,
                                *op);
    builder.define_output(operation, y);
    return true;
  }
  return false;
}

}  // namespace pippin::engine
