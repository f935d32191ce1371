// The result of a transcription.
#pragma once

#include <string>
#include <vector>

#include "pippin/speech/options.h"
#include "pippin/speech/segments.h"

namespace pippin::speech {

struct Transcription {
  Task task = Task::Transcribe;
  std::string language;  // a code; empty if nothing was decoded and none was given
  double duration = 0;   // of the recording, in seconds
  std::string text;
  std::vector<Segment> segments;
};

}  // namespace pippin::speech
