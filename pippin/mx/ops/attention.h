// Attention as one primitive, for code that finds it in recorded operations.
#pragma once

#include "pippin/mx/core/primitive.h"

namespace pippin::mx {

namespace fast {
// Inputs: q, k, v[, mask] as in scaled_dot_product_attention(); k and v have one type, no float64.
Ref<const Primitive> attention_primitive(float scale, bool is_causal);
}  // namespace fast

// Replaces attention written as separate operations, softmax(scale * q · kᵀ + mask) · v with
// matrices of four axes, by one primitive if nothing else uses its scores: they then stay in
// float32 in a core's cache. `product` is the recorded product with v.
void fuse_attention(Node& product);

}  // namespace pippin::mx
