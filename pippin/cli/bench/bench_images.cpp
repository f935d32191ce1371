#include "pippin/cli/bench/bench_images.h"

#include <chrono>
#include <span>

#include <fmt/format.h>

#include "pippin/app/facts/model_cost.h"
#include "pippin/app/prompt_tokens.h"
#include "pippin/base/stopwatch.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/cli/options/image_files.h"
#include "pippin/io/json.h"
#include "pippin/runtime/benchmark.h"
#include "pippin/runtime/sequence.h"
#include "pippin/runtime/vision_prompt.h"

namespace pippin::cli {
namespace {

using ImageClock = std::chrono::steady_clock;

constexpr const char* kQuestion = "What does the image show?";

double median_time(const std::vector<double>& seconds) {
  return runtime::percentile(seconds, 0.5);
}

// One repetition, without rows that the tower kept.
void measure_prompt(const runtime::LoadedModel& model, std::span<const runtime::ImageFile> files,
                    ImageReport& report) {
  const runtime::ImageInput& input = model.image_input(files.front().name);
  double processor = 0, tower = 0;
  input.tower().forget_rows();
  for (const runtime::ImageFile& file : files) {
    check_cancel();
    auto start = ImageClock::now();
    const image::ImageInputs pixels = input.process(file);
    processor += seconds_since(start);
    start = ImageClock::now();
    input.tower().encode(pixels);
    tower += seconds_since(start);
  }
  input.tower().forget_rows();
  const auto start = ImageClock::now();
  const runtime::VisionPrompt prompt =
      app::text_prompt(model, kQuestion, /*add_special_tokens=*/true, files);
  const auto sequence = model.model->new_sequence();
  runtime::provide_rows(*sequence, prompt, 0);
  sequence->prefill(prompt.ids);
  report.first_token.push_back(seconds_since(start));
  report.processor.push_back(processor);
  report.tower.push_back(tower);
  report.tokens = std::ssize(prompt.ids);
  report.rows = 0;
  for (const auto& run : prompt.rows) report.rows += run->count;
}

}  // namespace

ImageReport bench_images(const ImageBench& bench) {
  const auto images = read_image_files(bench.images);
  const std::vector<runtime::ImageFile> files = app::image_files(images);
  ImageReport report;
  report.run = measured_run(bench.name);
  report.images = std::ssize(files);
  const runtime::LoadedModel model = open_twice(bench.choice, app::open_model, report.run);
  report.run.threads = model.pool->num_threads();
  // The first one reads the weights and makes plans.
  ImageReport first;
  measure_prompt(model, files, first);
  for (int i = 0; i < bench.repetitions; ++i) measure_prompt(model, files, report);
  report.run.peak_memory_bytes = app::peak_resident_bytes();
  return report;
}

std::string image_lines(const ImageReport& report) {
  std::string lines = load_lines(report.run);
  const auto line = [&]<typename... Args>(fmt::format_string<Args...> format, Args&&... args) {
    lines += fmt::format(format, std::forward<Args>(args)...) + "\n";
  };
  const auto times = [](const std::vector<double>& seconds) {
    return fmt::format("{:.1f} ms median, {:.1f} ms min of {}", median_time(seconds) * 1e3,
                       runtime::percentile(seconds, 0) * 1e3, seconds.size());
  };
  line("Prompt        : {} image{}, {} rows of {} tokens", report.images,
       report.images == 1 ? "" : "s", report.rows, report.tokens);
  line("Pixels        : {}", times(report.processor));
  line("Tower         : {} ({:.0f} rows/s)", times(report.tower),
       static_cast<double>(report.rows) / median_time(report.tower));
  line("First token   : {}, pixels and tower included", times(report.first_token));
  return lines + memory_line(report.run);
}

std::string image_json(const ImageReport& report) {
  JsonWriter json(2);
  json.begin_object();
  write_run(json, report.run);
  json.member("images", report.images).member("rows", report.rows);
  json.member("tokens", report.tokens);
  json.member("processor_seconds", median_time(report.processor));
  json.member("tower_seconds", median_time(report.tower));
  json.member("first_token_seconds", median_time(report.first_token));
  json.member("processor_samples", report.processor).member("tower_samples", report.tower);
  json.member("first_token_samples", report.first_token).end_object();
  return json.text() + "\n";
}

}  // namespace pippin::cli
