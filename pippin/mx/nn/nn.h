// Modules, the building blocks of models, over the arrays of mx.h.
//
//   using namespace pippin::mx;
//   nn::Sequential model;
//   model.push_back(nn::Linear(64, 256));
//   model.push_back(nn::gelu);
//   model.push_back(nn::Linear(256, 64));
//   model.load_weights("weights.safetensors");
//
// Classes, arguments and names of parameters follow MLX where MLX has them.
#pragma once

#include "pippin/mx/nn/activations.h"  // IWYU pragma: export
#include "pippin/mx/nn/config.h"       // IWYU pragma: export
#include "pippin/mx/nn/layers.h"       // IWYU pragma: export
#include "pippin/mx/nn/module.h"       // IWYU pragma: export
#include "pippin/mx/nn/quantized.h"    // IWYU pragma: export
