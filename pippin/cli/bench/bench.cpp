#include "pippin/cli/bench/bench.h"

#include <algorithm>
#include <chrono>
#include <initializer_list>
#include <memory>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "pippin/app/convert/compress_options.h"
#include "pippin/app/convert/convert.h"
#include "pippin/app/facts/energy_meter.h"
#include "pippin/app/facts/machine.h"
#include "pippin/app/facts/model_cost.h"
#include "pippin/app/open/hub_model.h"
#include "pippin/app/open/open_model.h"
#include "pippin/app/open/speech_model.h"
#include "pippin/base/cpu_features.h"
#include "pippin/base/error.h"
#include "pippin/base/files/output.h"
#include "pippin/base/files/temporary_folder.h"
#include "pippin/base/stopwatch.h"
#include "pippin/cli/bench/bench_images.h"
#include "pippin/cli/bench/bench_package.h"
#include "pippin/cli/bench/bench_report.h"
#include "pippin/cli/bench/bench_speech.h"
#include "pippin/cli/bench/trace_file.h"
#include "pippin/cli/convert.h"
#include "pippin/cli/options/compress_options.h"
#include "pippin/cli/options/options.h"
#include "pippin/cli/options/progress.h"
#include "pippin/cli/options/pull_display.h"
#include "pippin/io/load_cache.h"
#include "pippin/mil/package/package.h"
#include "pippin/runtime/draft/draft_benchmark.h"
#include "pippin/runtime/sequence.h"

namespace pippin::cli {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

struct BenchCommand {
  std::string model, function;
  runtime::LoadOptions load;
  std::vector<int64_t> prompts = {512}, depths = {0}, parallel = {1};
  std::vector<std::string> images;  // paths
  int64_t tokens = 128;
  int repetitions = 5;
  uint64_t seed = 1;
  bool json = false, random_weights = false;
  app::DraftChoice draft{"off"};
  std::string profile;            // path of the trace; empty: none
  app::ConvertArguments convert;  // for random weights
};

// A package with random weights that exists while it is measured.
class RandomPackage {
 public:
  explicit RandomPackage(const BenchCommand& command) { write(command); }

  const fs::path& path() const { return path_; }
  // The package will not be loaded again, so its load cache is temporary as well.
  std::shared_ptr<LoadCache> cache() const {
    return std::make_shared<LoadCache>(folder_.path() / "load");
  }

 private:
  void write(const BenchCommand& command) {
    app::ConvertOptions options = app::options_of(command.convert);
    options.random_weights = true;
    options.context = command.load.context;
    Progress bar("Converting", command.json ? Progress::Style::Quiet : Progress::Style::Auto);
    options.progress = [&](uint64_t done, uint64_t total) { bar.update(done, total); };
    path_ = folder_.path() / (options.family == "stateful" ? "random.mlpackage" : "random");
    app::convert(command.model, path_, options);
  }

