// Records the functions of an encoder–decoder program (families/encoder_decoder.h). The decoder's
// layers attend to earlier tokens and to the encoder's states.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pippin/array/array.h"
#include "pippin/array/builder.h"
#include "pippin/mil/model.h"
#include "pippin/models/encoders/encoder_decoder_description.h"
#include "pippin/models/registry.h"
#include "pippin/nn/attention/stateful_cache.h"
#include "pippin/nn/encoder.h"
#include "pippin/nn/layers/cache.h"
#include "pippin/nn/layers/layer_carry.h"
#include "pippin/nn/layers/linear.h"
#include "pippin/nn/layers/pass.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::models {

class EncoderDecoderRecorder {
 public:
  EncoderDecoderRecorder(const EncoderDecoderDescription& model, const nn::Parameters& parameters,
                         int64_t context);

  // `attend`: with the function of that name, if all sources are recordings of one length.
  mil::Model record(bool attend);
  PackedMatrices packed_matrices() const { return parameters_.packed_matrices(); }
  // Throws InvalidFile for a tensor that neither half uses.
  void check_all_used() const;

 private:
  // The parts of a pass of the decoder.
  struct Inputs {
    array::Array ids;
    const nn::Pass& pass;
    const array::Array* source_mask;  // null: all states of the source are seen
    nn::Cache& own;
    nn::Cache& cross;
  };

  mil::DataType type() const { return parameters_.type(); }
  nn::Parameters block(int64_t index) const { return decoder_.at(model_.layers_path).at(index); }
  int64_t num_layers() const { return std::ssize(model_.layers); }
  const EncoderDecoderDescription::Layer& layer(int64_t index) const {
    return model_.layers.at(static_cast<size_t>(index));
  }
  int64_t most_source() const { return model_.hears() ? model_.encoder.context : context_; }
  std::vector<int64_t> cross_dims() const;
  nn::StatefulCacheShape cache_shape() const;
  mil::Feature state(const std::string& name, const std::vector<int64_t>& dims) const;
  void add_cross_states(mil::FunctionDescription& function) const;

  void record_encode(mil::Model& model) const;
  void record_decode(mil::Model& model) const;
  void record_align(mil::Model& model) const;
  void record_attend(mil::Model& model) const;
  // The encoder's states as the decoder attends to them.
  array::Array source_of(const array::Array& states) const;
  // Records the rest of a function that fills the cross-attention caches for the encoder's states.
  void finish_encode(const char* name, mil::Feature input, const array::Array& states,
                     array::Builder& builder, mil::Model& model) const;
  mil::Feature source_feature() const;
  mil::Feature ids_feature(const char* description) const;
  mil::Feature mask_feature() const;
  nn::Parameters embedding_at() const;
  nn::Embedding embedding() const;
  array::Array embed(const array::Array& ids, const nn::Pass& pass) const;
  // Runs the layers [0, end) of the decoder.
  array::Array run_layers(const Inputs& inputs, int64_t end, nn::LayerCarry& carry) const;
  array::Array logits(const array::Array& states) const;

  EncoderDecoderDescription model_;
  int64_t context_;
  nn::Parameters parameters_;
  nn::Encoder encoder_;
  nn::Parameters decoder_;
};

}  // namespace pippin::models
