// What language models are made of, each in one operation.
#pragma once

#include <optional>
#include <string>

#include "pippin/mx/array.h"

namespace pippin::mx::fast {

// Over the last axis, computed in float32. The type is x's.
PIPPIN_API array rms_norm(const array& x, const std::optional<array>& weight, float eps);
PIPPIN_API array layer_norm(const array& x, const std::optional<array>& weight,
                            const std::optional<array>& bias, float eps);
// Rotary positions for x[..., length, dims or more]: position = offset + place, times `scale`.
// `offset` is one number, or one for each of x's first axis. Pairs are neighbours where
// `traditional`, else element i and i + dims / 2. Either a base, or the periods `freqs`.
PIPPIN_API array rope(const array& x, int dims, bool traditional, std::optional<float> base,
                      float scale, const array& offset,
                      const std::optional<array>& freqs = std::nullopt);
PIPPIN_API array rope(const array& x, int dims, bool traditional, std::optional<float> base,
                      float scale, int offset, const std::optional<array>& freqs = std::nullopt);
// softmax(scale * q · kᵀ + mask) · v for q[batch, heads, rows, dim] and k, v with heads that divide
// those. `mask_mode` "causal", "array" or none; a bool mask keeps where it is true. `sinks` are
// scores of keys without values, one for each head.
PIPPIN_API array scaled_dot_product_attention(const array& queries, const array& keys,
                                              const array& values, float scale,
                                              const std::string& mask_mode = "",
                                              const std::optional<array>& mask = std::nullopt,
                                              const std::optional<array>& sinks = std::nullopt);

}  // namespace pippin::mx::fast
