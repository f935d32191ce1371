// The encoder of a speech model: from the waveform or its features to a state for each frame. Its
// layers are those of an encoder of texts (wav2vec 2.0) or of a conformer; a frame sees all others.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "pippin/array/array.h"
#include "pippin/nn/attention/relative_bias.h"
#include "pippin/nn/layer.h"
#include "pippin/nn/layers/norm.h"
#include "pippin/nn/layers/rope.h"
#include "pippin/nn/speech/conformer_layer.h"
#include "pippin/nn/speech/frame_adapter.h"
#include "pippin/nn/speech/positional_convolution.h"
#include "pippin/nn/speech/speech_front.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

struct SpeechEncoderOptions {
  int64_t features = 0;
  std::variant<WaveformFrontOptions, SpectrogramFrontOptions, ProjectionFrontOptions,
               RowsFrontOptions>
      front;
  double front_scale = 1.0;  // of the front's result
  std::optional<PositionalConvolutionOptions> positions;
  NormOptions norm;                    // of the next two
  std::string first_norm, final_norm;  // before and after the layers; empty names: none
  std::vector<RopeOptions> ropes;      // which AttentionOptions::rope names
  // A bias of all layers' scores; its path is below the first layer.
  std::optional<RelativeBiasOptions> relative_bias;
  bool sinusoids = false;  // layers need sinusoids_of_distances()
  std::string layers_path = "layers";
  std::variant<std::vector<LayerOptions>, std::vector<ConformerLayerOptions>> layers;
  // After all: a feed-forward at this path, of whose result half is added, and an adapter.
  std::optional<MLPOptions> last_feed_forward;
  std::string last_feed_forward_path;
  std::optional<FrameAdapterOptions> adapter;

  int64_t output_features() const { return adapter ? adapter->features : features; }
  // Samples or rows of the input for each frame, and of the shortest input.
  int64_t stride() const;
  int64_t shortest() const;
  // Numbers of a row of the input; 0: the input is the waveform.
  int64_t bins() const;
};

class SpeechEncoder {
 public:
  // For at most `context` frames.
  SpeechEncoder(const Parameters& parameters, const SpeechEncoderOptions& options, int64_t context);

  // From (1, samples) or (1, rows, bins) to (1, frames, output_features()).
  array::Array operator()(const array::Array& input) const;

 private:
  array::Array through_layers(array::Array x) const;

  SpeechEncoderOptions options_;
  std::unique_ptr<const SpeechFront> front_;
  std::optional<PositionalConvolution> positions_;
  std::optional<Norm> first_norm_, final_norm_;
  std::vector<Rope> ropes_;
  std::optional<RelativeBias> relative_bias_;
  std::vector<DecoderLayer> layers_;
  std::vector<ConformerLayer> conformer_layers_;
  std::optional<MLP> last_feed_forward_;
  std::optional<FrameAdapter> adapter_;
};

}  // namespace pippin::nn
