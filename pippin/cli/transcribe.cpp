#include "pippin/cli/transcribe.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "pippin/app/live_transcription.h"
#include "pippin/app/open/text_input.h"
#include "pippin/app/speech_to_text.h"
#include "pippin/base/byte_span.h"
#include "pippin/base/error.h"
#include "pippin/base/files/created_folders.h"
#include "pippin/base/files/output.h"
#include "pippin/base/log.h"
#include "pippin/base/stopwatch.h"
#include "pippin/cli/options/options.h"
#include "pippin/cli/options/progress.h"
#include "pippin/cli/options/pull_display.h"
#include "pippin/cli/options/transcribe_options.h"
#include "pippin/io/load_cache.h"
#include "pippin/sound/sound_reader.h"
#include "pippin/speech/languages.h"
#include "pippin/speech/transcriber.h"
#include "pippin/speech/writers/formats.h"

namespace pippin::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kAll = "all";

struct TranscribeCommand {
  app::ModelChoice choice;
  std::vector<std::string> files;
  std::vector<std::string> format_names;
  std::string output_dir;
  bool json = false, no_stats = false, no_cache = false;
  TranscribeArguments arguments;
};

std::vector<speech::Format> formats_of(const TranscribeCommand& command) {
  if (command.json && !command.format_names.empty()) {
    throw CLI::ValidationError("--json is --output-format json: give one of them");
  }
  if (command.json) return {speech::Format::Json};
  std::vector<speech::Format> formats;
  for (const speech::FormatName& known : speech::all_formats()) {
    for (const std::string& name : command.format_names) {
      if (name != known.name && name != kAll) continue;
      formats.push_back(known.format);
      break;
    }
  }
  if (formats.empty()) formats.push_back(speech::Format::Text);
  return formats;
}

std::string stem_of(const std::string& file) {
  return file == "-" ? "stdin" : fs::path(file).stem().string();
}

// Finds mistakes before the model is opened.
void check_files(const TranscribeCommand& command, const std::vector<speech::Format>& formats) {
  if (std::count(command.files.begin(), command.files.end(), "-") > 1) {
    throw CLI::ValidationError("stdin (-) can be read once");
  }
  std::set<std::string> stems;
  for (const std::string& file : command.files) {
    if (file != "-" && !fs::exists(file)) {
      fail(ErrorCode::NotFound, "{}: there is no such file", file);
    }
    if (!stems.insert(stem_of(file)).second && !command.output_dir.empty()) {
      fail(ErrorCode::InvalidArgument, "two files would be written to {}: rename one of them",
           (fs::path(command.output_dir) / stem_of(file)).string());
    }
  }
  if (!command.output_dir.empty()) return;
  if (formats.size() > 1) {
    throw CLI::ValidationError("several formats need --output-dir");
  }
  const bool can_repeat =
      formats.front() == speech::Format::Text || formats.front() == speech::Format::Json;
  if (command.files.size() > 1 && !can_repeat) {
    throw CLI::ValidationError(
        fmt::format("several files as {} need --output-dir", speech::format_name(formats.front())));
  }
}

// Whether bytes begin like a file of sound rather than samples.
bool has_header(std::string_view bytes) {
  for (const std::string_view mark : {"RIFF", "fLaC", "OggS", "FORM", "caff", "ID3"}) {
    if (bytes.starts_with(mark)) return true;
  }
  return false;
}

// Standard input: a file of sound, or signed 16-bit samples, which are transcribed piece by piece
// while they are recorded.
class StdinSound {
 public:
  StdinSound(const app::SpeechToText& model, const speech::TranscribeOptions& options,
             const speech::Events& events)
      : model_(model), options_(options), events_(events) {
    // Clips need the whole recording.
    if (options.clip_timestamps.empty()) live_.emplace(model, options, events);
  }

  speech::Transcription transcribe() {
    app::for_each_block("-", [&](std::string_view bytes) { take(bytes); });
    if (!is_raw_ && has_header(bytes_)) {
      samples_ = sound::read_sound(as_byte_span(bytes_), kName, model_.sampling_rate());
    } else {
      convert(as_byte_span(bytes_));
    }
    return with_context(kName, [&] {
      if (!is_live_) return model_.transcribe(samples_, options_, events_);
      live_->add(samples_);
      return live_->finish();
    });
  }

 private:
  static constexpr const char* kName = "stdin";

