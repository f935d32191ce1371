// Products with weights that are as they are stored: fp32, fp16, bf16.
#pragma once

#include <memory>
#include <string>

#include "pippin/engine/weights/weight_step.h"
#include "pippin/kernels/dot/dot.h"

namespace pippin::engine {

// Of F32, F16, BF16.
kernels::WeightType weight_type(Storage storage);

// A WeightStep; views: y [m, n], x [m, k], w [n, k], which is constant, bias [n] if it has one.
// `steady_rows` as ComputeOptions has it.
std::unique_ptr<Step> make_dense_dot(std::string name, const View& w, bool bias, bool steady_rows,
                                     const CpuFeatures& cpu);

// The same of n rows w that kernels::pack() made for `kernel`, in fp32 [n, k] rounded up to its
// grain; x has kernels::kManyRows or more.
std::unique_ptr<Step> make_packed_dot(std::string name, int64_t n, const kernels::DotKernel& kernel,
                                      bool bias, const CpuFeatures& cpu);

}  // namespace pippin::engine
