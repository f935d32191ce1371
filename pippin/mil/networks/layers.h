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
std::span<const LayerKind> activation_layers();
std::span<const LayerKind> arithmetic_layers();
std::span<const LayerKind> channel_layers();
std::span<const LayerKind> comparison_layers();
std::span<const LayerKind> constant_layers();
std::span<const LayerKind> convolution_layers();
std::span<const LayerKind> gather_layers();
std::span<const LayerKind> join_layers();
std::span<const LayerKind> normalization_layers();
std::span<const LayerKind> order_layers();
std::span<const LayerKind> padding_layers();
std::span<const LayerKind> pooling_layers();
std::span<const LayerKind> product_layers();
std::span<const LayerKind> random_layers();
std::span<const LayerKind> recurrent_layers();
std::span<const LayerKind> reduction_layers();
std::span<const LayerKind> resampling_layers();
std::span<const LayerKind> selection_layers();
std::span<const LayerKind> shape_layers();
std::span<const LayerKind> slice_layers();
std::span<const LayerKind> unary_layers();

// Null if no layer type has this field.
const LayerKind* find_layer_kind(uint32_t field);

}  // namespace pippin::mil::networks
