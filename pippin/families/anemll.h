// The family `anemll`, in ANEMLL's format: a folder with meta.yaml and packages
//
//   PREFIX_embeddings[_lutN]                  main     input_ids -> hidden_states
//   PREFIX_FFN_PF[_lutN]_chunk_01of02 ...     infer (one token), prefill (a batch); infer_rotate and
//                                             prefill_rotate once a sliding window is full:
//                                             hidden_states, position_ids, causal_mask, current_pos
//                                             -> output_hidden_states, over states that all share
//   PREFIX_lm_head[_lutN]                     main     hidden_states -> logits1, logits2, ..., or
//                                             argmax_idx and argmax_val
//   PREFIX_monolithic_full[_lutN]             all in one; read, not written
#pragma once

#include <cstdint>
#include <string>

namespace pippin::families::anemll {

inline constexpr const char* kName = "anemll";

inline constexpr const char* kEmbeddingsPart = "embeddings";
inline constexpr const char* kChunksPart = "FFN_PF";
inline constexpr const char* kHeadPart = "lm_head";
inline constexpr const char* kMonolithicPart = "monolithic";
// Suffix of a part: the palette's bits.
inline constexpr const char* kLutSuffix = "_lut";
inline std::string stem(const std::string& prefix, const char* part, int lut_bits) {
  return prefix + "_" + part + (lut_bits > 0 ? kLutSuffix + std::to_string(lut_bits) : "");
}
// Chunks are numbered from 1: "base_chunk_02of05".
inline std::string chunk_stem(const std::string& base, int64_t number, int64_t count) {
  const auto two_digits = [](int64_t value) {
    return (value >= 0 && value < 10 ? "0" : "") + std::to_string(value);
  };
  return base + "_chunk_" + two_digits(number) + "of" + two_digits(count);
}

inline constexpr const char* kInfer = "infer";
inline constexpr const char* kPrefill = "prefill";
// Part of the names of both functions for a full sliding window.
inline constexpr const char* kRotate = "rotate";
inline constexpr const char* kInferRotate = "infer_rotate";
inline constexpr const char* kPrefillRotate = "prefill_rotate";

inline constexpr const char* kIds = "input_ids";
inline constexpr const char* kHidden = "hidden_states";
inline constexpr const char* kOutputHidden = "output_hidden_states";
inline constexpr const char* kPositions = "position_ids";
inline constexpr const char* kMask = "causal_mask";
inline constexpr const char* kCurrentPosition = "current_pos";
inline constexpr const char* kArgmaxIndex = "argmax_idx";
inline constexpr const char* kArgmaxValue = "argmax_val";
// Parts of the vocabulary are numbered from 1.
inline std::string logits(int64_t part) {
  return "logits" + std::to_string(part);
}

// (2 * layers, key-value heads, slots, features): keys, then values. With a sliding window, one
// cache for its layers and one for the others.
inline constexpr const char* kCache = "model_model_kv_cache_0";
inline constexpr const char* kLocalCache = "model_model_kv_cache_local";
inline constexpr const char* kGlobalCache = "model_model_kv_cache_global";

// User-defined metadata. Numbers must be equal in all packages.
inline constexpr const char* kInfoKey = "com.anemll.info";
inline constexpr const char* kContextKey = "com.anemll.context_length";
inline constexpr const char* kStateLengthKey = "com.anemll.state_length";
inline constexpr const char* kBatchKey = "com.anemll.batch_size";
inline constexpr const char* kNumChunksKey = "com.anemll.num_chunks";
inline constexpr const char* kLutBitsKey = "com.anemll.lut_bits";
// In a chunk.
inline constexpr const char* kChunkKey = "com.anemll.chunk_no";
inline constexpr const char* kFunctionsKey = "com.anemll.functions";
// In the head.
inline constexpr const char* kVocabularyKey = "com.anemll.vocab_size";
inline constexpr const char* kHeadSizesKey = "com.anemll.lm_head_chunk_sizes";
inline constexpr const char* kArgmaxKey = "com.anemll.argmax_in_model";

// meta.yaml, which identifies the folder.
namespace meta {
inline constexpr const char* kFile = "meta.yaml";
inline constexpr const char* kInfo = "model_info";
inline constexpr const char* kParameters = "parameters";  // in model_info; its members:
inline constexpr const char* kContext = "context_length";
inline constexpr const char* kBatch = "batch_size";
inline constexpr const char* kNumChunks = "num_chunks";
inline constexpr const char* kPrefix = "model_prefix";
// Stems; that of the chunks with or without the number.
inline constexpr const char* kEmbeddings = "embeddings";
inline constexpr const char* kHead = "lm_head";
inline constexpr const char* kChunks = "ffn";
inline constexpr const char* kPrefillChunks = "pf";
inline constexpr const char* kSplitHead = "split_lm_head";
inline constexpr const char* kArgmax = "argmax_in_model";
inline constexpr const char* kVocabulary = "vocab_size";
inline constexpr const char* kHeadSizes = "lm_head_chunk_sizes";
inline constexpr const char* kSlidingWindow = "sliding_window";
// Either allows prompts to be fed in batches.
inline constexpr const char* kUpdateMaskPrefill = "update_mask_prefill";
inline constexpr const char* kDynamicSlicePrefill = "prefill_dynamic_slice";
inline constexpr const char* kSampling = "recommended_sampling";
// Read only: our packages are never monolithic, and never have their tokenizer elsewhere.
inline constexpr const char* kModelType = "model_type";
inline constexpr const char* kMonolithicModel = "monolithic_model";
inline constexpr const char* kTokenizer = "tokenizer_path";
// The value for no text.
inline constexpr const char* kNone = "none";
}  // namespace meta

}  // namespace pippin::families::anemll
