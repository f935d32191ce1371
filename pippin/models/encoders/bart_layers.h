// The layers of BART's lineage (bart.cpp, whisper.cpp).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/models/config/config.h"
#include "pippin/models/encoders/encoder_decoder_description.h"
#include "pippin/nn/layer.h"

namespace pippin::models {

// The sizes of the encoder or the decoder.
struct BartHalf {
  int64_t layers = 12, heads = 16, inner = 4096, context = 1024;
};

// Those of encoder_* or decoder_* keys; `positions` is the key of the context.
BartHalf bart_half(const Config& config, const std::string& side, const char* positions,
                   const BartHalf& defaults);

// A layer with biases, attention under no path yet. `norm_first`: norms before the blocks, else
// after them.
nn::LayerOptions bart_layer(const Config& config, const BartHalf& half, int64_t width,
                            bool norm_first, std::string_view activation);

// The decoder's layers: `layer` with an attention over the source between attention and
// feed-forward.
std::vector<EncoderDecoderDescription::Layer> bart_decoder_layers(const nn::LayerOptions& layer,
                                                                  int64_t count);

}  // namespace pippin::models
