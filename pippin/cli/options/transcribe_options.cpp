#include "pippin/cli/options/transcribe_options.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/cli/options/options.h"
#include "pippin/speech/option_table.h"

namespace pippin::cli {
namespace {

// Each adds an option of a type.
template <typename T>
void add_known(CLI::App& command, const std::string& name, T& value,
               const speech::TranscribeOption& known) {
  CLI::Option* option = nullptr;
  if constexpr (std::is_same_v<T, bool>) {
    if (*known.symbol == '\0') {
      command.add_flag(name, value, known.help);
      return;
    }
  }
  option = command.add_option(name, value, known.help);
  option->type_name(known.symbol);
  if constexpr (std::is_same_v<T, uint64_t>) option->check(seed_number());
  if constexpr (!std::is_same_v<T, std::string> && !std::is_arithmetic_v<T>) {
    option->delimiter(',')->allow_extra_args(false);
  }
}

// A number, or none for no limit.
void add_known(CLI::App& command, const std::string& name, std::optional<double>& value,
               const speech::TranscribeOption& known) {
  const auto read = [&value, name](const std::string& text) {
    double number = 0;
    if (text == "none" || text == "None") {
      value.reset();
    } else if (CLI::detail::lexical_cast(text, number)) {
      value = number;
    } else {
      throw CLI::ValidationError(fmt::format("{}: {} is neither a number nor none", name, text));
    }
  };
  command.add_option_function<std::string>(name, read, known.help)->type_name(known.symbol);
}

}  // namespace

speech::TranscribeOptions TranscribeArguments::checked() const {
  speech::TranscribeOptions checked = options;
  checked.vad_filter = !vad.empty();
  if (vad.empty() && checked.has_silence_rules()) {
    throw CLI::ValidationError("options of silence (--vad-threshold ...) need --vad MODEL");
  }
  try {
    speech::set_language(checked, language);
    speech::set_task(checked, task);
    checked.temperatures = speech::fallback_temperatures(temperature, increment);
    checked.check();
  } catch (const Error& error) {
    throw CLI::ValidationError(error.what());
  }
  const bool is_laid_out = subtitles.max_line_width || subtitles.max_line_count ||
                           subtitles.max_words_per_line || subtitles.highlight_words;
  if (is_laid_out && !checked.word_timestamps) {
    throw CLI::ValidationError(
        "--highlight-words, --max-line-width, --max-line-count and --max-words-per-line need "
        "--word-timestamps");
  }
  if (subtitles.max_line_count && !subtitles.max_line_width) {
    throw CLI::ValidationError("--max-line-count has no effect without --max-line-width");
  }
  return checked;
}

void add_transcribe_options(CLI::App& command, TranscribeArguments& arguments) {
  speech::TranscribeOptions& options = arguments.options;
  const auto option = [&](const char* name, auto& value, const char* type, const char* help) {
    return command.add_option(name, value, help)->type_name(type);
  };
  option("-l,--language", arguments.language, "LANGUAGE",
         "The language that is spoken, by code or English name; auto: detect it (auto)");
  option("--task", arguments.task, "TASK", "transcribe, or translate into English (transcribe)")
      ->check(CLI::IsMember({"transcribe", "translate"}).description(""));
  option("--vad", arguments.vad, "MODEL",
         "Leave out silence, found by a model of voice: a package of Silero's, a folder of one, or "
         "org/name");
  option("--temperature", arguments.temperature, "T", "Temperature of samples; 0: greedy (0)");
  option("--temperature-increment-on-fallback", arguments.increment, "T",
         "Temperature to add, up to 1, while a window's text fails; 0: accept it (0.2)");
  for (const speech::TranscribeOption& known : speech::transcribe_options()) {
    if (std::string_view(known.name) == "vad_filter") continue;  // --vad MODEL sets it
    std::string name = fmt::format("--{}", known.name);
    std::replace(name.begin(), name.end(), '_', '-');
    std::visit([&](auto member) { add_known(command, name, options.*member, known); },
               known.member);
  }
  speech::SubtitleOptions& subtitles = arguments.subtitles;
  command.add_flag("--highlight-words", subtitles.highlight_words,
                   "Underline each word as it is spoken, in srt and vtt");
  option("--max-line-width", subtitles.max_line_width, "N",
         "Most characters of a line, in srt and vtt")
      ->check(between(1));
  option("--max-line-count", subtitles.max_line_count, "N", "Most lines of a subtitle")
      ->check(between(1));
  option("--max-words-per-line", subtitles.max_words_per_line, "N",
         "Most words of a subtitle, without --max-line-width")
      ->check(between(1));
}

}  // namespace pippin::cli
