// fp32 weights whose output channels have been multiplied by a factor each.
#pragma once

#include <memory>
#include <vector>

#include "pippin/mil/value.h"

namespace pippin::mil::networks {

// The source's elements are as many rows as there are factors.
std::shared_ptr<const TensorSource> scaled_source(std::shared_ptr<const TensorSource> source,
                                                  std::vector<float> factors);

}  // namespace pippin::mil::networks
