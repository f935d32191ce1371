// The family `encoder-decoder`: one package X.mlpackage with an encoder and a decoder. It maps one
// text to another (T5, BART), or a recording to a text (Whisper, Moonshine).
//
//   function  takes                                    gives                keeps
//   encode    input_ids int32 (1, source)              last_hidden_state    crossKeys, crossValues
//             or input_features float (1, bins, frames)
//             or input_values float (1, samples)
//   main      inputIds int32 (1, q)                    logits               keyCache, valueCache
//             causalMask float (1, 1, q, end)
//             sourceMask float (1, 1, 1, source)
//   align     inputIds int32 (1, n)                    attention
//             causalMask float (1, 1, n, n)
//   attend    encoder_states float (1, source, width)  last_hidden_state    crossKeys, crossValues
//
// `encode` fills the slots [0, source) of the decoder's cross-attention caches; `main` takes q
// tokens after end - q others, as in the family `stateful`. A spectrogram has a fixed length: it
// fills all slots and needs no sourceMask. `align`, which not all packages have, computes the
// first n tokens of a target at once and gives the weights (1, heads, n, source) with which some
// heads attend to the source. `attend`, of programs built to run with the encoder of another
// package (families/ggml.h), does the part of `encode` after the encoder. The default function is
// `main`.
#pragma once

namespace pippin::families::encoder_decoder {

inline constexpr const char* kName = "encoder-decoder";

inline constexpr const char* kEncode = "encode";
inline constexpr const char* kSourceIds = "input_ids";
inline constexpr const char* kSourceFeatures = "input_features";
inline constexpr const char* kSourceSamples = "input_values";
inline constexpr const char* kStates = "last_hidden_state";
inline constexpr const char* kSourceMask = "sourceMask";
// (layers, 1, heads, maximum source tokens, features per head)
inline constexpr const char* kCrossKeys = "crossKeys";
inline constexpr const char* kCrossValues = "crossValues";

inline constexpr const char* kAlign = "align";
inline constexpr const char* kAttention = "attention";

inline constexpr const char* kAttend = "attend";
inline constexpr const char* kSourceStates = "encoder_states";

// User-defined metadata: the token with which the decoder begins, and the first one that it writes
// whatever its logits, if there is one.
inline constexpr const char* kStartKey = "pippin.decoder_start";
inline constexpr const char* kFirstKey = "pippin.forced_first";

}  // namespace pippin::families::encoder_decoder
