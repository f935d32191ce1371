// Normally distributed numbers of PyTorch's generator on CPUs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pippin::sound {

// Returns the numbers that torch.randn(count) returns after manual_seed(seed). `count` must be at
// least 16: PyTorch draws fewer in another way.
std::vector<float> torch_normal(size_t count, uint32_t seed);

}  // namespace pippin::sound
