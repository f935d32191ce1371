// Packages of Parakeet's token-and-duration transducers, as FluidInference publishes them: a folder
// of four, with the tokens in a file.
//
//   Preprocessor    audio_signal float (1, samples)    mel (1, bins, frames)
//                   audio_length int32 (1)             mel_length int32 (1)
//   Encoder         mel, mel_length                    encoder (1, d, steps)
//                                                      encoder_length int32 (1)
//   Decoder         targets int32 (1, 1)               decoder (1, n, 1)
//                   target_length int32 (1)            h_out, c_out (layers, 1, n)
//                   h_in, c_in (layers, 1, n)
//   JointDecision   encoder_step (1, d, 1)             token_id int32, token_prob float,
//                   decoder_step (1, n, 1)             duration int32: one number each
//
// Encoder and JointDecision may have endings: Encoder_v2, EncoderInt4, JointDecisionv3. A window
// shorter than `samples` is padded with zeros, and the lengths count what precedes them. The blank
// follows the tokens of the file, and is the first token of a text.
#pragma once

#include <cstdint>

namespace pippin::families::fluidaudio {

inline constexpr const char* kPreprocessorPart = "Preprocessor";
inline constexpr const char* kEncoderPart = "Encoder";
inline constexpr const char* kDecoderPart = "Decoder";
inline constexpr const char* kJointPart = "JointDecision";
inline constexpr const char* kVocabularyFile = "parakeet_vocab.json";

inline constexpr const char* kAudio = "audio_signal";
inline constexpr const char* kAudioLength = "audio_length";
inline constexpr const char* kMel = "mel";
inline constexpr const char* kMelLength = "mel_length";
inline constexpr const char* kEncoded = "encoder";
inline constexpr const char* kEncodedLength = "encoder_length";
inline constexpr const char* kTargets = "targets";
inline constexpr const char* kTargetLength = "target_length";
inline constexpr const char* kHidden = "h_in";
inline constexpr const char* kCell = "c_in";
inline constexpr const char* kPredicted = "decoder";
inline constexpr const char* kNewHidden = "h_out";
inline constexpr const char* kNewCell = "c_out";
inline constexpr const char* kEncodedStep = "encoder_step";
inline constexpr const char* kPredictedStep = "decoder_step";
inline constexpr const char* kToken = "token_id";
inline constexpr const char* kProbability = "token_prob";
inline constexpr const char* kDuration = "duration";

inline constexpr int64_t kSamplingRate = 16000;
inline constexpr int64_t kMaxSymbols = 10;  // that stay at one step

}  // namespace pippin::families::fluidaudio
