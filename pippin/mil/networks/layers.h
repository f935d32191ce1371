// The table of layer types: the field of NeuralNetworkLayer, its name, and the translation.
#pragma once

#include <span>
#include <string_view>

#include "pippin/mil/networks/network.h"

namespace pippin::mil::networks {

using Translate = void (*)(Network& network, const Layer& layer);

struct LayerKind {
  uint32_t field;
  std::string_view name;
  Translate translate;
};

// The families, one file each.
using LayerFamily = std::span<const LayerKind>();
LayerFamily activation_layers, arithmetic_layers, channel_layers, comparison_layers,
    constant_layers, convolution_layers, gather_layers, join_layers, normalization_layers,
    order_layers, padding_layers, pooling_layers, product_layers, random_layers, recurrent_layers,
    reduction_layers, resampling_layers, selection_layers, shape_layers, slice_layers, unary_layers;

// Null if no layer type has this field.
const LayerKind* find_layer_kind(uint32_t field);

}  // namespace pippin::mil::networks
