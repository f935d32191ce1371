// The interface of a package of the family `speech` (families/speech.h), as it declares it.
#pragma once

#include <cstdint>
#include <string>

#include "pippin/mil/model.h"
#include "pippin/runtime/speech/transducer_decoding.h"

namespace pippin::runtime {

struct SpeechSchema {
  std::string function;  // that takes the input
  std::string input;     // its name
  bool is_transducer = false;
  int64_t bins = 0;                   // numbers of a row of features; 0: the input is a waveform
  int64_t shortest = 0, longest = 0;  // samples or rows of an input
  int64_t sampling_rate = 0, row_samples = 0, frame_samples = 0;
  TransducerRules rules;  // of a CTC model: the blank alone
};

// Whether the program recognizes speech.
bool is_speech(const mil::Model& model);

// Throws Unsupported for other programs, InvalidFile for one whose metadata contradict it.
SpeechSchema speech_schema(const mil::Model& model);

}  // namespace pippin::runtime
