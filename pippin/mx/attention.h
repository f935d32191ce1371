// Attention as one primitive, for those who find it in what was recorded.
#pragma once

#include "pippin/mx/primitive.h"

namespace pippin::mx {

namespace fast {
// Inputs: q, k, v[, mask] as in scaled_dot_product_attention(); k and v have one type, no float64.
Ref<const Primitive> attention_primitive(float scale, bool is_causal);
}  // namespace fast

// Makes attention that is written out, softmax(scale * q · kᵀ + mask) · v with matrices of four
// axes, one primitive, where nobody else needs its scores: they stay in float32, in the cache of a
// core. `product`: the product with v, recorded.
void fuse_attention(Node& product);

}  // namespace pippin::mx
