#include "pippin/cli/bench/bench_speech.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>

#include <fmt/format.h>

#include "pippin/app/facts/machine.h"
#include "pippin/app/facts/model_cost.h"
#include "pippin/app/open/speech_model.h"
#include "pippin/base/stopwatch.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/io/json.h"

namespace pippin::cli {
namespace {

using SpeechClock = std::chrono::steady_clock;

double median_of_seconds(std::vector<double> seconds) {
  if (seconds.empty()) return 0;
  std::sort(seconds.begin(), seconds.end());
  const size_t middle = seconds.size() / 2;
  return seconds.size() % 2 == 1 ? seconds[middle] : (seconds[middle - 1] + seconds[middle]) / 2;
}

std::vector<float> random_numbers(int64_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<float> values(static_cast<size_t>(count));
  constexpr double kScale = 0.25;
  for (float& value : values) {
    value = static_cast<float>(kScale * (static_cast<double>(random() >> 11) * 0x1p-52 - 1));
  }
  return values;
}

// Each repetition encodes a window, then decodes tokens one by one.
void measure_windows(const SpeechBench& bench, const app::OpenedWindows& opened,
                     SpeechReport& report) {
  speech::SpeechModel& model = *opened.model;
  const speech::WindowShape shape = model.shape();
  report.window_seconds = shape.seconds();
  report.tokens = std::min(bench.tokens, model.context());
  const std::vector<float> features = random_numbers(opened.bins * shape.frames, bench.seed);
  std::mt19937_64 random(bench.seed);
  const auto vocab_size = static_cast<uint64_t>(model.vocab_size());
  // The first one reads the weights.
  for (int i = -1; i < bench.repetitions; ++i) {
    check_cancel();
    auto start = SpeechClock::now();
    const auto decoder = model.encode(features);
    const double encoder = seconds_since(start);
    start = SpeechClock::now();
    for (int64_t token = 0; token < report.tokens; ++token) {
      const auto id = static_cast<int32_t>(random() % vocab_size);
      decoder->feed({&id, 1});
    }
    if (i < 0) continue;
    report.encoder.push_back(encoder);
    report.decoder.push_back(seconds_since(start));
  }
}

void measure_recognizer(const SpeechBench& bench, speech::Recognizer& recognizer,
                        SpeechReport& report) {
  constexpr int64_t kSeconds = 30;
  const auto most = static_cast<int64_t>(recognizer.most_samples());
  const int64_t samples = std::min(kSeconds * recognizer.sampling_rate(), most);
  report.window_seconds =
      static_cast<double>(samples) / static_cast<double>(recognizer.sampling_rate());
  const std::vector<float> sound = random_numbers(samples, bench.seed);
  for (int i = -1; i < bench.repetitions; ++i) {
    check_cancel();
    const auto start = SpeechClock::now();
    recognizer.recognize(sound);
    if (i >= 0) report.encoder.push_back(seconds_since(start));
  }
}

}  // namespace

double SpeechReport::encoder_seconds() const {
  return median_of_seconds(encoder);
}

double SpeechReport::token_seconds() const {
  return tokens > 0 ? median_of_seconds(decoder) / static_cast<double>(tokens) : 0;
}

double SpeechReport::real_time_factor() const {
  return (encoder_seconds() + median_of_seconds(decoder)) / window_seconds;
}

SpeechReport bench_speech(const SpeechBench& bench) {
  SpeechReport report;
  report.run = measured_run(bench.name);
  report.repetitions = bench.repetitions;
  report.seed = bench.seed;
  if (app::is_whisper(bench.choice.path)) {
    const app::OpenedWindows opened = open_twice(bench.choice, app::open_windows, report.run);
    report.run.threads = opened.pool->num_threads();
    measure_windows(bench, opened, report);
  } else {
    const app::OpenedRecognizer opened = open_twice(
        bench.choice,
        [](const app::ModelChoice& choice) {
          return std::get<app::OpenedRecognizer>(app::open_speech(choice));
        },
        report.run);
    report.run.threads = opened.pool->num_threads();
    measure_recognizer(bench, *opened.recognizer, report);
  }
  report.run.peak_memory_bytes = app::peak_resident_bytes();
  return report;
}

std::string speech_lines(const SpeechReport& report) {
  std::string lines = load_lines(report.run);
  const auto line = [&]<typename... Args>(fmt::format_string<Args...> format, Args&&... args) {
    lines += fmt::format(format, std::forward<Args>(args)...) + "\n";
  };
  const double encoder = report.encoder_seconds();
  line("{}: {:.1f} ms median, {:.1f} ms min of {}, for {:.1f} s of sound ({:.1f}x real time)",
       report.tokens > 0 ? "Encoder       " : "Recognizer    ", encoder * 1e3,
       *std::min_element(report.encoder.begin(), report.encoder.end()) * 1e3, report.encoder.size(),
       report.window_seconds, report.window_seconds / encoder);
  if (report.tokens > 0) {
    line("Decoder       : {:.3f} ms per token median, {:.1f} tokens/s, of {} tokens",
         report.token_seconds() * 1e3, 1 / report.token_seconds(), report.tokens);
    line("Real time     : factor {:.4f} with {} tokens in a window", report.real_time_factor(),
         report.tokens);
  } else {
    line("Real time     : factor {:.4f}", report.real_time_factor());
  }
  return lines + memory_line(report.run);
}

std::string speech_json(const SpeechReport& report) {
  JsonWriter json(2);
  json.begin_object();
  write_run(json, report.run);
  json.member("seed", report.seed);
  json.member("window_seconds", report.window_seconds);
  json.member(report.tokens > 0 ? "encoder_seconds" : "recognizer_seconds",
              report.encoder_seconds());
  json.member("samples", report.encoder);
  if (report.tokens > 0) {
    json.member("tokens", report.tokens).member("token_seconds", report.token_seconds());
    json.member("decoder_samples", report.decoder);
  }
  json.member("real_time_factor", report.real_time_factor());
  json.end_object();
  return json.text() + "\n";
}

}  // namespace pippin::cli
