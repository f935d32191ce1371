#include "pippin/cli/options/transcribe_options.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/base/numbers/number.h"
#include "pippin/cli/options/options.h"
#include "pippin/speech/languages.h"

namespace pippin::cli {
namespace {

// Adds an option whose value is a number, or none for no limit.
void add_threshold(CLI::App& command, const char* name, std::optional<double>& value,
                   const char* help) {
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
  command.add_option_function<std::string>(name, read, help)->type_name("X");
}

}  // namespace

speech::TranscribeOptions TranscribeArguments::checked() const {
  speech::TranscribeOptions checked = options;
  if (language != "auto") {
    checked.language = speech::find_language(language);
    if (!checked.language) {
      throw CLI::ValidationError(fmt::format(
          "--language: {} is neither a language of Whisper's, such as German or de, nor auto",
          language));
    }
  }
  checked.task = task == "translate" ? speech::Task::Translate : speech::Task::Transcribe;
  checked.temperatures = {temperature};
  constexpr double kMost = 1 + 1e-6;
  for (int i = 1; increment > 0 && temperature + i * increment <= kMost; ++i) {
    checked.temperatures.push_back(temperature + i * increment);
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
  try {
    checked.check();
  } catch (const Error& error) {
    throw CLI::ValidationError(error.what());
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
  command.add_flag("--word-timestamps", options.word_timestamps, "Find the times of words");
  command.add_flag("--without-timestamps", options.without_timestamps,
                   "Without timestamps: one segment per window of 30 s");
  option("--initial-prompt", options.initial_prompt, "TEXT",
         "Text before the first window: names, spellings, style");
  command.add_flag("--carry-initial-prompt", options.carry_initial_prompt,
                   "Use it before each window");
  option("--hotwords", options.hotwords, "TEXT", "Words before the previous text of each window");
  option("--condition-on-previous-text", options.condition_on_previous_text, "BOOL",
         "Give a window the text of those before (true); false avoids repetition loops");
  option("--temperature", arguments.temperature, "T", "Temperature of samples; 0: greedy (0)");
  option("--temperature-increment-on-fallback", arguments.increment, "T",
         "Temperature to add, up to 1, while a window's text fails; 0: accept it (0.2)");
  option("--best-of", options.best_of, "N", "Samples at temperatures above 0 (5)");
  option("--beam-size", options.beam_size, "N", "Beams at temperature 0; 0: greedy (0)");
  option("--patience", options.patience, "X",
         "The search ends when beam size * X texts are complete (1)");
  command
      .add_option_function<double>(
          "--length-penalty", [&options](double value) { options.length_penalty = value; },
          "Divide scores by ((5 + length) / 6)^X (default: by the length)")
      ->type_name("X");
  option("--max-tokens", options.max_tokens, "N",
         "Maximum number of tokens of a window (half of the model's context)")
      ->check(between(1));
  option("--suppress-tokens", options.suppress_tokens, "IDS",
         "Tokens that are never written, separated by commas; -1: the model's list (-1)")
      ->delimiter(',')
      ->allow_extra_args(false);
  add_threshold(command, "--compression-ratio-threshold", options.compression_ratio_threshold,
                "A text that zlib compresses more has failed; none: any (2.4)");
  add_threshold(command, "--logprob-threshold", options.logprob_threshold,
                "A text with a lower average log-probability has failed; none: any (-1)");
  add_threshold(command, "--no-speech-threshold", options.no_speech_threshold,
                "A failed window with a higher probability of no speech is silence; none (0.6)");
  option("--max-initial-timestamp", options.max_initial_timestamp, "SECONDS",
         "Latest start of a window's first segment (1); below 0: any");
  option("--clip-timestamps", options.clip_timestamps, "SECONDS",
         "Transcribe only these parts: START,END,START,END ...; the last END may be left out")
      ->delimiter(',')
      ->allow_extra_args(false);
  add_threshold(command, "--hallucination-silence-threshold",
                options.hallucination_silence_threshold,
                "Leave out improbable words between pauses of more seconds, with "
                "--word-timestamps (none)");
  option("--seed", options.seed, "N", "Seed of the samples (0)");
  option("--prepend-punctuations", options.prepend_punctuations, "MARKS",
         "Marks to join with the word after them, with --word-timestamps");
  option("--append-punctuations", options.append_punctuations, "MARKS",
         "Marks to join with the word before them, with --word-timestamps");
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
