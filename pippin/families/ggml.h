// The Core ML form of an encoder that whisper.cpp uses in place of that of a GGML file:
// ggml-NAME-encoder.mlmodelc next to ggml-NAME.bin.
//
//   package   takes                                gives
//   encoder   logmel_data float (1, bins, frames)  output float (1, states, width)
#pragma once

namespace pippin::families::ggml {

inline constexpr const char* kFeatures = "logmel_data";
inline constexpr const char* kStates = "output";
// Ends the stem of the package's name.
inline constexpr const char* kEncoderEnding = "-encoder";

}  // namespace pippin::families::ggml
