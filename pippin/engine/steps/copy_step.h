// Copies, conversions and the numbers of shape arithmetic.
#pragma once

#include "pippin/base/cpu_features.h"
#include "pippin/engine/run/step.h"
#include "pippin/kernels/elementwise/elementwise.h"

namespace pippin::engine {

// One shape, any strides; converts between storages. (For constants, when a plan is made.)
void copy_operand(const Operand& to, const Operand& from, const CpuFeatures& cpu);

class CopyStep : public Step {
 public:
  explicit CopyStep(const CpuFeatures& cpu) : kernels_(kernels::choose_elementwise(cpu)) {}
  void run(const StepContext& context) const noexcept override;
  std::string name() const override;

 private:
  const kernels::ElementwiseKernels& kernels_;
};

// Writes the scalars as elements.
class DimsStep : public Step {
 public:
  void run(const StepContext& context) const noexcept override;
  std::string name() const override { return "dims"; }
};

}  // namespace pippin::engine
