// The Core ML forms of a Whisper model's parts that whisper.cpp uses in place of those of a GGML
// file: the encoder ggml-NAME-encoder.mlmodelc next to ggml-NAME.bin, and the decoder as shards
// ...-no-write-sFIRST-lLAYERS[-token][-logits].mlmodelc.
//
//   package   takes                                gives
//   encoder   logmel_data float (1, bins, frames)  output float (1, positions, width)
//   shard     token_data int32 (1, 1)              logits float (1, 1, vocabulary)
//             pos_data int32 (1)                   k_out_I, v_out_I (1, width, 1, 1)
//             slot_mask (1, 1, 1, slots)
//             self_mask (1, slots, 1, 1)
//             cross_k_I, cross_v_I (1, width, 1, positions)
//
// A shard has the layers I from FIRST on, with the states k_cache_I and v_cache_I, fp16 (1, width,
// 1, slots), which it reads only: the caller writes k_out_I and v_out_I into the token's slot. The
// slot has 1 in slot_mask; self_mask is 0 for slots up to it and kHidden after it. Shards after the
// first one take x_data (1, width, 1, 1) in place of the token, those before the last one give
// x_out.
#pragma once

namespace pippin::families::ggml {

inline constexpr const char* kFeatures = "logmel_data";
inline constexpr const char* kStates = "output";
// Ends the stem of the package's name.
inline constexpr const char* kEncoderEnding = "-encoder";

inline constexpr const char* kShardMark = "-no-write-s";
inline constexpr const char* kToken = "token_data";
inline constexpr const char* kPosition = "pos_data";
inline constexpr const char* kRow = "x_data";
inline constexpr const char* kSlotMask = "slot_mask";
inline constexpr const char* kSelfMask = "self_mask";
inline constexpr const char* kNewRow = "x_out";
inline constexpr const char* kLogits = "logits";
// These begin names that end in the number of a layer.
inline constexpr const char* kCrossKeys = "cross_k_";
inline constexpr const char* kCrossValues = "cross_v_";
inline constexpr const char* kNewKeys = "k_out_";
inline constexpr const char* kNewValues = "v_out_";
inline constexpr const char* kKeys = "k_cache_";
inline constexpr const char* kValues = "v_cache_";

inline constexpr float kHidden = -10000;

}  // namespace pippin::families::ggml
