// CoreML-LLM's bundle of Gemma 4 (E2B, E4B): a folder of packages, each of which computes some
// layers for one token, and of the tables that they take rows of.
//
//   model_config.json            sizes and factors
//   chunk1 ... chunk4            or chunk1, chunk2_3way, chunk3_3way; in the folder or in swa/
//   embed_tokens_q8.bin          int8 rows, one for each token; in the folder
//   embed_tokens_scales.bin      an fp16 number for each row: int8 * number / 127 * embed_scale
//   embed_tokens_per_layer_*     the same for all layers, with per_layer_embed_scale
//   cos_sliding.npy, sin_sliding.npy, cos_full.npy, sin_full.npy   (positions, features) fp16
//   hf_model/                    the tokenizer
//   prefill_chunk1 ... 4         if the bundle has batches; in the folder or in swa/, or chunk1 ...
//                                chunk4 in prefill/
//   vision                       if the bundle takes images, their tower; in the folder or in swa/
//
// A chunk takes some of the inputs below, outputs of earlier chunks by their names, without the
// ending "_out" if there is one, and its caches: X_in, of which X_out is the next one. The last
// chunk gives the most likely token and its logit.
//
// The packages for batches compute the first T tokens of a prompt, of which free places at the end
// have any values. They take rows of T tokens, T x T causal_mask for all layers and
// last_position_mask, and give per_layer_combined_out, hidden_states_out and, for each layer that
// has its own, keys and values (1, heads, T, features): K0, V0, K1, ... in the order of a package's
// layers, but kv13_k, kv13_v (sliding) and kv14_k, kv14_v (full) of the last ones, which later
// layers share. Sliding layers see all tokens before, so T is a window at most for the results of
// single tokens. The last package gives the token after the last one.
//
// The tower takes an image as all its patches of (side, side, 3) numbers from 0 to 1 and their
// columns and rows, and gives its rows, which stand for tokens, before those of the free places:
//
//   pixel_values (1, patches, 3 * side * side) fp32, pixel_position_ids (1, patches, 2) int32: -1
//   for free places; image_features (1, rows, hidden_size)
#pragma once

#include <cstdint>

namespace pippin::families::coreml_llm {

inline constexpr const char* kName = "coreml-llm";

inline constexpr const char* kConfigFile = "model_config.json";
inline constexpr const char* kArchitecture = "gemma4";
inline constexpr const char* kChunkFolder = "swa";
inline constexpr const char* kTokenizerFolder = "hf_model";
inline constexpr const char* kPrefillFolder = "prefill";
inline constexpr const char* kFirstChunk = "chunk1";
// Bundles of another form, whose chunks keep their caches in states.
inline constexpr const char* kStatefulFolder = "gemma4_e2b_stateful_chunks";
inline constexpr const char* kFirstStatefulChunk = "chunk_1";
inline constexpr const char* kThreeChunks[] = {"chunk1", "chunk2_3way", "chunk3_3way"};
inline constexpr const char* kFourChunks[] = {"chunk1", "chunk2", "chunk3", "chunk4"};
// The packages for batches; in kPrefillFolder they are called as those for single tokens.
inline constexpr const char* kPrefillChunks[] = {"prefill_chunk1", "prefill_chunk2",
                                                 "prefill_chunk3", "prefill_chunk4"};

// Sizes that configurations may omit. Factors are the square roots of their row's width then.
inline constexpr int64_t kWindow = 512;      // sliding_window
inline constexpr int64_t kLayerWidth = 256;  // per_layer_dim

inline constexpr const char* kTokenTable = "embed_tokens";
inline constexpr const char* kLayerTable = "embed_tokens_per_layer";
// The token whose row of that table an image's rows have, as in transformers: padding.
// CoreML-LLM's own runner has zeros in its place.
inline constexpr int32_t kImageLayerToken = 0;

inline constexpr const char* kVisionPart = "vision";
inline constexpr const char* kPatchPlaces = "pixel_position_ids";

// Inputs, for the token at a position p of W or fewer visible tokens in sliding layers.
inline constexpr const char* kHidden = "hidden_states";       // its embedding
inline constexpr const char* kLayerRow = "per_layer_raw";     // its row for all layers
inline constexpr const char* kFullMask = "causal_mask_full";  // 0 up to p, then -inf
inline constexpr const char* kSlidingMask =
    "causal_mask_sliding";                                 // 0 for the last p + 1, at most W
inline constexpr const char* kUpdateMask = "update_mask";  // 1 at p, else 0
inline constexpr const char* kCosSliding = "cos_s";
inline constexpr const char* kSinSliding = "sin_s";
inline constexpr const char* kCosFull = "cos_f";
inline constexpr const char* kSinFull = "sin_f";

// Inputs for a batch: 0 for the tokens up to each one, then -inf; 1 for the last token, else 0.
inline constexpr const char* kBatchMask = "causal_mask";
inline constexpr const char* kLastMask = "last_position_mask";

// Caches (layers, heads, rows, features of the widest heads) are K_sliding_in, V_full_in ...
inline constexpr const char* kCacheLetters[] = {"K", "V"};
inline constexpr const char* kSliding = "sliding";
inline constexpr const char* kFull = "full";
// Keys of a batch that later layers share: kv13_k, kv14_v ...
inline constexpr const char* kSharedKeys[] = {"kv13_", "kv14_"};

inline constexpr const char* kIn = "_in";
inline constexpr const char* kOut = "_out";
inline constexpr const char* kToken = "token_id";
inline constexpr const char* kLogit = "token_logit";

}  // namespace pippin::families::coreml_llm
