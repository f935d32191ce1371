// Random numbers from keys: Threefry-2x32 (Salmon et al., "Parallel random numbers: as easy as 1,
// 2, 3"), with the same words for a key as JAX and MLX.
//
// Without a key, takes the next key of the process's sequence; seed() restarts the sequence.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "pippin/mx/core/array.h"

namespace pippin::mx::random {

PIPPIN_API array key(uint64_t seed);  // uint32, (2,)
PIPPIN_API void seed(uint64_t seed);
// The key that the next one is derived from; setting it continues a sequence.
PIPPIN_API array state();
PIPPIN_API void set_state(const array& key);
PIPPIN_API array split(const array& key, int num = 2);  // (num, 2)
PIPPIN_API array bits(const Shape& shape, int width = 4,
                      const std::optional<array>& key = std::nullopt);

// In [low, high).
PIPPIN_API array uniform(const array& low, const array& high, const Shape& shape,
                         Dtype dtype = float32, const std::optional<array>& key = std::nullopt);
PIPPIN_API array uniform(const Shape& shape, Dtype dtype = float32,
                         const std::optional<array>& key = std::nullopt);
PIPPIN_API array normal(const Shape& shape, Dtype dtype = float32,
                        const std::optional<array>& loc = std::nullopt,
                        const std::optional<array>& scale = std::nullopt,
                        const std::optional<array>& key = std::nullopt);
PIPPIN_API array multivariate_normal(const array& mean, const array& cov, const Shape& shape,
                                     Dtype dtype = float32,
                                     const std::optional<array>& key = std::nullopt);
PIPPIN_API array randint(const array& low, const array& high, const Shape& shape,
                         Dtype dtype = int32, const std::optional<array>& key = std::nullopt);
PIPPIN_API array bernoulli(const array& p, const std::optional<Shape>& shape = std::nullopt,
                           const std::optional<array>& key = std::nullopt);
PIPPIN_API array truncated_normal(const array& lower, const array& upper,
                                  const std::optional<Shape>& shape = std::nullopt,
                                  Dtype dtype = float32,
                                  const std::optional<array>& key = std::nullopt);
PIPPIN_API array gumbel(const Shape& shape, Dtype dtype = float32,
                        const std::optional<array>& key = std::nullopt);
// Indices sampled from unnormalised log probabilities along `axis`; uint32.
PIPPIN_API array categorical(const array& logits, int axis = -1,
                             const std::optional<Shape>& shape = std::nullopt,
                             std::optional<int> num_samples = std::nullopt,
                             const std::optional<array>& key = std::nullopt);
PIPPIN_API array laplace(const Shape& shape, Dtype dtype = float32, float loc = 0, float scale = 1,
                         const std::optional<array>& key = std::nullopt);
PIPPIN_API array permutation(const array& x, int axis = 0,
                             const std::optional<array>& key = std::nullopt);
PIPPIN_API array permutation(int n, const std::optional<array>& key = std::nullopt);

}  // namespace pippin::mx::random