  TemporaryFolder folder_{"bench"};
  fs::path path_;
};

void check_options(const BenchCommand& command) {
  const bool file = fs::is_regular_file(command.model);
  if (command.random_weights && !file) {
    fail(ErrorCode::InvalidArgument, "{}: --random-weights takes the path of a config.json",
         command.model);
  }
  if (!command.random_weights && app::recipe_of(command.convert.options.compression)) {
    fail(ErrorCode::InvalidArgument,
         "a model is measured as it is: options of compression go with --random-weights");
  }
}

// Drops 0, which means the same as llama-bench's "none".
std::vector<int64_t> without_zero(std::vector<int64_t> values) {
  std::erase(values, 0);
  return values;
}

// Sets options that were not given as large as the model's context allows.
void fit_defaults(const CLI::App& options, const runtime::Model& model,
                  runtime::BenchmarkOptions& benchmark) {
  if (model.capabilities().sliding_window) return;
  if (options.count("--n-prompt") == 0) {
    for (int64_t& length : benchmark.prompts) length = std::min(length, model.context());
  }
  if (options.count("--n-gen") == 0) {
    const int64_t deepest = *std::max_element(benchmark.depths.begin(), benchmark.depths.end());
    if (deepest < model.context()) {
      benchmark.tokens = std::min(benchmark.tokens, model.context() - deepest);
    }
  }
}

// Loads the model and computes one token, because mapped files are read only then.
runtime::RunnableModel load_timed(const app::ModelChoice& choice, LoadTime& time) {
  const auto start = Clock::now();
  auto model = app::open_runnable(choice);
  time.load_seconds = seconds_since(start);
  runtime::sequence_for_tokens(*model.model)->decode(0);
  time.first_token_seconds = seconds_since(start);
  return model;
}

std::string family_of(const app::ModelChoice& choice) {
  if (choice.path.empty() || !runtime::names_packages(choice.path)) return "folder";
  using Family = runtime::FoundPackages::Family;
  const auto found = runtime::find_packages(choice.path);
  return found.family == Family::Anemll       ? "anemll"
         : found.family == Family::Windowed   ? "windowed"
         : found.family == Family::WhisperKit ? "whisperkit"
         : found.family == Family::FluidAudio ? "fluidaudio"
         : found.family == Family::CoreMlLlm  ? "coreml-llm"
                                              : "package";
}

BenchReport measure(const CLI::App& options, const BenchCommand& command,
                    const app::ModelChoice& choice,
                    const std::shared_ptr<engine::Profile>& profile) {
  BenchReport report;
  report.family = family_of(choice);
  report.dropped = !choice.path.empty() && app::drop_cached_files(choice.path);
  load_timed(choice, report.first);
  app::restart_peak_memory();
  const runtime::RunnableModel model = load_timed(choice, report.second);
  // A token reads only some experts: reads the others now, not while samples are taken.
  if (report.dropped) app::read_files(choice.path);

  runtime::BenchmarkOptions benchmark;
  benchmark.prompts = without_zero(command.prompts);
  benchmark.depths = command.depths;
  benchmark.tokens = command.tokens;
  benchmark.parallel = command.parallel;
  benchmark.repetitions = command.repetitions;
  benchmark.seed = command.seed;
  fit_defaults(options, *model.model, benchmark);
  warm_up(*model.model, benchmark);
  report.peak_memory_bytes = app::peak_resident_bytes();

  report.cost = app::model_cost(model, choice);
  report.package_weight_bytes = report.cost.weight_bytes;
  report.cost.weight_bytes -= model.model->saved_bytes();
  report.device = model.device;
  std::optional<app::MachineProbe> probe;
  const auto energy = app::open_energy_meter();
  if (report.is_on_cpu()) {
    // Uses the model's own threads: two pools would wake each other's sleeping threads.
    probe.emplace(*model.pool);
    report.energy = energy->source();
    benchmark.machine = [&] {
      report.readings.push_back(probe->reading());
      return report.readings.back();
    };
    benchmark.joules = [&] { return energy->joules(); };
  }
  report.cases = run_benchmark(*model.model, benchmark);
  if (const auto drafts = app::open_drafts(command.draft, *model.model, choice)) {
    const int64_t room = model.model->context() - benchmark.tokens;
    const int64_t prompt = benchmark.prompts.empty() ? 512 : benchmark.prompts.front();
    report.drafts = runtime::measure_drafts(
        *model.model, drafts,
        {std::min(prompt, room), benchmark.tokens, command.repetitions, command.seed});
  }
  if (!command.profile.empty()) profile_benchmark(*model.model, benchmark, profile);
  report.threads = model.pool->num_threads();
  report.context = model.model->context();
  return report;
}

// The package to measure, if it is not a language model or one of its functions was named.
std::optional<runtime::FoundPackages> other_package(const BenchCommand& command,
                                                    const std::string& path) {
  if (!command.random_weights && !path.empty() && runtime::names_packages(path)) {
    runtime::FoundPackages found = runtime::find_packages(path);
    if (found.family == runtime::FoundPackages::Family::Single &&
        (!command.function.empty() ||
         !runtime::is_language_model(mil::read_package(found.package)))) {
      return found;
    }
  }
  if (!command.function.empty()) {
    fail(ErrorCode::InvalidArgument, "--function: {} is not one package", command.model);
  }
  return std::nullopt;
}

void refuse_options(const CLI::App& options, const BenchCommand& command,
                    std::initializer_list<const char*> names, std::string_view measured) {
  for (const char* name : names) {
    if (options.get_option_no_throw(name) != nullptr && options.count(name) > 0) {
      fail(ErrorCode::InvalidArgument, "{}: {} is measured by {}, not as a language model", name,
           command.model, measured);
    }
  }
}

void run_speech(const CLI::App& options, const BenchCommand& command,
                const app::ModelChoice& choice) {
  refuse_options(options, command,
                 {"--n-prompt", "--n-depth", "--parallel", "--draft", "--adapter", "--prefill",
                  "--cache-type", "--low-memory", "--profile"},
                 "windows of sound");
  if (!app::is_whisper(choice.path)) {
    refuse_options(options, command, {"--n-gen"}, "windows of sound");
  }
  SpeechBench bench;
  bench.name = command.model + (command.random_weights ? ", random weights" : "");
  bench.choice = choice;
  bench.repetitions = command.repetitions;
  bench.tokens = std::max<int64_t>(command.tokens, 1);
  bench.seed = command.seed;
  const SpeechReport report = bench_speech(bench);
  print_out(command.json ? speech_json(report) : speech_lines(report));
}

void run_images(const CLI::App& options, const BenchCommand& command,
                const app::ModelChoice& choice) {
  refuse_options(options, command,
                 {"--n-prompt", "--n-gen", "--n-depth", "--parallel", "--draft", "--seed",
                  "--function", "--random-weights", "--profile"},
                 "prompts with images");
  const ImageReport report =
      bench_images({command.model, choice, command.images, command.repetitions});
  print_out(command.json ? image_json(report) : image_lines(report));
}

void run_package(const CLI::App& options, const BenchCommand& command, const fs::path& path) {
  refuse_options(options, command,
                 {"--n-prompt", "--n-gen", "--n-depth", "--parallel", "--draft", "--context",
                  "--adapter", "--prefill", "--cache-type", "--low-memory", "--pin"},
                 "predictions");
  PackageBench bench;
  bench.name = command.model;
  bench.path = path.string();
  bench.function = command.function;
  static_cast<engine::ComputeOptions&>(bench.load) = command.load.compute;
  // The default of predict.
  if (options.count("--precision") == 0) bench.load.precision = Precision::Exact;
  bench.precision = bench.load.precision == Precision::Fast    ? "fast"
                    : bench.load.precision == Precision::Exact ? "exact"
                                                               : "reference";
  bench.load.num_threads = command.load.threads;
  if (options.count("--repetitions") > 0) bench.repetitions = command.repetitions;
  bench.seed = command.seed;
  TraceFile trace(command.profile);
  const PackageReport report = bench_package(bench, trace);
  print_out(command.json ? package_json(report) : package_lines(report));
  trace.finish();
}

void run_bench(const CLI::App& options, const BenchCommand& command) {
  check_options(command);
  if (!command.images.empty()) {
    const app::ModelChoice choice{command.model, "", command.load, show_pulls()};
    return run_images(options, command, app::resolve_choice(choice));
  }
  app::ModelChoice choice = {command.model, "", command.load, show_pulls()};
  choice.load.prediction = app::uses_prediction(command.draft);
  std::optional<RandomPackage> random;
  if (command.random_weights) {
    random.emplace(command);
    choice.path = random->path().string();
    if (choice.load.compute.cache != nullptr) choice.load.compute.cache = random->cache();
  } else {
    choice = app::resolve_choice(choice, false);
  }
  if (command.function.empty() && !choice.path.empty() && app::is_speech_model(choice.path)) {
    return run_speech(options, command, choice);
  }
  if (const auto other = other_package(command, choice.path)) {
    return run_package(options, command, other->package);
  }
  TraceFile trace(command.profile);
  BenchReport report = measure(options, command, choice, trace.profile());
  report.model = command.model.empty() ? "demo" : command.model;
  if (command.random_weights) report.model += ", random weights";
  report.cpu = app::cpu_name();
  report.features = to_string(cpu_features());
  report.repetitions = command.repetitions;
  report.seed = command.seed;
  print_out(command.json ? bench_json(report) : bench_lines(report));
  trace.finish();
}

}  // namespace

