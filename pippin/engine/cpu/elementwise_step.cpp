// Elementwise steps: unary, binary, comparisons, logic, select, gates.
#include <algorithm>
#include <array>

#include "pippin/engine/cpu/elementwise_loop.h"
#include "pippin/engine/cpu/steps.h"
#include "pippin/kernels/elementwise/elementwise.h"
#include "pippin/kernels/rows/rows.h"

namespace pippin::engine {
namespace {

template <typename T>
T* as(std::byte* pointer) {
  return reinterpret_cast<T*>(pointer);
}

class ElementwiseStep : public Step {
 public:
  explicit ElementwiseStep(const CpuFeatures& cpu) : kernels_(kernels::choose_elementwise(cpu)) {}

 protected:
  const kernels::ElementwiseKernels& kernels_;
};

class UnaryStep : public ElementwiseStep {
 public:
  UnaryStep(const CpuFeatures& cpu, const UnaryNode& node) : ElementwiseStep(cpu), node_(node) {}
  bool is_elementwise() const override { return true; }
  void run(const StepContext& context) const noexcept override {
    run_rows<2>(context, [&](const auto& p, const auto& steps, int64_t count) {
      const float* x = as<float>(p[1]);
      float* y = as<float>(p[0]);
      if (steps[1] == 0 && count > 1) {  // one value repeated
        kernels_.unary(node_.op, x, y, 1, node_.alpha, node_.beta);
        std::fill(y + 1, y + count, y[0]);
      } else {
        kernels_.unary(node_.op, x, y, count, node_.alpha, node_.beta);
      }
    });
  }

 private:
  const UnaryNode& node_;
};

class BinaryStep : public ElementwiseStep {
 public:
  BinaryStep(const CpuFeatures& cpu, kernels::BinaryOp op) : ElementwiseStep(cpu), op_(op) {}
  bool is_elementwise() const override { return true; }
  void run(const StepContext& context) const noexcept override {
    const bool floats = context.operands[0].storage == Storage::F32;
    run_rows<3>(context, [&](const auto& p, const auto& steps, int64_t count) {
      if (floats) {
        kernels_.binary(op_, as<float>(p[1]), steps[1], as<float>(p[2]), steps[2], as<float>(p[0]),
                        count);
      } else {
        kernels_.binary_i32(op_, as<int32_t>(p[1]), steps[1], as<int32_t>(p[2]), steps[2],
                            as<int32_t>(p[0]), count);
      }
    });
  }

 private:
  kernels::BinaryOp op_;
};

class CompareStep : public ElementwiseStep {
 public:
  CompareStep(const CpuFeatures& cpu, kernels::CompareOp op) : ElementwiseStep(cpu), op_(op) {}
  void run(const StepContext& context) const noexcept override {
    const bool floats = context.operands[1].storage == Storage::F32;
    run_rows<3>(context, [&](const auto& p, const auto& steps, int64_t count) {
      if (floats) {
        kernels_.compare(op_, as<float>(p[1]), steps[1], as<float>(p[2]), steps[2],
                         as<uint8_t>(p[0]), count);
      } else {
        kernels_.compare_i32(op_, as<int32_t>(p[1]), steps[1], as<int32_t>(p[2]), steps[2],
                             as<uint8_t>(p[0]), count);
      }
    });
  }

 private:
  kernels::CompareOp op_;
};

class SelectStep : public ElementwiseStep {
 public:
  using ElementwiseStep::ElementwiseStep;
  void run(const StepContext& context) const noexcept override {
    run_rows<4>(context, [&](const auto& p, const auto& steps, int64_t count) {
      kernels_.select(as<uint8_t>(p[1]), steps[1], p[2], steps[2], p[3], steps[3], p[0], count);
    });
  }
};

class LogicStep : public Step {
 public:
  explicit LogicStep(LogicOp op) : op_(op) {}
  void run(const StepContext& context) const noexcept override {
    run_rows<3>(context, [&](const auto& p, const auto& steps, int64_t count) {
      const uint8_t* a = as<uint8_t>(p[1]);
      const uint8_t* b = as<uint8_t>(p[2]);
      uint8_t* y = as<uint8_t>(p[0]);
      for (int64_t i = 0; i < count; ++i) {
        const bool x = a[i * steps[1]] != 0, z = b[i * steps[2]] != 0;
        y[i] = op_ == LogicOp::And   ? x && z
               : op_ == LogicOp::Or  ? x || z
               : op_ == LogicOp::Xor ? x != z
                                     : !x;
      }
    });
  }

 private:
  LogicOp op_;
};

class NarrowStep : public Step {
 public:
  explicit NarrowStep(const NarrowNode& node) : node_(node) {}
  void run(const StepContext& context) const noexcept override {
    run_rows<2>(context, [&](const auto& p, const auto& steps, int64_t count) {
      const int32_t* x = as<int32_t>(p[1]);
      int32_t* y = as<int32_t>(p[0]);
      const uint32_t mask = (uint32_t{1} << node_.bits) - 1, sign = uint32_t{1} << (node_.bits - 1);
      const auto highest = static_cast<int32_t>(node_.is_signed ? mask >> 1 : mask);
      const int32_t lowest = node_.is_signed ? -highest - 1 : 0;
      for (int64_t i = 0; i < count; ++i) {
        const int32_t value = x[i * steps[1]];
        const uint32_t low = static_cast<uint32_t>(value) & mask;
        y[i] = node_.saturates
                   ? std::clamp(value, lowest, highest)
                   : static_cast<int32_t>(node_.is_signed && (low & sign) != 0 ? low | ~mask : low);
      }
    });
  }

 private:
  const NarrowNode& node_;
};

class GateStep : public Step {
 public:
  GateStep(const CpuFeatures& cpu, kernels::GateOp op)
      : kernels_(kernels::choose_rows(cpu)), op_(op) {}
  void run(const StepContext& context) const noexcept override {
    run_rows<3>(context, [&](const auto& p, const auto&, int64_t count) {
      const auto floats = [&](size_t i) { return reinterpret_cast<float*>(p[i]); };
      kernels_.gated(op_, {floats(1), count, floats(0), count, 1, count}, floats(2), count);
    });
  }

 private:
  const kernels::RowsKernels& kernels_;
  kernels::GateOp op_;
};

}  // namespace

StepPointer make_step_of(const UnaryNode& node, const StepSource& source) {
  return std::make_unique<UnaryStep>(source.cpu(), node);
}
StepPointer make_step_of(const BinaryNode& node, const StepSource& source) {
  return std::make_unique<BinaryStep>(source.cpu(), node.op);
}
StepPointer make_step_of(const CompareNode& node, const StepSource& source) {
  return std::make_unique<CompareStep>(source.cpu(), node.op);
}
StepPointer make_step_of(const SelectNode&, const StepSource& source) {
  return std::make_unique<SelectStep>(source.cpu());
}
StepPointer make_step_of(const LogicNode& node, const StepSource&) {
  return std::make_unique<LogicStep>(node.op);
}
StepPointer make_step_of(const NarrowNode& node, const StepSource&) {
  return std::make_unique<NarrowStep>(node);
}
StepPointer make_step_of(const GateNode& node, const StepSource& source) {
  return std::make_unique<GateStep>(source.cpu(), node.op);
}

}  // namespace pippin::engine
