// The options of decoding recordings, with the names of OpenAI's whisper.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pippin/speech/options.h"
#include "pippin/speech/writers/formats.h"

namespace CLI {
class App;
}  // namespace CLI

namespace pippin::cli {

struct TranscribeArguments {
  speech::TranscribeOptions options;
  speech::SubtitleOptions subtitles;
  std::string language = "auto", task = "transcribe";
  std::string vad;  // a model of voice; empty: none
  double temperature = 0, increment = 0.2;

  // Returns the checked options. Throws CLI::ValidationError.
  speech::TranscribeOptions checked() const;
};

// `arguments` must outlive `command`.
void add_transcribe_options(CLI::App& command, TranscribeArguments& arguments);

}  // namespace pippin::cli
