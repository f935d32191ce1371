// The family `whisperkit`, in WhisperKit's format: a folder of packages that map recordings to text
//
//   MelSpectrogram  audio float (samples)              melspectrogram_features (1, bins, 1, frames)
//   AudioEncoder    melspectrogram_features            encoder_output_embeds (1, d, 1, positions)
//   TextDecoder     input_ids int32 (1)                logits (1, 1, vocabulary)
//                   cache_length int32 (1)             key_cache_updates (1, d * layers, 1, 1)
//                   key_cache, value_cache             value_cache_updates (1, d * layers, 1, 1)
//                   kv_cache_update_mask (1, slots)    alignment_heads_weights (1, positions)
//                   encoder_output_embeds
//                   decoder_key_padding_mask (1, slots)
//
// The caches are (1, d * layers, 1, slots). A run of the decoder takes the token at position
// `cache_length`, whose slot has 1 in the update mask, and gives its keys and values; the caller
// writes them into the slot. The padding mask is 0 for slots up to the token's and kHidden after
// it. The last output, the mean of some heads' weights over the encoder's states, is optional, and
// so is MelSpectrogram.
#pragma once

namespace pippin::families::whisperkit {

inline constexpr const char* kName = "whisperkit";

inline constexpr const char* kMelPart = "MelSpectrogram";
inline constexpr const char* kEncoderPart = "AudioEncoder";
inline constexpr const char* kDecoderPart = "TextDecoder";

inline constexpr const char* kAudio = "audio";
inline constexpr const char* kFeatures = "melspectrogram_features";
inline constexpr const char* kStates = "encoder_output_embeds";
inline constexpr const char* kIds = "input_ids";
inline constexpr const char* kLength = "cache_length";
inline constexpr const char* kKeys = "key_cache";
inline constexpr const char* kValues = "value_cache";
inline constexpr const char* kUpdateMask = "kv_cache_update_mask";
inline constexpr const char* kPaddingMask = "decoder_key_padding_mask";
inline constexpr const char* kLogits = "logits";
inline constexpr const char* kNewKeys = "key_cache_updates";
inline constexpr const char* kNewValues = "value_cache_updates";
inline constexpr const char* kAlignment = "alignment_heads_weights";

// The padding mask of slots that are not seen.
inline constexpr float kHidden = -10000;
// The slots of published packages.
inline constexpr int kUsualSlots = 224;

// meta.json, which Pippin adds: it identifies the folder.
namespace meta {
inline constexpr const char* kFile = "meta.json";
inline constexpr const char* kFamily = "family";
inline constexpr const char* kContext = "context";
}  // namespace meta

}  // namespace pippin::families::whisperkit
