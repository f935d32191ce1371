// Building blocks of language models, each as one operation.
#pragma once

#include <optional>
#include <string>

#include "pippin/mx/core/array.h"

namespace pippin::mx::fast {

// Over the last axis, computed in float32. The result has x's type.
PIPPIN_API array rms_norm(const array& x, const std::optional<array>& weight, float eps);
PIPPIN_API array layer_norm(const array& x, const std::optional<array>& weight,
                            const std::optional<array>& bias, float eps);
// Rotary embedding of x[..., length, dims or more]: position = offset + index, times `scale`.
// `offset` is one number, or one for each entry of x's first axis. Pairs are neighbours if
// `traditional`, otherwise elements i and i + dims / 2. Takes either a base or the periods `freqs`.
PIPPIN_API array rope(const array& x, int dims, bool traditional, std::optional<float> base,
                      float scale, const array& offset,
                      const std::optional<array>& freqs = std::nullopt);
PIPPIN_API array rope(const array& x, int dims, bool traditional, std::optional<float> base,
                      float scale, int offset, const std::optional<array>& freqs = std::nullopt);
// softmax(scale * q · kᵀ + mask) · v for q[batch, heads, rows, dim] and k, v whose number of heads
// divides that of q. `mask_mode` is "causal", "array" or none; a bool mask keeps entries that are
// true. `sinks` are scores of keys without values, one per head.
PIPPIN_API array scaled_dot_product_attention(const array& queries, const array& keys,
                                              const array& values, float scale,
                                              const std::string& mask_mode = "",
                                              const std::optional<array>& mask = std::nullopt,
                                              const std::optional<array>& sinks = std::nullopt);

}  // namespace pippin::mx::fast
