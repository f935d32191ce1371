// Packages of Silero's voice activity detector, as FluidInference/silero-vad-coreml publishes them:
//
//   audio_input (1, context + window)   vad_output (1, 1, 1): the probability of speech in it
//   hidden_state (1, n)                 new_hidden_state (1, n)
//   cell_state (1, n)                   new_cell_state (1, n)
//
// An input begins with the last `context` samples of the input before it; the states are those that
// the run before gave, zeros at first.
#pragma once

#include <cstdint>

namespace pippin::families::silero {

inline constexpr const char* kAudio = "audio_input";
inline constexpr const char* kHidden = "hidden_state";
inline constexpr const char* kCell = "cell_state";
inline constexpr const char* kProbability = "vad_output";
inline constexpr const char* kNewHidden = "new_hidden_state";
inline constexpr const char* kNewCell = "new_cell_state";

inline constexpr int64_t kSamplingRate = 16000;
inline constexpr int64_t kContext = 64;  // samples

}  // namespace pippin::families::silero