CLI::App* add_bench_command(CLI::App& app) {
  auto command = std::make_shared<BenchCommand>();
  CLI::App* sub = app.add_subcommand(
      "bench", "Measure how fast a model loads, reads and writes, or any package runs");
  sub->add_option(
         "MODEL,-m,--model", command->model,
         "As for pippin run (default: the demo model), or any package; with --random-weights a "
         "config.json")
      ->type_name("");
  sub->add_option("--function", command->function,
                  "Measure this function of a package by predictions")
      ->type_name("NAME");
  const auto list = [&](const char* name, std::vector<int64_t>& values, const char* help) {
    sub->add_option(name, values, help)->type_name("N,...")->delimiter(',')->check(between(0));
  };
  list("-p,--n-prompt", command->prompts, "Lengths of prompts (512, at most the context); 0: none");
  sub->add_option("-n,--n-gen", command->tokens, "Tokens to decode (128, or what fits); 0: none")
      ->type_name("N")
      ->check(between(0));
  list("-d,--n-depth", command->depths, "Tokens in the cache before that (0)");
  sub->add_option("--parallel", command->parallel, "Sequences that decode together (1)")
      ->type_name("N,...")
      ->delimiter(',')
      ->check(between(1, 1024));
  sub->add_option("-r,--repetitions", command->repetitions,
                  "Samples of each test (5), or predictions of a package")
      ->type_name("N")
      ->check(between(1, 100'000));
  sub->add_option("--image", command->images,
                  "Measure a prompt with an image by a model that takes images; repeatable")
      ->type_name("FILE")
      ->allow_extra_args(false);
  add_draft_options(*sub, command->draft, "off");
  sub->add_option("--seed", command->seed, "Seed of the random ids or inputs that are fed (1)")
      ->type_name("N")
      ->check(seed_number());
  add_load_options(*sub, command->load);
  sub->add_option(
         "--profile", command->profile,
         "Write where the time goes, step by step, as a Chrome trace; a table goes to stderr")
      ->type_name("FILE.json");
  sub->add_flag("--json", command->json, "Print everything, including all samples, as JSON");
  sub->add_flag("--random-weights", command->random_weights,
                "MODEL is a config.json; measure a temporary package with random weights, of the "
                "family and compression set by convert's options");
  add_family_options(*sub, command->convert);
  add_compress_options(*sub, command->convert.options.compression);
  sub->callback([command, sub] { run_bench(*sub, *command); });
  return sub;
}

}  // namespace pippin::cli
