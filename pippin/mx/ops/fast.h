// Building blocks of language models, each as one operation, computed in float32 (norms and
// attention of float64 in float64).
//
// Types that are not floats, and shapes that do not fit, throw InvalidArgument with the operation's
// name.
#pragma once

#include <optional>
#include <string>

#include "pippin/mx/core/array.h"

namespace pippin::mx::fast {

// Returns x / √(mean(x²) + eps) * weight over the last axis of x[..., n], for weight [n]; without a
// weight, 1. The type is promoted from x and weight. Zhang and Sennrich, "Root Mean Square Layer
// Normalization" (2019).
PIPPIN_API array rms_norm(const array& x, const std::optional<array>& weight, float eps);
// Returns (x - mean) / √(variance + eps) * weight + bias over the last axis of x[..., n], for
// weight and bias [n]; by default 1 and 0. The type is promoted from all three. Ba et al., "Layer
// Normalization" (2016).
PIPPIN_API array layer_norm(const array& x, const std::optional<array>& weight,
                            const std::optional<array>& bias, float eps);
// Returns x[..., length, n], of at least 3 axes, with the first `dims` (even, at most n) numbers of
// each row rotated by its position: pair i by the angle position * scale * base^(-2i / dims), or
// position * scale / freqs[i] for periods freqs [dims / 2], exactly one of which is given. The
// position is offset + index; `offset` is one integer, or one for each entry of x's first axis.
// Pairs are neighbours if `traditional`, otherwise elements i and i + dims / 2. Su et al.,
// "RoFormer" (2021).
PIPPIN_API array rope(const array& x, int dims, bool traditional, std::optional<float> base,
                      float scale, const array& offset,
                      const std::optional<array>& freqs = std::nullopt);
PIPPIN_API array rope(const array& x, int dims, bool traditional, std::optional<float> base,
                      float scale, int offset, const std::optional<array>& freqs = std::nullopt);
// Returns softmax(scale * q · kᵀ + mask) · v, [batch, heads, rows, value_dim], for queries [batch,
// heads, rows, dim], keys [batch, kv_heads, keys, dim] and values [batch, kv_heads, keys,
// value_dim]; kv_heads divides heads (grouped-query attention, Ainslie et al., 2023). Vaswani et
// al., "Attention Is All You Need" (2017).
//
// `mask_mode` is "causal" (the last row sees all keys, each earlier row one less), "array" or
// empty. `mask` broadcasts to [batch, heads, rows, keys]: true keeps an entry, numbers are added.
// `sinks` [heads] are scores of keys without values (Xiao et al., "Efficient Streaming Language
// Models with Attention Sinks", 2023). Throws InvalidArgument for another mode, for "causal" with a
// mask, and for a mask or sinks of a wider type than the result.
PIPPIN_API array scaled_dot_product_attention(const array& queries, const array& keys,
                                              const array& values, float scale,
                                              const std::string& mask_mode = "",
                                              const std::optional<array>& mask = std::nullopt,
                                              const std::optional<array>& sinks = std::nullopt);

}  // namespace pippin::mx::fast
