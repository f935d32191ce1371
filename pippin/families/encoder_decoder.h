// The family `encoder-decoder`: one package X.mlpackage with an encoder and a decoder (T5, BART),
// which maps one text to another.
//
//   function  takes                                gives                keeps
//   encode    input_ids int32 (1, source)          last_hidden_state    crossKeys, crossValues
//   main      inputIds int32 (1, q)                logits               keyCache, valueCache
//             causalMask float (1, 1, q, end)
//             sourceMask float (1, 1, 1, source)
//
// `encode` fills the slots [0, source) of the decoder's cross-attention caches; `main` takes q
// tokens after end - q others, as in the family `stateful`. The default function is `main`.
#pragma once

namespace pippin::families::encoder_decoder {

inline constexpr const char* kName = "encoder-decoder";

inline constexpr const char* kEncode = "encode";
inline constexpr const char* kSourceIds = "input_ids";
inline constexpr const char* kStates = "last_hidden_state";
inline constexpr const char* kSourceMask = "sourceMask";
// (layers, 1, heads, maximum source tokens, features per head)
inline constexpr const char* kCrossKeys = "crossKeys";
inline constexpr const char* kCrossValues = "crossValues";

// User-defined metadata: the token with which the decoder begins, and the first one that it writes
// whatever its logits, if there is one.
inline constexpr const char* kStartKey = "pippin.decoder_start";
inline constexpr const char* kFirstKey = "pippin.forced_first";

}  // namespace pippin::families::encoder_decoder
