// A decoder-only transformer: embedding, layers of attention and feed-forward, norm, head.
//
// DecoderOptions says all that the dense architectures differ in; a file of models/ fills it from
// config.json. Paths are names in the checkpoint, those of a layer's parts below the layer.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "pippin/array/array.h"
#include "pippin/nn/alibi.h"
#include "pippin/nn/attention.h"
#include "pippin/nn/kv_cache.h"
#include "pippin/nn/linear.h"
#include "pippin/nn/mlp.h"
#include "pippin/nn/norm.h"
#include "pippin/nn/parameters.h"
#include "pippin/nn/pass.h"
#include "pippin/nn/rope.h"

namespace pippin::nn {

struct LayerOptions {
  // With f and g for attention and feed-forward:
  enum class Form {
    Serial,       // x += post(f(norm(x))); x += post(g(norm(x)))
    Parallel,     // x += f(norm(x)) + g(norm(x)), each its norm or both the attention's
    NormAfter,    // x = norm(x + f(x)); x = norm(x + g(x))
    NormCarried,  // n = norm(x); x = n + f(n); the same with g: the norm is in the residual too
  };
  Form form = Form::Serial;
  NormOptions norm;
  // An empty name: there is none.
  std::string attention_norm = "input_layernorm", attention_post_norm;
  std::string mlp_norm = "post_attention_layernorm", mlp_post_norm;
  double residual_scale = 1.0;   // of f and g
  double post_norm_scale = 1.0;  // of the weights of attention_post_norm and mlp_post_norm
  std::string attention_path = "self_attn", mlp_path = "mlp";
  AttentionOptions attention;
  MLPOptions mlp;
};

// Positions that are added to the embedding.
struct LearnedPositions {
  std::string path;
  int64_t rows = 0;
  int64_t offset = 0;  // row of position 0
};

struct DecoderOptions {
  int64_t vocab_size = 0;
  int64_t hidden_size = 0;
  int64_t context = 0;  // the most positions that the model was made for
  // What all of the paths below start with but the head's; checkpoints of the bare model lack it.
  std::string base = "model";
  std::string embedding = "embed_tokens", layers_path = "layers", final_norm = "norm";
  int64_t embedding_size = 0;  // where it is not hidden_size (OPT): projected by
  std::string project_in = "project_in", project_out = "project_out";
  std::optional<LearnedPositions> positions;
  double embedding_scale = 1.0;
  std::string embedding_norm;  // after the embedding; an empty name: none
  NormOptions norm;            // final_norm's and embedding_norm's
  std::string head = "lm_head";
  bool tied = false;  // the head is the embedding
  bool head_bias = false;
  double logit_scale = 1.0;
  std::optional<double> logit_softcap;
  std::vector<RopeOptions> ropes;  // which AttentionOptions::rope names
  std::optional<AlibiOptions> alibi;
  std::vector<LayerOptions> layers;

  int64_t max_kv_heads() const;
};

class DecoderLayer {
 public:
  DecoderLayer(const Parameters& parameters, const LayerOptions& options, int64_t index);

  array::Array operator()(const array::Array& x, const Rotation* rotation, const array::Array& mask,
                          KVCache& cache, const Pass& pass) const;
  const LayerOptions& options() const { return options_; }

 private:
  std::string path_;
  LayerOptions options_;
  int64_t index_;
  std::optional<Norm> attention_norm_, attention_post_norm_, mlp_norm_, mlp_post_norm_;
  Attention attention_;
  MLP mlp_;
};

// What the layers of one pass share, recorded once.
struct PassTables {
  std::vector<Rotation> rotations;        // one for each rope
  std::map<int64_t, array::Array> masks;  // by window; 0: none
};

class Decoder {
 public:
  // For sequences of up to `context` tokens. Throws NotFound or InvalidFile for tensors that are
  // absent, of another shape, or part of no module.
  Decoder(const Parameters& parameters, const DecoderOptions& options, int64_t context);

  // From ids (1, q) to logits (1, q, vocabulary): tables(), embed(), every layer(), logits().
  array::Array operator()(const array::Array& ids, KVCache& cache, const Pass& pass) const;

  PassTables tables(const Pass& pass) const;
  array::Array embed(const array::Array& ids, const Pass& pass) const;
  // The parts of embed(): what ids alone give; learned positions, int32 (q), added to that; the
  // norm after both.
  array::Array embed_ids(const array::Array& ids) const;
  array::Array add_positions(const array::Array& x, const array::Array& positions) const;
  array::Array normed_embedding(const array::Array& x) const;
  // 0 where the window hides nothing within the context.
  int64_t window_of(const AttentionOptions& attention) const;
  // The windows that hide something within the context, 0 for layers without.
  std::set<int64_t> windows() const;
  bool has_positions() const { return positions_.has_value(); }
  // The rotations at given positions, as Rope::at().
  std::vector<Rotation> rotations(const array::Array& positions, const array::Array& length) const;
  array::Array layer(size_t index, const array::Array& x, const PassTables& tables, KVCache& cache,
                     const Pass& pass) const;
  array::Array logits(const array::Array& x) const;
  // The parts of logits(): the final norm; the head, in parts of `sizes` outputs each.
  array::Array normed(const array::Array& x) const;
  std::vector<array::Array> head_parts(const array::Array& x,
                                       const std::vector<int64_t>& sizes) const;
  const DecoderOptions& options() const { return options_; }

 private:
  array::Array finished(const array::Array& logits) const;
  void check_all_used(const Parameters& parameters) const;

  DecoderOptions options_;
  int64_t context_;
  std::vector<Rope> ropes_;
  std::optional<Embedding> embedding_, positions_;
  std::optional<Linear> project_in_, project_out_, head_;
  std::optional<Norm> embedding_norm_, final_norm_;
  std::vector<DecoderLayer> layers_;
};

}  // namespace pippin::nn
