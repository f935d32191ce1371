// Parakeet (NVIDIA): a FastConformer (Rekesh et al. 2023) over a log mel spectrogram, with a CTC
// head, or as a transducer, with durations (TDT) or without (RNN-T).
#include <bit>
#include <cmath>

#include <fmt/format.h>

#include "pippin/models/config/common.h"
#include "pippin/models/speech/speech_description.h"

namespace pippin::models {
namespace {

constexpr int64_t kMostFactor = 1 << 10;

nn::SpectrogramFrontOptions read_spectrogram_front(const Config& encoder) {
  nn::SpectrogramFrontOptions front;
  front.bins = encoder.size("num_mel_bins", 80, kMostBins);
  front.channels = encoder.size("subsampling_conv_channels", 256);
  front.size = encoder.size("subsampling_conv_kernel_size", 3, kMostTaps);
  const int64_t stride = encoder.size("subsampling_conv_stride", 2);
  if (stride != 2) {
    encoder.unsupported("subsampling_conv_stride",
                        fmt::format("{} is not supported (supported: 2)", stride));
  }
  const int64_t factor = encoder.size("subsampling_factor", 8, kMostFactor);
  if (factor < 2 || !std::has_single_bit(static_cast<uint64_t>(factor))) {
    encoder.invalid("subsampling_factor", fmt::format("{} is not a power of 2", factor));
  }
  front.layers = std::countr_zero(static_cast<uint64_t>(factor));
  // So that every convolution halves the axes, rounding up.
  if (front.size % 2 == 0) {
    encoder.unsupported("subsampling_conv_kernel_size",
                        fmt::format("{} is even, which is not supported", front.size));
  }
  encoder.require_multiple("num_mel_bins", front.bins, "subsampling_factor", factor);
  return front;
}

void read_parakeet_encoder(const Config& config, SpeechDescription& model) {
  const Config encoder = part_of(config, "encoder_config");
  model.base = "encoder";
  nn::SpeechEncoderOptions& options = model.encoder;
  options.features = encoder.size("hidden_size", 1024);
  if (options.features % 2 != 0) {
    encoder.invalid("hidden_size",
                    fmt::format("{} is odd: positions are pairs of numbers", options.features));
  }
  options.front = read_spectrogram_front(encoder);
  if (encoder.flag("scale_input", true)) {
    options.front_scale = std::sqrt(static_cast<double>(options.features));
  }
  options.sinusoids = true;
  model.max_frames = encoder.size("max_position_embeddings", 5000, kMaxContext);
  nn::ConformerLayerOptions layer =
      nemo_layer(encoder, options.features, encoder.size("intermediate_size", 4096));
  layer.norm.bias = true;
  nn::RelativeAttentionOptions attention;
  attention.features = options.features;
  attention.num_heads = encoder.size("num_attention_heads", 8, kMaxHeads);
  const int64_t kv_heads = encoder.size("num_key_value_heads", attention.num_heads, kMaxHeads);
  if (kv_heads != attention.num_heads) {
    encoder.unsupported("num_key_value_heads",
                        fmt::format("{} is not supported (num_attention_heads is {})", kv_heads,
                                    attention.num_heads));
  }
  encoder.require_multiple("hidden_size", options.features, "num_attention_heads",
                           attention.num_heads);
  attention.head_dim = options.features / attention.num_heads;
  attention.bias = layer.feed_forward.bias = encoder.flag("attention_bias", true);
  attention.content_bias = "bias_u";
  attention.position_bias = "bias_v";
  layer.attention = std::move(attention);
  layer.convolution.size = encoder.size("conv_kernel_size", 9, kMostTaps);
  layer.convolution.bias = encoder.flag("convolution_bias", true);
  if (layer.convolution.size % 2 == 0) {
    encoder.invalid("conv_kernel_size", fmt::format("{} is even", layer.convolution.size));
  }
  const int64_t count = encoder.size("num_hidden_layers", 24, kMaxLayers);
  options.layers = std::vector<nn::ConformerLayerOptions>(static_cast<size_t>(count), layer);
  encoder.refuse_unread();
}

SpeechDescription read_transducer(const Config& config, int64_t vocab_size) {
  SpeechDescription model;
  read_parakeet_encoder(config, model);
  model.vocab_size = config.size("vocab_size", vocab_size);
  model.blank = read_token(config, "blank_token_id", model.vocab_size - 1, model.vocab_size);
  SpeechDescription::Transducer transducer;
  transducer.network.vocab_size = model.vocab_size;
  transducer.network.encoder_features = model.encoder.features;
  transducer.network.features = config.size("decoder_hidden_size", 640);
  transducer.network.layers = config.size("num_decoder_layers", 2, kMaxLayers);
  transducer.network.activation = config.activation("hidden_act", "relu");
  transducer.max_symbols = config.size("max_symbols_per_step", 10);
  model.transducer = std::move(transducer);
  config.ignore({"is_encoder_decoder"});
  return model;
}

}  // namespace

nn::ConformerLayerOptions nemo_layer(const Config& encoder, int64_t features, int64_t width) {
  nn::ConformerLayerOptions layer;
  layer.features = features;
  layer.norm = {.kind = nn::NormOptions::Kind::Layer, .epsilon = 1e-5};
  layer.feed_forward.features = features;
  layer.feed_forward.hidden_features = width;
  layer.feed_forward.activation = encoder.activation("hidden_act", "silu");
  layer.feed_forward.gated = false;
  layer.feed_forward.up = "linear1";
  layer.feed_forward.down = "linear2";
  layer.convolution.features = features;
  layer.convolution.activation = layer.feed_forward.activation;
  return layer;
}

SpeechDescription parakeet_ctc(const Config& config) {
  SpeechDescription model;
  read_parakeet_encoder(config, model);
  read_ctc(config, 1025, 1024, model);
  model.head = "ctc_head";
  model.head_is_convolution = true;
  return model;
}

SpeechDescription parakeet_rnnt(const Config& config) {
  return read_transducer(config, 1025);
}

SpeechDescription parakeet_tdt(const Config& config) {
  constexpr int64_t kLongest = 1000;  // frames
  SpeechDescription model = read_transducer(config, 8193);
  model.transducer->durations = read_sizes(config, "durations", {0, 1, 2, 3, 4}, 0, kLongest);
  model.transducer->network.durations = std::ssize(model.transducer->durations);
  return model;
}

}  // namespace pippin::models
