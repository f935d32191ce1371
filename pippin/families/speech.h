// The family `speech`: one package X.mlpackage that recognizes speech, with a score of every token
// for each frame (CTC), or as a transducer.
//
//   function  takes                                  gives
//   main      input_values (1, samples)              last_hidden_state (1, frames, features)
//             or input_features (1, rows, bins)      logits (1, frames, vocabulary)
//
//   encode    the same                               last_hidden_state (1, frames, features)
//                                                    encoded (1, frames, n)
//   predict   token int32 (1, 1)                     predicted (1, 1, n)
//             hidden, cell (layers, 1, n)            next_hidden, next_cell (layers, 1, n)
//   join      encoded (1, frames, n)                 logits (1, frames, vocabulary + durations)
//             predicted (1, 1, n)
//
// A CTC model has `main`, a transducer the other three; `encode` is its default. Numbers are fp32.
// The input is the waveform, as the model's feature extractor scales it, or the rows of its
// spectrogram, without padding: its length is a range. `predict` starts with the blank and states
// of zeros; it is not run after a blank.
#pragma once

namespace pippin::families::speech {

inline constexpr const char* kName = "speech";

inline constexpr const char* kWaveform = "input_values";
inline constexpr const char* kFeatures = "input_features";
inline constexpr const char* kStates = "last_hidden_state";
inline constexpr const char* kLogits = "logits";

inline constexpr const char* kEncode = "encode";
inline constexpr const char* kEncoded = "encoded";
inline constexpr const char* kPredict = "predict";
inline constexpr const char* kToken = "token";
inline constexpr const char* kHidden = "hidden";
inline constexpr const char* kCell = "cell";
inline constexpr const char* kPredicted = "predicted";
inline constexpr const char* kNextHidden = "next_hidden";
inline constexpr const char* kNextCell = "next_cell";
inline constexpr const char* kJoin = "join";

// User-defined metadata: samples of the waveform per second, per row of the input (1 for a
// waveform) and per frame, and the blank's id.
inline constexpr const char* kRateKey = "pippin.sampling_rate";
inline constexpr const char* kRowKey = "pippin.row_samples";
inline constexpr const char* kFrameKey = "pippin.frame_samples";
inline constexpr const char* kBlankKey = "pippin.blank";
// Of a transducer: the most tokens of one frame, and, if the last logits of a row are scores of
// durations, these, in frames, separated by commas.
inline constexpr const char* kMaxSymbolsKey = "pippin.max_symbols";
inline constexpr const char* kDurationsKey = "pippin.durations";

}  // namespace pippin::families::speech
