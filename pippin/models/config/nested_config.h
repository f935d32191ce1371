// Ropes of configurations whose rope_parameters has an object for each name.
#pragma once

#include <cstdint>
#include <string_view>

#include "pippin/models/config/config.h"
#include "pippin/nn/layers/rope.h"

namespace pippin::models {

// The rope of rope_parameters.NAME, or the defaults if it is absent. It rotates `factor` times
// head_dim elements. Some scalings are for the model's `context`.
nn::RopeOptions nested_rope(const Config& config, std::string_view name, int64_t context,
                            double theta, int64_t head_dim, double factor);

}  // namespace pippin::models
