// The result of a transcription: its text in segments, and the words of these.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pippin/speech/options.h"

namespace pippin::speech {

// A word of a segment.
struct Word {
  std::string text;           // with the space before it
  double start = 0, end = 0;  // seconds
  double probability = 0;     // the mean of its tokens'
};

// A part of a recording, between two timestamps that the model wrote.
struct Segment {
  int64_t id = 0;                // its number, from 0
  int64_t seek = 0;              // the first frame of its window
  double start = 0, end = 0;     // seconds
  std::string text;              // with the space before it
  std::vector<int32_t> tokens;   // of its text, with the timestamps around it
  double temperature = 0;        // that its window was decoded at
  double avg_logprob = 0;        // of its window's tokens
  double compression_ratio = 0;  // of its window's text
  double no_speech_prob = 0;     // of its window; NaN if the model has no token for it
  std::vector<Word> words;       // empty unless they were wanted
};

// The text of a recording.
struct Transcription {
  Task task = Task::Transcribe;   // as in the options
  std::string language;           // a code; empty if nothing was decoded and none was given
  double duration = 0;            // of the recording, in seconds
  std::string text;               // of all segments
  std::vector<Segment> segments;  // in order
};

}  // namespace pippin::speech
