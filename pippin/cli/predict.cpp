#include "pippin/cli/predict.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "pippin/api/archive.h"
#include "pippin/api/model.h"
#include "pippin/app/open/hub_model.h"
#include "pippin/base/error.h"
#include "pippin/base/log.h"
#include "pippin/base/stopwatch.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/cli/bench/random_inputs.h"
#include "pippin/cli/bench/trace_file.h"
#include "pippin/cli/options/backend.h"
#include "pippin/cli/options/named_arrays.h"
#include "pippin/cli/options/options.h"
#include "pippin/cli/options/pull_display.h"
#include "pippin/cli/options/rows_file.h"
#include "pippin/cli/output_files.h"
#include "pippin/cli/predict_labels.h"
#include "pippin/cli/predict_report.h"
#include "pippin/cli/predict_rows.h"
#include "pippin/io/load_cache.h"

namespace pippin::cli {
namespace {

struct PredictCommand {
  std::string model, function, precision = "exact";
  std::vector<std::string> inputs, outputs, shapes, images, labels;
  int64_t top = 5;
  std::string state_in, state_out, profile, resize;
  std::optional<uint64_t> random_seed;
  std::optional<int64_t> repeat;
  int threads = 0;
  LoadOptions limits;
  BackendChoice backend;
  bool json = false, verbose = false, no_cache = false;
};

// "1x3x224x224"; "" is a scalar.
std::optional<std::vector<int64_t>> parse_sizes(std::string_view text) {
  std::vector<int64_t> sizes;
  while (!text.empty()) {
    const size_t end = std::min(text.find('x'), text.size());
    int64_t size = 0;
    if (!CLI::detail::lexical_cast(std::string(text.substr(0, end)), size) || size < 0) {
      return std::nullopt;
    }
    sizes.push_back(size);
    if (end + 1 == text.size()) return std::nullopt;  // trailing x
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return sizes;
}

Shapes parse_shapes(const std::vector<std::string>& arguments) {
  Shapes shapes;
  for (const std::string& argument : arguments) {
    const size_t equals = argument.rfind('=');
    const auto sizes = equals == argument.npos
                           ? std::nullopt
                           : parse_sizes(std::string_view(argument).substr(equals + 1));
    if (!sizes || equals == 0) {
      throw CLI::ValidationError(
          fmt::format("--shape {}: not of the form NAME=1x3x224x224", argument));
    }
    shapes[argument.substr(0, equals)] = *sizes;
  }
  return shapes;
}

std::vector<InputFile> parse_inputs(const std::vector<std::string>& arguments) {
  std::vector<InputFile> files;
  for (const std::string& argument : arguments) {
    try {
      files.push_back(parse_input(argument));
    } catch (const Error& error) {
      throw CLI::ValidationError(fmt::format("--input: {}", error.what()));
    }
  }
  return files;
}

std::vector<OutputFile> parse_outputs(const std::vector<std::string>& arguments) {
  std::vector<OutputFile> files;
  for (const std::string& argument : arguments) {
    try {
      files.push_back(parse_output(argument));
    } catch (const Error& error) {
      throw CLI::ValidationError(fmt::format("--output: {}", error.what()));
    }
  }
  return files;
}

Precision parse_precision(const std::string& name) {
  if (name == "fast") return Precision::Fast;
  return name == "reference" ? Precision::Reference : Precision::Exact;
}

void read_state(const std::string& path, State& state) {
  if (path.empty()) return;
  for (const auto& item : read_inputs({{"", path}})) {
    with_context(path, [&] { state.set(item.first, std::get<Tensor>(item.second)); });
  }
}

Values state_values(const State& state) {
  Values values;
  for (const FeatureInfo& feature : state.features()) {
    values.emplace(feature.name, state.get(feature.name));
  }
  return values;
}

// Every run starts from the same state, so all return the same outputs.
void run_repeatedly(const Function& function, const Values& inputs, int64_t repeat, State& state,
                    PredictReport& report) {
  const Values start_state = repeat > 1 ? state_values(state) : Values();
  for (int64_t i = 0; i < repeat; ++i) {
    check_cancel();
    if (i > 0) {
      for (const auto& [name, value] : start_state) state.set(name, std::get<Tensor>(value));
    }
    const auto start = std::chrono::steady_clock::now();
    report.outputs = function.predict(inputs, state);
    report.run_seconds.push_back(seconds_since(start));
  }
}

// Predictions of single values have a state, random inputs and a report; those of rows have none.
void check_rows_options(const PredictCommand& command) {
  const std::pair<const char*, bool> unsuitable[] = {
      {"--random-inputs", command.random_seed.has_value()},
      {"--repeat", command.repeat.has_value()},
      {"--state-in", !command.state_in.empty()},
      {"--state-out", !command.state_out.empty()}};
  for (const auto& [name, given] : unsuitable) {
    if (given) throw CLI::ValidationError(fmt::format("{}: not with rows as --input", name));
  }
}

void predict_file(const PredictCommand& command, const Function& function,
                  const std::filesystem::path& path, const Values& common,
                  const std::vector<OutputFile>& outputs, TraceFile& trace) {
  std::vector<Values> rows = read_rows(path, function.inputs());
  for (Values& row : rows) fit_images(function.inputs(), parse_resize_mode(command.resize), row);
  std::vector<Values> results;
  {
    const TraceFile::Scope scope(trace);
    results = predict_rows(function, rows, common);
  }
  write_rows(outputs, function.outputs(), results);
  if (command.verbose) std::fputs(function.describe().c_str(), stderr);
  if (outputs.empty() || command.json) {
    print_out(api::rows_text(command.json ? api::RowsFormat::Json : api::RowsFormat::JsonLines,
                             function.outputs(), results));
  }
  trace.finish();
}

void predict(const PredictCommand& command) {
  std::vector<InputFile> files = parse_inputs(command.inputs);
  std::vector<OutputFile> outputs = parse_outputs(command.outputs);
  const std::optional<InputFile> rows_file = take_rows_file(files);
  if (rows_file) {
    check_rows_options(command);
    check_rows_outputs(outputs);
  }
  const Shapes shapes = parse_shapes(command.shapes);
  TraceFile trace(command.profile);
  const LogScope log(command.verbose ? LogLevel::Debug : LogLevel::Warn);
  Values inputs = read_inputs(files);

  LoadOptions options = command.limits;
  options.precision = parse_precision(command.precision);
  options.num_threads = command.threads;
  options.trace = command.verbose;
  if (!command.no_cache) options.cache = default_load_cache();
  open_backend(command.backend, options);
  const auto start = std::chrono::steady_clock::now();
  const std::filesystem::path package = local_model(command.model, app::ModelPart::Package);
  const Model model = Model::load(package, options);
  const Function function =
      model.function(command.function.empty() ? model.default_function() : command.function);
  fit_images(function.inputs(), parse_resize_mode(command.resize), inputs);
  if (rows_file) {
    return predict_file(command, function, rows_file->path, inputs, outputs, trace);
  }
  resolve_outputs(outputs, function.outputs());
  PredictReport report;
  report.load_seconds = seconds_since(start);
  report.model = command.model;
  report.function = function.name();
  report.precision = command.precision;
  report.threads = model.num_threads();
  report.output_features = function.outputs();
  report.states = function.states();

  State state = function.make_state();
  read_state(command.state_in, state);
  if (command.random_seed) {
    add_random_inputs(function, package, *command.random_seed, shapes, options.max_elements,
                      inputs);
  }
  {
    const TraceFile::Scope scope(trace);
    run_repeatedly(function, inputs, command.repeat.value_or(1), state, report);
  }

  write_outputs(outputs, report);
  if (!command.state_out.empty()) write_archive(command.state_out, state_values(state));
  if (command.verbose) std::fputs(function.describe().c_str(), stderr);
  if (command.json) {
    print_out(report_json(report));
  } else {
    if (command.repeat) std::fputs(timing_lines(report).c_str(), stderr);
    if (outputs.empty()) print_out(output_table(report));
  }
  trace.finish();
}

// The labels or maps of images by a checkpoint, which has no inputs and outputs of its own.
void predict_images(const CLI::App& options, const PredictCommand& command) {
  constexpr std::string_view kSuitable[] = {"--image", "--label",   "--top",     "--output",
                                            "--json",  "--threads", "--no-cache"};
  for (const CLI::Option* option : options.get_options()) {
    const std::string name = option->get_name();
    if (option->count() == 0 || !name.starts_with("--") ||
        std::find(std::begin(kSuitable), std::end(kSuitable), name) != std::end(kSuitable)) {
      continue;
    }
    throw CLI::ValidationError(fmt::format("{}: not with --image", name));
  }
  LabelsCommand labels;
  labels.choice.path = command.model;
  labels.choice.pulls = show_pulls();
  labels.choice.load.threads = command.threads;
  if (!command.no_cache) labels.choice.load.compute.cache = default_load_cache();
  labels.images = command.images;
  labels.labels = command.labels;
  labels.outputs = parse_outputs(command.outputs);
  if (!labels.outputs.empty() && command.images.size() > 1) {
    throw CLI::ValidationError("--output: not with several images");
  }
  labels.top = command.top;
  labels.json = command.json;
  predict_labels(labels);
}

}  // namespace

CLI::App* add_predict_command(CLI::App& app) {
  auto command = std::make_shared<PredictCommand>();
  CLI::App* sub = app.add_subcommand(
      "predict",
      "Run any package on arrays or pictures, or a classifier or a model of maps on images");
  const auto option = [&](const char* name, auto& value, const char* type, const char* help) {
    return sub->add_option(name, value, help)->type_name(type);
  };
  option(
      "PACKAGE", command->model, "",
      "X.mlpackage, X.mlmodelc, X.mlmodel or model.mil, or a .zip or .gz of one; with --image the "
      "folder of a checkpoint, or org/name")
      ->required();
  option("--function", command->function, "NAME",
         "Function to run (default: the default function of the model)");
  option(
      "--input", command->inputs, "FILE",
      "in.npz, NAME=file.npy, NAME=0.5, for images NAME=file.png, .jpg, .bmp, .ppm, .pgm, or rows "
      "to predict one after another: rows.json, .jsonl, .csv; repeatable");
  CLI::Option* image =
      option(
          "--image", command->images, "FILE",
          "Print the labels of an image, or of its places, or its depth, by the folder of an image "
          "classifier, SegFormer or Depth Anything; repeatable")
          ->allow_extra_args(false);
  option("--label", command->labels, "TEXT",
         "With --image: a label to choose from, in words, by a model of texts and images (CLIP, "
         "SigLIP); repeatable")
      ->allow_extra_args(false)
      ->needs(image);
  option("--top", command->top, "N", "Labels of an image to print (5)")
      ->check(between(1))
      ->needs(image);
  CLI::Option* random =
      option("--random-inputs", command->random_seed, "SEED",
             "Fill the inputs that are not given; the same seed gives the same values")
          ->check(seed_number());
  option("--shape", command->shapes, "NAME=1x3x8x8", "... in this shape instead of the default one")
      ->needs(random);
  option("--resize", command->resize, "HOW",
         "Pictures of another size than the input's: fit (borders), fill (cut) or stretch; also "
         "scaleFit, centerCrop, scaleFill")
      ->check(CLI::IsMember({"fit", "fill", "stretch", "scaleFit", "centerCrop", "scaleFill"}));
  option(
      "-o,--output", command->outputs, "FILE",
      "Write all outputs into FILE.npz, .json, .jsonl or .csv, or one into [NAME=]FILE.npy or, of "
      "images, .png, .jpg, .bmp, .ppm, .pgm; repeatable")
      ->allow_extra_args(false);
  option("--state-in", command->state_in, "FILE", "Start from the states in an .npz file");
  option("--state-out", command->state_out, "FILE", "Write the final states into an .npz file")
      ->check(ends_in(".npz"));
  option("--precision", command->precision, "WHICH",
         "fast, exact (fp32 on stored values) or reference (slow)")
      ->check(CLI::IsMember({"fast", "exact", "reference"}));
  option("--repeat", command->repeat, "N", "Run N times from the same state, and report the times")
      ->check(between(1, 1'000'000));
  option("--profile", command->profile, "FILE.json",
         "Write where the time goes, step by step, as a Chrome trace; a table goes to stderr");
  option("--threads", command->threads, "N", "Threads (default: one per core)")
      ->check(between(1, 1024));
  option("--max-elements", command->limits.max_elements, "N",
         "Maximum number of elements of a value (2^31)")
      ->check(between(1));
  option("--max-iterations", command->limits.max_iterations, "N",
         "Maximum number of loop iterations (10,000,000)")
      ->check(between(0));
  add_no_cache_option(*sub, command->no_cache);
  add_backend_options(*sub, command->backend);
  sub->add_flag("--json", command->json, "Print outputs, states and timings as JSON");
  sub->add_flag("-v,--verbose", command->verbose, "Report how the program was run");
  sub->footer(
      "Without --output and --json a table of the outputs goes to stdout, of rows a line of JSON "
      "each.\nExit status 3: the package uses something that is not supported.");
  sub->callback([command, sub] {
    if (command->images.empty()) {
      predict(*command);
    } else {
      predict_images(*sub, *command);
    }
  });
  return sub;
}

}  // namespace pippin::cli
