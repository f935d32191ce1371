// The options of a transcription as a table, from which the command line, Python and C parse them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "pippin/speech/options.h"

namespace pippin::speech {

// All but the language, the task and the temperatures, which have functions below.
struct TranscribeOption {
  template <typename T>
  using Member = T TranscribeOptions::*;

  const char* name;   // OpenAI's whisper's; the member's
  const char* alias;  // in faster-whisper, if another one; or null
  std::variant<Member<bool>, Member<int64_t>, Member<uint64_t>, Member<double>, Member<std::string>,
               Member<std::optional<double>>, Member<std::vector<int32_t>>,
               Member<std::vector<double>>>
      member;
  const char* symbol;  // of the value, in `help`
  const char* help;
};

std::span<const TranscribeOption> transcribe_options();

// Sets the language: a code, an English name, or "auto". Throws InvalidArgument.
void set_language(TranscribeOptions& options, std::string_view language);
// Sets the task, "transcribe" or "translate". Throws InvalidArgument.
void set_task(TranscribeOptions& options, std::string_view task);

// Returns the temperatures to try in order: the first, and those above it by multiples of `step`,
// up to 1. Only the first if `step` is 0. Throws InvalidArgument for a step below 0.01 but 0.
std::vector<double> fallback_temperatures(double first, double step);

}  // namespace pippin::speech
