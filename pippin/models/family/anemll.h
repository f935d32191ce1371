// The package family `anemll`, as ANEMLL writes it: embeddings, chunks of layers with functions for
// one token and for a batch over one shared state, a head in parts, and meta.yaml.
//
// It corrects known errors of the original: see docs/families.md.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pippin/models/family/package_part.h"
#include "pippin/models/registry.h"
#include "pippin/nn/attention/fixed_cache.h"
#include "pippin/nn/decoder.h"

namespace pippin::models {

// A part's palettes according to names and meta.yaml; 0 bits: none.
struct PartPalette {
  int bits = 0;
  int64_t group = 0;  // channels that share one; 0: all
};

struct AnemllOptions {
  int64_t context = 0;                  // 0: the model's own, at most 2048
  int64_t batch = 0;                    // tokens of a prefill; 0: at most 64
  std::filesystem::path fused_adapter;  // empty: none
  std::string prefix;                   // of file names; empty: the architecture's
  bool argmax_in_model = false;
  PartPalette embeddings, ffn, head;
};

// The lines of meta.yaml for the sampling that generation_config.json recommends; may be empty.
std::string recommended_sampling(const std::filesystem::path& hf_folder);

class Anemll {
 public:
  // Throws the errors of build(), and Unsupported, by name, for models that the family cannot hold.
  Anemll(const std::filesystem::path& hf_folder, const AnemllOptions& options);

  const Description& description() const { return description_; }
  int64_t context() const { return options_.context; }
  int64_t num_parameters() const { return num_parameters_; }
  int64_t num_layers() const;

  PackagePart embeddings() const;
  // Layers [first, last) as chunk `index`, from 0, of `count`.
  PackagePart chunk(int64_t index, int64_t count, int64_t first, int64_t last) const;
  // One of `count` chunks with equal numbers of layers, the first ones with one more.
  PackagePart chunk(int64_t index, int64_t count) const;
  PackagePart head() const;
  std::string meta_yaml(int64_t num_chunks) const;

 private:
  mil::Model model(int64_t num_chunks, const PartPalette& palette) const;
  std::string chunk_stem(int64_t index, int64_t count) const;
  std::string stem(const char* part, const PartPalette& palette) const;
  void choose_cache();
  void choose_batch();
  void choose_head();
  bool rotates() const { return cache_.window > 0; }
  void record_layers(mil::Model& model, const std::string& name, int64_t tokens, bool rotated,
                     int64_t first, int64_t last) const;
  nn::PassTables tables(const array::Array& positions, const array::Array& length,
                        const array::Array& mask, int64_t tokens, bool rotated) const;
  array::Array local_mask(const array::Array& mask, int64_t tokens, bool rotated) const;

  Description description_;
  int64_t num_parameters_ = 0;
  AnemllOptions options_;
  std::string sampling_;  // of meta.yaml
  std::optional<nn::Decoder> decoder_;
  nn::FixedCacheShape cache_;
  std::vector<int64_t> head_sizes_;
};

}  // namespace pippin::models
