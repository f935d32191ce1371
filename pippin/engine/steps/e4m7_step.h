// Products with weights that are kept in 12 bits; see e4m7_weight.h.
#pragma once

#include <memory>
#include <string>

#include "pippin/engine/steps/weight_step.h"
#include "pippin/engine/weights/e4m7_weight.h"

namespace pippin::engine {

// A WeightStep; views: y [m, n], x [m, k], bias [n] if it has one.
std::unique_ptr<Step> make_e4m7_dot(std::string name, std::shared_ptr<const E4M7Weight> weight,
                                    bool bias, const CpuFeatures& cpu);

}  // namespace pippin::engine
