// Shared by the layers of one pass, or left by one layer to later ones.
#pragma once

#include <optional>

#include "pippin/array/array.h"

namespace pippin::nn {

struct LayerCarry {
  std::optional<array::Array> ids;       // of the pass's tokens, (1, q); none where others embed
  std::optional<array::Array> shortcut;  // added to the residual by the layer that takes it
  std::optional<array::Array> rows;      // of a token for each layer (nn/layers/layer_rows.h)
  std::optional<array::Array> chosen;    // the mask of layers that see the same keys
  std::optional<array::Array>
      routed;  // what the last router made of a token (nn/experts/router_mlp.h)
  std::optional<array::Array> low, high;  // what stacks of layers work on in turns (nn/layer.h)
};

}  // namespace pippin::nn
