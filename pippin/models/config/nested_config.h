// Ropes of configurations whose rope_parameters has an object for each of some names of their own.
#pragma once

#include <cstdint>
#include <string_view>

#include "pippin/models/config/config.h"
#include "pippin/nn/layers/rope.h"

namespace pippin::models {

// That of rope_parameters.NAME, or the defaults where there is no such object: `factor` of head_dim
// elements is turned.
nn::RopeOptions nested_rope(const Config& config, std::string_view name, double theta,
                            int64_t head_dim, double factor);

}  // namespace pippin::models