  void take(std::string_view bytes) {
    bytes_ += bytes;
    received_ += bytes.size();
    const int64_t rate = model_.sampling_rate();
    const double seconds = static_cast<double>(received_) / 2 / static_cast<double>(rate);
    const sound::SoundLimits limits;
    if (seconds > limits.max_seconds) {
      fail(ErrorCode::LimitExceeded, "{}: more than {} s of sound", kName, limits.max_seconds);
    }
    constexpr size_t kHeader = 4;
    if (!is_raw_ && (received_ < kHeader || has_header(bytes_))) return;
    is_raw_ = true;
    const size_t whole = bytes_.size() / 2 * 2;
    convert(as_byte_span(bytes_).first(whole));
    bytes_.erase(0, whole);
    // A recording in progress does not arrive sooner than it is spoken, a stored one does.
    constexpr double kLeast = 0.5, kFastest = 1.5;
    const double elapsed = seconds_since(start_);
    const bool is_stored = elapsed < kLeast || seconds > kFastest * elapsed + kLeast;
    if (!live_ || (!is_live_ && is_stored)) return;
    is_live_ = true;
    with_context(kName, [&] { live_->add(samples_); });
    samples_.clear();
  }

  void convert(ByteSpan bytes) {
    const int64_t rate = model_.sampling_rate();
    const std::vector<float> samples =
        sound::SoundReader::pcm16(bytes, kName, {rate, 1}, rate).read_all();
    samples_.insert(samples_.end(), samples.begin(), samples.end());
  }

  const app::SpeechToText& model_;
  const speech::TranscribeOptions& options_;
  const speech::Events& events_;
  std::optional<app::LiveTranscription> live_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::string bytes_;  // of a file, or of half a sample
  size_t received_ = 0;
  bool is_raw_ = false, is_live_ = false;
  std::vector<float> samples_;  // that were not transcribed so far
};

speech::Transcription transcribe_sound(const std::string& file, const app::SpeechToText& model,
                                       const speech::TranscribeOptions& options,
                                       const speech::Events& events) {
  if (file == "-") return StdinSound(model, options, events).transcribe();
  const std::vector<float> samples = sound::read_sound(file, model.sampling_rate());
  return with_context(file, [&] { return model.transcribe(samples, options, events); });
}

// Of a file; JSON of several files is printed as JSON Lines.
std::string written(const TranscribeCommand& command, const speech::TranscribeOptions& options,
                    const speech::Transcription& transcription, speech::Format format) {
  if (format != speech::Format::Json) {
    return speech::write_transcription(transcription, format, command.arguments.subtitles);
  }
  const bool in_one_line = command.files.size() > 1 && command.output_dir.empty();
  return speech::write_json(transcription,
                            {.with_words = options.word_timestamps, .in_one_line = in_one_line});
}

// Transcribes one file; prints its text as it is recognized if `prints_text`.
speech::Transcription transcribe_file(const TranscribeCommand& command,
                                      const app::SpeechToText& model,
                                      const speech::TranscribeOptions& options,
                                      const std::string& file, bool prints_text) {
  const auto start = std::chrono::steady_clock::now();
  // Text on the terminal shows the progress by itself.
  const bool shows_bar =
      ::isatty(STDERR_FILENO) == 1 && !(prints_text && ::isatty(STDOUT_FILENO) == 1);
  std::optional<double> probability;
  speech::Transcription transcription;
  {
    Progress progress("Transcribing", shows_bar ? Progress::Style::Auto : Progress::Style::Quiet,
                      stderr, "s");
    speech::Events events;
    events.detected = [&](const std::string& /*language*/, double p) { probability = p; };
    events.segment = [&](const speech::Segment& segment) {
      const std::string_view text = speech::trimmed(segment.text);
      if (!prints_text || text.empty()) return;
      print_out(fmt::format("{}\n", text));
      std::fflush(stdout);
    };
    events.progress = [&](double done, double all) {
      progress.update(static_cast<uint64_t>(done), static_cast<uint64_t>(all));
    };
    transcription = transcribe_sound(file, model, options, events);
  }
  if (!command.no_stats) {
    const double seconds = seconds_since(start);
    std::string language;
    if (model.knows_languages()) {
      language = fmt::format("{}{}, ",
                             transcription.language.empty()
                                 ? "no language"
                                 : speech::language_name(transcription.language),
                             probability ? fmt::format(" ({:.0f}%)", *probability * 100) : "");
    }
    fmt::print(stderr, "{}: {}{:.1f} s of sound in {:.1f} s ({:.1f}x)\n", file, language,
               transcription.duration, seconds,
               seconds > 0 ? transcription.duration / seconds : 0.0);
  }
  return transcription;
}

