// Values that the layers of one pass share, and pass on to each other.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "pippin/array/array.h"

namespace pippin::nn {

struct LayerCarry {
  std::optional<array::Array> ids;  // of the pass's tokens, (1, q); absent if embeddings are given
  std::optional<array::Array> shortcut;   // added to the residual by the layer that takes it
  std::optional<array::Array> rows;       // of a token for each layer (nn/layers/layer_rows.h)
  std::optional<array::Array> chosen;     // the mask of layers that see the same keys
  std::optional<array::Array> routed;     // the last router's vectors (nn/experts/router_mlp.h)
  std::optional<array::Array> low, high;  // inputs of alternating stacks of layers (nn/layer.h)
  // The heads of the next attention whose weights, (1, heads, q, end), are wanted, and those of
  // attentions so far.
  std::vector<int64_t> watched_heads;
  std::vector<array::Array> weights;
};

}  // namespace pippin::nn
