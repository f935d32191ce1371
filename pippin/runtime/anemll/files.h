// Finds the files of an ANEMLL model: which package is which part, by meta.yaml or by name.
//
//   PREFIX_embeddings[_lutN]   PREFIX_FFN_PF[_lutN]_chunk_01of02 ...   PREFIX_lm_head[_lutN]
//   PREFIX_monolithic_full[_lutN]                                      (all in one)
//
// The names in meta.yaml are used if the files exist. Like other loaders of these models, this also
// finds chunks with or without the suffix, and the plain embeddings if those with _lutN are
// missing.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "pippin/io/json.h"
#include "pippin/runtime/package/folder.h"
#include "pippin/runtime/sampling/options.h"

namespace pippin::runtime {

// meta.yaml, the key model_info. Missing entries are empty, 0 or false.
struct AnemllMeta {
  bool is_monolithic = false;
  int64_t context_length = 0;
  int64_t num_chunks = 0;
  std::string prefix, embeddings, lm_head, ffn, prefill, monolithic;
  int64_t sliding_window = 0;
  bool argmax_in_model = false;
  int64_t vocab_size = 0;
  std::vector<int64_t> head_sizes;  // lm_head_chunk_sizes
  bool prefill_is_safe = false;     // update_mask_prefill or prefill_dynamic_slice
  std::string tokenizer_path;
  std::optional<SamplingOptions> sampling;
};

// Whether the YAML has the keys that mark an ANEMLL folder.
bool is_anemll_meta(const Json& yaml);
// Throws InvalidFile for invalid values.
AnemllMeta read_anemll_meta(const Json& yaml);

// The stems of the packages in the folder.
struct AnemllFiles {
  std::string embeddings, lm_head;   // empty in a monolithic model
  std::vector<std::string> chunks;   // the one package of a monolithic model
  std::vector<std::string> rotated;  // each chunk's _rot package; empty: no such package
};

// Whether the file names alone identify an ANEMLL model.
bool looks_like_anemll(const PackageFolder& folder);
// Throws NotFound for a missing part, InvalidFile if names contradict each other, InvalidArgument
// if the folder holds several models. `meta` may be null.
AnemllFiles find_anemll_files(const PackageFolder& folder, const AnemllMeta* meta);

}  // namespace pippin::runtime
