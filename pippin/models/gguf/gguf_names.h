// The names of a decoder's tensors in a Hugging Face checkpoint, by their names in a GGUF. They
// follow from the decoder's description, which has the names of its modules, and from llama.cpp's
// names for the parts of a block.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "pippin/nn/decoder.h"

namespace pippin::models {

class GgufNames {
 public:
  // `two_norms`: attn_norm_2 belongs to attention, attn_norm to the feed-forward.
  explicit GgufNames(const nn::DecoderOptions& model, bool two_norms = false);

  // The form of a tensor's content in the description.
  enum class Form {
    Same,
    Vector,       // of one axis
    Matrix,       // of two axes: the last one, and all others
    Convolution,  // (features, taps) as (features, 1, taps)
    Experts,      // a stack of matrices or vectors, one for each expert
    GateAndUp,    // the same with the rows of gate before those of up
  };
  struct Place {
    std::string name;  // a module's, or a whole tensor's; for a stack, the path above the experts
    Form form = Form::Same;
    std::string part = {};  // of Experts: "gate_proj"
  };
  void add(const std::string& name, std::string place, Form form = Form::Same);
  // Looks up the name of a whole tensor, or of a module without ".weight" and ".bias"; null if the
  // description has no such part.
  const Place* find(std::string_view name) const;

 private:
  void add_norms(const nn::LayerOptions& layer);
  void add_mixer(const nn::LayerOptions& layer);
  void add_feed_forward(const nn::LayerOptions& layer);
  void add(const nn::AttentionOptions& attention, const std::string& path);
  void add(const nn::LatentAttentionOptions& attention, const std::string& path);
  void add(const nn::ShortConvolutionOptions& convolution, const std::string& path);
  void add(const nn::MambaOptions& mamba, const std::string& path);
  void add(const nn::Mamba2Options& mamba, const std::string& path);
  void add(const nn::GatedDeltaOptions& delta, const std::string& path);
  void add(const nn::MLPOptions& mlp, const std::string& path, std::string_view ending = "");
  void add(const nn::ExpertsOptions& experts, const std::string& path);

  bool two_norms_;
  std::string block_, layer_;  // "blk.3." and "model.layers.3." while that block is added
  std::map<std::string, Place, std::less<>> places_;
};

}  // namespace pippin::models
