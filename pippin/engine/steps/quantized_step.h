// Steps that compute from compressed weights; see quantized_weight.h.
#pragma once

#include <memory>

#include "pippin/engine/plan.h"
#include "pippin/engine/run/step.h"
#include "pippin/engine/weights/quantized_weight.h"

namespace pippin::engine {

// A WeightStep; views: y [m, n], x [m, k], bias [n] if it has one.
std::unique_ptr<Step> make_quantized_dot(std::string name,
                                         std::shared_ptr<const QuantizedWeight> weight, bool bias,
                                         const CpuFeatures& cpu, Precision precision);

// views: y [indices, k], indices [indices]: rows of the weight. Negative indices count from the
// end; what is still outside reads the nearest row.
std::unique_ptr<Step> make_quantized_gather(std::shared_ptr<const QuantizedWeight> weight,
                                            const CpuFeatures& cpu);

}  // namespace pippin::engine
