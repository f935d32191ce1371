// The package family `windowed`, as coreml-llm-cli runs it: a chunk that embeds and makes the
// tables of a window, chunks of layers with their caches as inputs and outputs, a head, and two
// helpers that move the caches and choose the tokens.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "pippin/models/family/package_part.h"
#include "pippin/models/registry.h"
#include "pippin/nn/decoder.h"

namespace pippin::models {

struct WindowedOptions {
  // Positions of the tables; 0: the model's own, at most 131072. Attention reaches over cache +
  // window tokens, whatever the position.
  int64_t context = 0;
  std::filesystem::path fused_adapter;  // empty: none
  std::string prefix;                   // of file names; empty: the model's name
  int64_t blocks_per_chunk = 3;
  int64_t window = 64;
  int64_t cache = 448;
  mil::Opset opset = mil::Opset::CoreML7;
  // RMS norms as layer norms over [x, -x], which do not overflow in fp16 (nn::Style).
  bool doubled_norms = true;
};

class Windowed {
 public:
  // Throws the errors of build(), and Unsupported, by name, for models that the family cannot hold.
  Windowed(const std::filesystem::path& hf_folder, const WindowedOptions& options);

  const Description& description() const { return description_; }
  int64_t context() const { return options_.context; }
  int64_t num_parameters() const { return num_parameters_; }
  // All packages: chunk 1, those of the layers, the head's, cache-processor, logit-processor.
  std::vector<PackagePart> parts() const;
  std::string meta_json() const;

 private:
  void check_layers() const;
  int64_t num_chunks() const;
  mil::Model model() const;
  PackagePart start_part(PackagePart::Kind kind, int64_t number) const;
  PackagePart embedding() const;
  PackagePart layers(int64_t number, int64_t first, int64_t last) const;
  PackagePart head() const;
  PackagePart cache_processor() const;
  PackagePart logit_processor() const;

  std::vector<int64_t> stream_dims() const;  // of x
  int64_t keys() const { return options_.cache + options_.window; }
  std::string mask_name(int64_t window) const;
  std::string rope_name(const char* function, size_t rope) const;
  std::string logits_name(size_t part) const;
  array::Array mask(const array::Array& positions, const array::Array& start, int64_t window) const;

  Description description_;
  int64_t num_parameters_ = 0;
  WindowedOptions options_;
  int64_t fold_;
  std::optional<nn::Decoder> decoder_;
  std::vector<int64_t> head_sizes_;
};

}  // namespace pippin::models
