// The family `windowed`, as coreml-llm-cli runs it: a folder of packages, each with a function main
//
//   PREFIX_chunk1            input_ids, full_sequence_length -> x, cos, sin, mask
//   PREFIX_chunk2 ...        x, cos, sin, mask, k_cache_i, v_cache_i -> new_x, new_k_cache_i,
//                            new_v_cache_i (i from 0 in each chunk)
//   PREFIX_chunkN            x -> logits, or logits_0, logits_1, ...
//   cache-processor          old_k_cache, new_k_cache, old_v_cache, new_v_cache ->
//                            updated_k_cache, updated_v_cache
//   logit-processor          the logits -> argmax
//
// An output feeds the inputs with its name, without the prefix "new_" if there is one, in later
// chunks. So runners, including ours, need no other names of values shared between chunks.
#pragma once

#include <cstdint>
#include <string>

namespace pippin::families::windowed {

inline constexpr const char* kName = "windowed";

inline constexpr const char* kChunkWord = "_chunk";
inline std::string chunk_stem(const std::string& prefix, int64_t number) {
  return prefix + kChunkWord + std::to_string(number);
}
inline constexpr const char* kCacheProcessor = "cache-processor";
inline constexpr const char* kLogitProcessor = "logit-processor";

inline constexpr const char* kIds = "input_ids";
inline constexpr const char* kLength = "full_sequence_length";
inline constexpr const char* kStream = "x";
inline constexpr const char* kNew = "new_";  // prefix of the name under which it is stored
// Names for several rotary embeddings and windows.
inline std::string numbered(const char* name, int64_t number) {
  return number == 0 ? name : std::string(name) + "_" + std::to_string(number);
}
inline constexpr const char* kCos = "cos";
inline constexpr const char* kSin = "sin";
inline constexpr const char* kMask = "mask";
inline constexpr const char* kLogits = "logits";
inline std::string logits(int64_t part, int64_t count) {
  return count == 1 ? kLogits : std::string(kLogits) + "_" + std::to_string(part);
}
inline constexpr const char* kArgmax = "argmax";

// (1, key-value heads * features, 1, slots)
inline constexpr const char* kCacheWord = "cache";  // part of the name of every cache
inline constexpr const char* kKeyWord = "k_";
inline constexpr const char* kValueWord = "v_";
inline constexpr const char* kKeyCache = "k_cache";
inline constexpr const char* kValueCache = "v_cache";
inline std::string key_cache(int64_t layer) {
  return std::string(kKeyCache) + "_" + std::to_string(layer);
}
inline std::string value_cache(int64_t layer) {
  return std::string(kValueCache) + "_" + std::to_string(layer);
}
inline std::string updated(const std::string& name) {
  return kNew + name;
}

// Names of the cache processor.
inline constexpr const char* kOldKeys = "old_k_cache";
inline constexpr const char* kOldValues = "old_v_cache";
inline constexpr const char* kNewKeys = "new_k_cache";
inline constexpr const char* kNewValues = "new_v_cache";
inline constexpr const char* kUpdatedKeys = "updated_k_cache";
inline constexpr const char* kUpdatedValues = "updated_v_cache";

// User-defined metadata.
inline constexpr const char* kContextKey = "pippin.context";
inline constexpr const char* kNumChunksKey = "pippin.num_chunks";
inline constexpr const char* kChunkKey = "pippin.chunk";

// Pippin's meta.json; others have none.
namespace meta {
inline constexpr const char* kFile = "meta.json";
inline constexpr const char* kFamily = "family";
inline constexpr const char* kContext = "context_length";  // number of positions in the tables
}  // namespace meta

}  // namespace pippin::families::windowed