// Finds options that the model does not take, by their names on the command line.
void check_options(const app::SpeechToText& model, const speech::TranscribeOptions& options) {
  if (const auto name = model.refused_option(options)) {
    std::string option(*name);
    std::replace(option.begin(), option.end(), '_', '-');
    fail(ErrorCode::InvalidArgument, "--{}: only Whisper models take it, this one does not",
         option);
  }
  model.check(options);
}

void transcribe(TranscribeCommand command) {
  const speech::TranscribeOptions options = command.arguments.checked();
  const std::vector<speech::Format> formats = formats_of(command);
  check_files(command, formats);
  const LogScope log(command.no_stats ? LogLevel::Warn : LogLevel::Info);
  command.choice.pulls = show_pulls();
  command.choice.vad = command.arguments.vad;
  if (!command.no_cache) command.choice.load.compute.cache = default_load_cache();
  const app::SpeechToText model = app::SpeechToText::open(command.choice);
  check_options(model, options);
  const bool writes_files = !command.output_dir.empty();
  CreatedFolders folders;
  if (writes_files) folders.create(command.output_dir);
  const bool prints_text = !writes_files && formats.front() == speech::Format::Text;
  for (size_t i = 0; i < command.files.size(); ++i) {
    const std::string& file = command.files[i];
    if (prints_text && command.files.size() > 1) {
      print_out(fmt::format("{}==> {} <==\n", i > 0 ? "\n" : "", file));
    }
    const speech::Transcription transcription =
        transcribe_file(command, model, options, file, prints_text);
    if (prints_text) continue;
    for (const speech::Format format : formats) {
      const std::string text = written(command, options, transcription, format);
      if (writes_files) {
        write_file(fs::path(command.output_dir) /
                       fmt::format("{}.{}", stem_of(file), speech::format_name(format)),
                   text);
      } else {
        print_out(text);
      }
    }
  }
}

}  // namespace

CLI::App* add_transcribe_command(CLI::App& app) {
  auto command = std::make_shared<TranscribeCommand>();
  CLI::App* sub = app.add_subcommand("transcribe", "Print the text of recordings");
  const auto option = [&](const char* name, auto& value, const char* type, const char* help) {
    return sub->add_option(name, value, help)->type_name(type);
  };
  option(
      "MODEL", command->choice.path, "",
      "A model of speech: a folder, a package, a folder of WhisperKit's packages, or org/name on "
      "the Hub")
      ->required();
  option(
      "FILE", command->files, "",
      "WAV, FLAC, Ogg, MP3, AIFF, AU and CAF files; -: stdin, a file or signed 16-bit samples at "
      "16 kHz")
      ->required();
  std::vector<std::string> names = {kAll};
  for (const speech::FormatName& format : speech::all_formats()) names.emplace_back(format.name);
  option("-f,--output-format", command->format_names, "FORMAT",
         "txt, json, srt, vtt, tsv, lrc or all; repeatable with --output-dir (txt)")
      ->allow_extra_args(false)
      ->check(CLI::IsMember(names).description(""));
  option("-o,--output-dir", command->output_dir, "FOLDER",
         "Write FOLDER/NAME.FORMAT for each file instead of printing");
  sub->add_flag("--json", command->json, "Print segments with times and scores as JSON");
  add_transcribe_options(*sub, command->arguments);
  option("--tokenizer", command->choice.tokenizer, "FOLDER", "Tokenizer for a package without one");
  option("--encoder", command->choice.load.encoder, "PACKAGE",
         "Encoder of whisper.cpp's Core ML form; none: the model's own (for ggml-NAME.bin: "
         "ggml-NAME-encoder.mlmodelc next to it)");
  option("--decoder", command->choice.decoder, "PACKAGE",
         "Shard of a decoder in whisper.cpp's Core ML form; the others lie next to it");
  option("-t,--threads", command->choice.load.threads, "N", "Threads (default: one per core)")
      ->check(between(1, 1024));
  add_no_cache_option(*sub, command->no_cache);
  sub->add_flag("--no-stats", command->no_stats, "Print no statistics");
  sub->footer(
      "Text goes to stdout as it is recognized, everything else to stderr. Models other than\n"
      "Whisper take only --word-timestamps, --without-timestamps and --vad of those of decoding.\n"
      "docs/speech.md has examples.");
  sub->callback([command] { transcribe(*command); });
  return sub;
}

}  // namespace pippin::cli
