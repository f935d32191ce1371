// Activations as codes of 8 bits (kernels/elementwise/args.h).
#pragma once

#include <string>
#include <vector>

#include "pippin/engine/run/step.h"
#include "pippin/kernels/elementwise/elementwise.h"

namespace pippin::engine {

enum class CodeOp {
  Quantize,    // y of I32, x of F32
  Dequantize,  // y of F32, x of I32
  Round,       // both, one after the other: y and x of F32
};

// views: y, x, both [outer, slices, inner] without gaps; `slices` has one for each of them.
class CodeStep final : public Step {
 public:
  CodeStep(const CpuFeatures& cpu, CodeOp op, std::vector<kernels::CodeScale> slices)
      : kernels_(kernels::choose_elementwise(cpu)), op_(op), slices_(std::move(slices)) {}
  std::string name() const override;
  void run(const StepContext& context) const noexcept override;

 private:
  const kernels::ElementwiseKernels& kernels_;
  CodeOp op_;
  std::vector<kernels::CodeScale> slices_;
};

// The codes less zero of two neighbouring channels in each element, as ConvStep takes them.
// views: y [N, ceil(C / 2), places] of I32, x [N, C, places] of F32, both without gaps.
class PairStep final : public Step {
 public:
  PairStep(const CpuFeatures& cpu, const kernels::CodeScale& scale)
      : kernels_(kernels::choose_elementwise(cpu)), scale_(scale) {}
  const kernels::CodeScale& scale() const { return scale_; }
  std::string name() const override { return "pairs of codes"; }
  void run(const StepContext& context) const noexcept override;

 private:
  const kernels::ElementwiseKernels& kernels_;
  kernels::CodeScale scale_;
};

}  // namespace pippin::engine
