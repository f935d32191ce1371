// Random numbers from keys: Threefry-2x32 (Salmon et al., "Parallel random numbers: as easy as 1,
// 2, 3", 2011), with the same words for a key as JAX and MLX.
//
// Without a key, takes the next key of the process's sequence, which begins with the time; seed()
// restarts it. Equal keys give equal numbers. A key is uint32, (2,); others throw InvalidArgument.
// Floating-point results are float32, float16 or bfloat16; other types throw InvalidArgument unless
// a comment says otherwise.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "pippin/mx/core/array.h"

namespace pippin::mx::random {

// Returns the key of a seed, uint32, (2,): its upper and its lower 32 bits.
PIPPIN_API array key(uint64_t seed);
// Restarts the process's sequence of keys with key(seed).
PIPPIN_API void seed(uint64_t seed);
// Returns the key that the process's next one is derived from.
PIPPIN_API array state();
// Continues the process's sequence from a key that state() returned.
PIPPIN_API void set_state(const array& key);
// Returns `num` keys derived from a key, uint32, (num, 2).
PIPPIN_API array split(const array& key, int num = 2);
// Returns random bits: uint32, uint16 or uint8 for a width of 4, 2 or 1 bytes. Throws
// InvalidArgument for other widths and negative sizes.
PIPPIN_API array bits(const Shape& shape, int width = 4,
                      const std::optional<array>& key = std::nullopt);

// Returns numbers distributed evenly in [low, high), by default [0, 1). The bounds broadcast to
// `shape`. Throws InvalidArgument if they do not.
PIPPIN_API array uniform(const array& low, const array& high, const Shape& shape,
                         Dtype dtype = float32, const std::optional<array>& key = std::nullopt);
PIPPIN_API array uniform(const Shape& shape, Dtype dtype = float32,
                         const std::optional<array>& key = std::nullopt);
// Returns normally distributed numbers with mean `loc` (default 0) and standard deviation `scale`
// (default 1), which broadcast with `shape`, by the inverse error function. complex64 is supported:
// each part has half the variance.
PIPPIN_API array normal(const Shape& shape, Dtype dtype = float32,
                        const std::optional<array>& loc = std::nullopt,
                        const std::optional<array>& scale = std::nullopt,
                        const std::optional<array>& key = std::nullopt);
// Returns vectors [..., n] of a normal distribution with mean[..., n] and covariances cov[..., n,
// n], which are symmetric; ... is `shape` broadcast with the leading axes of both. Throws
// InvalidArgument for shapes that do not fit and types other than float32.
PIPPIN_API array multivariate_normal(const array& mean, const array& cov, const Shape& shape,
                                     Dtype dtype = float32,
                                     const std::optional<array>& key = std::nullopt);
// Returns integers distributed evenly in [low, high); of a range beyond 2^24 not every integer
// occurs, because they are computed in float32. The bounds broadcast to `shape`. Throws
// InvalidArgument for types that are not integers.
PIPPIN_API array randint(const array& low, const array& high, const Shape& shape,
                         Dtype dtype = int32, const std::optional<array>& key = std::nullopt);
// Returns bools that are true with probability p, floats that broadcast to `shape` (default: that
// of p). Throws InvalidArgument for other types and shapes.
PIPPIN_API array bernoulli(const array& p, const std::optional<Shape>& shape = std::nullopt,
                           const std::optional<array>& key = std::nullopt);
// Returns normally distributed numbers (mean 0, standard deviation 1) limited to [lower, upper], by
// the inverse of the distribution. The bounds broadcast to `shape` (default: their common shape).
PIPPIN_API array truncated_normal(const array& lower, const array& upper,
                                  const std::optional<Shape>& shape = std::nullopt,
                                  Dtype dtype = float32,
                                  const std::optional<array>& key = std::nullopt);
// Returns numbers of the standard Gumbel distribution: -log(-log(u)) for u evenly distributed in
// [0, 1).
PIPPIN_API array gumbel(const Shape& shape, Dtype dtype = float32,
                        const std::optional<array>& key = std::nullopt);
// Returns indices along `axis` sampled from unnormalised log probabilities, uint32. The shape is
// that of the logits without the axis; with `num_samples`, that and (num_samples,); or `shape`, to
// which the former broadcasts. Takes the largest of the logits plus Gumbel noise, or, for many
// samples of one distribution, inverts its cumulative sums. Throws InvalidArgument for both a shape
// and a number of samples, and for a shape that does not fit.
PIPPIN_API array categorical(const array& logits, int axis = -1,
                             const std::optional<Shape>& shape = std::nullopt,
                             std::optional<int> num_samples = std::nullopt,
                             const std::optional<array>& key = std::nullopt);
// Returns numbers of the Laplace distribution with mean `loc` and scale `scale`, by the inverse of
// the distribution.
PIPPIN_API array laplace(const Shape& shape, Dtype dtype = float32, float loc = 0, float scale = 1,
                         const std::optional<array>& key = std::nullopt);
// Returns `x` with its entries along an axis in random order.
PIPPIN_API array permutation(const array& x, int axis = 0,
                             const std::optional<array>& key = std::nullopt);
// Returns the numbers from 0 to n - 1 in random order, uint32.
PIPPIN_API array permutation(int n, const std::optional<array>& key = std::nullopt);

}  // namespace pippin::mx::random
