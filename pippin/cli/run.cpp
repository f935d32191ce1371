#include "pippin/cli/run.h"

#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "pippin/app/facts/machine.h"
#include "pippin/app/open/open_model.h"
#include "pippin/app/open/text_input.h"
#include "pippin/app/prompt_tokens.h"
#include "pippin/base/error.h"
#include "pippin/base/log.h"
#include "pippin/base/stopwatch.h"
#include "pippin/cli/bench/report.h"
#include "pippin/cli/options/form_options.h"
#include "pippin/cli/options/image_files.h"
#include "pippin/cli/options/options.h"
#include "pippin/cli/options/pull_display.h"
#include "pippin/cli/options/ranks.h"
#include "pippin/cli/options/sampling_options.h"
#include "pippin/cli/prompt.h"
#include "pippin/io/frame_files.h"
#include "pippin/runtime/constrained_sampling.h"
#include "pippin/runtime/prompt_file.h"
#include "pippin/runtime/text.h"

namespace pippin::cli {
namespace {

using runtime::LoadedModel;
using runtime::StopReason;

constexpr int64_t kMaxTokens = 256;

struct RunCommand {
  int tensor_parallel = 1;
  std::optional<std::string> first, second;  // positional
  std::string prompt_file, system, tokenizer, repo_id, prompt_cache;
  std::optional<int64_t> max_tokens;  // else generation_config.json's, else kMaxTokens
  runtime::LoadOptions load;
  std::string overflow = "stop";
  std::vector<std::string> stop, images, videos;
  double fps = 0;
  bool raw = false, json = false, verbose = false, no_stats = false;
  SamplingArguments sampling;
  app::DraftChoice draft;
  FormArguments form;
};

// A pipe that is silent for this long may be inherited and never end.
constexpr auto kPatience = std::chrono::seconds(3);

// Joins the prompt with the text on standard input.
std::string with_piped(const std::string& prompt, bool raw) {
  auto piped = app::read_piped_text(kPatience);
  if (!piped) {
    log_warn(
        "standard input was not read: it was silent for {} s (--file - waits for it, "
        "< /dev/null leaves it out)",
        kPatience.count());
    return prompt;
  }
  return join_piped(std::move(*piped), prompt, raw);
}

std::string read_prompt(const RunCommand& command, const RunArguments& arguments) {
  const bool has_argument = arguments.prompt && *arguments.prompt != "-";
  if (command.prompt_file == "-" && has_argument) {
    return join_piped(app::read_text("-"), *arguments.prompt, command.raw);
  }
  if (!command.prompt_file.empty()) {
    if (arguments.prompt) {
      throw CLI::ValidationError("the prompt is given twice: as an argument and with --file");
    }
    const std::string prompt = app::read_text(command.prompt_file);
    return command.prompt_file == "-" ? prompt : with_piped(prompt, command.raw);
  }
  if (has_argument) return with_piped(*arguments.prompt, command.raw);
  std::string prompt;
  if (arguments.prompt || !app::stdin_is_terminal()) prompt = app::read_text("-");
  if (!arguments.prompt && prompt.empty()) {
    throw CLI::ValidationError("no prompt: give it as an argument, with --file or on stdin");
  }
  return prompt;
}

std::vector<MessageImage> read_images(const RunCommand& command) {
  constexpr size_t kLargestImage = size_t{1} << 30;
  std::vector<MessageImage> images = read_image_files(command.images);
  images.reserve(images.size() + command.videos.size());
  for (const std::string& path : command.videos) {
    FrameFiles files = read_frame_files(path, kLargestImage);
    images.push_back(
        {std::move(files.animation), path, true, std::move(files.frames), command.fps});
  }
  return images;
}

runtime::VisionPrompt encode_prompt(const RunCommand& command, const LoadedModel& model,
                                    const std::string& prompt) {
  std::vector<MessageImage> images = read_images(command);
  if (!command.raw && model.template_error) {
    fail(model.template_error->code(), "{} (--raw goes without the template)",
         model.template_error->what());
  }
  if (command.raw || !model.chat_template) {
    if (!command.system.empty()) {
      fail(ErrorCode::InvalidArgument, "--system needs a chat template, {}",
           command.raw ? "--raw uses none" : "the model has none");
    }
    return app::text_prompt(model, prompt, /*add_special_tokens=*/true, app::image_files(images));
  }
  std::vector<Message> messages;
  if (!command.system.empty()) messages.push_back({"system", command.system});
  messages.push_back({"user", prompt, std::move(images)});
  return app::chat_prompt(model, messages);
}

// Generates a text and, unless the report is JSON, prints it as it comes.
void generate_text(const RunCommand& command, const std::optional<app::AnswerForm>& form,
                   LoadedModel& model, const runtime::VisionPrompt& encoded, RunReport& report) {
  runtime::TextOptions options;
  options.max_tokens =
      command.max_tokens.value_or(model.config.max_new_tokens.value_or(kMaxTokens));
  options.sampling = model.model->capabilities().greedy_only
                         ? command.sampling.choice().greedy_only()
                         : command.sampling.choice().over(model.config.sampling, model.tokenizer);
  options.end_ids = app::end_tokens(model, !command.raw);
  options.stop = command.stop;
  options.stop.insert(options.stop.end(), model.config.stop_strings.begin(),
                      model.config.stop_strings.end());
  options.overflow = command.overflow == "shift"   ? runtime::Overflow::Shift
                     : command.overflow == "error" ? runtime::Overflow::Error
                                                   : runtime::Overflow::Stop;
  if (form) {
    app::FormCompiler compiler(model.tokenizer);
    options.processors.push_back(std::make_shared<runtime::ConstrainedSampling>(
        compiler.compile(*form), options.end_ids, model.tokenizer));
  }
  options.drafts =
      app::open_drafts(command.draft, model, {"", "", command.load, show_pulls(), false});
  report.seed = options.sampling.seed;
  report.context = model.model->context();

  const auto sequence = model.model->new_sequence();
  std::span<const int32_t> prompt = report.prompt_ids;
  if (!command.prompt_cache.empty()) {
    report.cached_tokens = runtime::restore_prompt(*sequence, command.prompt_cache, prompt);
    prompt = prompt.subspan(static_cast<size_t>(report.cached_tokens));
  }
  runtime::provide_rows(*sequence, encoded, sequence->position());
  runtime::TextResult result = runtime::generate_text(
      *sequence, model.tokenizer, prompt, options, runtime::text_only([&](std::string_view piece) {
        if (!command.json) print_out(std::string(piece));
        return true;
      }));
  if (!command.prompt_cache.empty()) runtime::save_prompt(*sequence, command.prompt_cache);
  report.text = std::move(result.text);
  report.result = std::move(result);
  if (!command.json && !report.text.ends_with('\n')) print_out("\n");
}

RunArguments arguments_of(const RunCommand& command) {
  if (command.repo_id.empty()) {
    const bool prompt_elsewhere = !command.prompt_file.empty() || !app::stdin_is_terminal();
    return split_run_arguments(command.first, command.second, prompt_elsewhere);
  }
  if (!hub::parse_repo_spec(command.repo_id)) {
    throw CLI::ValidationError("--repo-id: \"" + command.repo_id +
                               "\" is not of the form org/name");
  }
  if (command.second) {
    throw CLI::ValidationError("the model is given twice: as an argument and with --repo-id");
  }
  return {command.repo_id, command.first};
}

// Returns the exit status.
int run(const RunCommand& command) {
  const RunArguments arguments = arguments_of(command);
  try {
    command.sampling.choice().check();
  } catch (const Error& error) {
    throw CLI::ValidationError(error.what());
  }
  if (command.overflow == "shift" && !command.prompt_cache.empty()) {
    throw CLI::ValidationError("--prompt-cache keeps all tokens, --overflow shift forgets some");
  }
  const std::optional<app::AnswerForm> form = command.form.form();
  const LogScope log(command.verbose ? LogLevel::Debug : LogLevel::Warn);
  app::ModelChoice choice{arguments.model, command.tokenizer, command.load, show_pulls()};
  choice.load.slide = command.overflow == "shift";
  choice.load.prediction = app::uses_prediction(command.draft);
  if (run_as_rank(choice, command.tensor_parallel)) return 0;
  const std::string prompt = read_prompt(command, arguments);

  const auto start = std::chrono::steady_clock::now();
  LoadedModel model = app::open_model(choice);
  RunReport report;
  report.load_seconds = seconds_since(start);
  report.model = arguments.model.empty() ? "demo" : arguments.model;
  report.threads = model.pool->num_threads();
  const runtime::VisionPrompt encoded = encode_prompt(command, model, prompt);
  report.prompt_ids = encoded.ids;
  generate_text(command, form, model, encoded, report);
  // Rows of images have ids of their own; users know the one that stands for them.
  for (int32_t& id : report.prompt_ids) {
    if (id < 0) id = model.model->rows()->placeholder;
  }
  report.peak_memory_bytes = app::peak_memory_bytes();

  if (command.json) {
    print_out(report_json(report));
  } else if (!command.no_stats) {
    std::fputs(statistics_lines(report, command.verbose).c_str(), stderr);
  } else {
    // The end of the context is always reported.
    std::fputs(overflow_lines(report).c_str(), stderr);
  }
  return report.result.reason == StopReason::Cancelled ? 130 : 0;
}

}  // namespace

CLI::App* add_run_command(CLI::App& app, int& exit_status) {
  auto command = std::make_shared<RunCommand>();
  CLI::App* sub = app.add_subcommand("run", "Generate text with a model");
  const auto option = [&](const char* name, auto& value, const char* type, const char* help) {
    return sub->add_option(name, value, help)->type_name(type);
  };
  option(
      "MODEL", command->first, "",
      "A package, a folder of packages, a Hugging Face folder or org/name on the Hub; without it, "
      "the demo model");
  option("PROMPT", command->second, "",
         "The text to start from; without it or with -, stdin; text that is piped in goes before "
         "it");
  option("-f,--file", command->prompt_file, "FILE",
         "Read the prompt from a file; - is stdin, also next to a PROMPT");
  option("--repo-id", command->repo_id, "REPO", "The MODEL as org/name, from the Hub");
  option("-n,--max-tokens", command->max_tokens, "N",
         "Maximum number of tokens to generate (that of generation_config.json, else 256)")
      ->check(between(0));
  add_sampling_options(*sub, command->sampling);
  option("--image", command->images, "FILE",
         "An image before the prompt, for a model that takes images; repeatable. With --raw, the "
         "prompt may place images with the model's placeholder")
      ->allow_extra_args(false);
  CLI::Option* const video =
      option("--video", command->videos, "PATH",
             "A video before the prompt: an animated GIF, PNG or WebP, or a folder with a picture "
             "per frame; repeatable")
          ->allow_extra_args(false);
  option("--fps", command->fps, "N",
         "Frames per second of a video that the model sees, and that a folder has (the model's "
         "own, usually 2)")
      ->check(CLI::Range(0.01, 1000.0).description(""))
      ->needs(video);
  option("--system", command->system, "TEXT", "System message, for a model with a chat template");
  option("--stop", command->stop, "STRING", "End the text before STRING; repeatable")
      ->allow_extra_args(false)
      ->check(not_empty());
  sub->add_flag("--raw", command->raw, "Use the prompt as it is, without the chat template");
  add_load_options(*sub, command->load);
  add_ranks_option(*sub, command->tensor_parallel);
  add_template_option(*sub, command->load);
  option("--overflow", command->overflow, "MODE",
         "When prompt and text fill the context: stop, shift (forget the oldest tokens) or error")
      ->check(CLI::IsMember({"stop", "shift", "error"}).description(""));
  add_draft_options(*sub, command->draft);
  add_form_options(*sub, command->form);
  option("--prompt-cache", command->prompt_cache, "FILE",
         "Continue from FILE if the prompt begins like the text before, and rewrite it");
  option("--tokenizer", command->tokenizer, "FOLDER", "Tokenizer for a package without one");
  sub->add_flag("--json", command->json, "Print text, tokens and statistics as JSON at the end");
  sub->add_flag("--no-stats", command->no_stats, "Print no statistics");
  sub->add_flag("-v,--verbose", command->verbose, "Report the choices made and why the text ended");
  sub->footer(
      "Text goes to stdout, everything else to stderr. Sampling options default to those of the\n"
      "model's meta.yaml or generation_config.json.");
  sub->callback([command, &exit_status] { exit_status = run(*command); });
  return sub;
}

}  // namespace pippin::cli
