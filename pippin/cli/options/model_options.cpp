#include "pippin/cli/options/model_options.h"

#include <utility>

#include <CLI/CLI.hpp>

#include "pippin/base/error.h"
#include "pippin/cli/options/options.h"
#include "pippin/cli/options/pull_display.h"
#include "pippin/io/json.h"
#include "pippin/server/keep_alive.h"

namespace pippin::cli {
namespace {

using server::FieldDefault;

template <typename T>
Json json_of(const T& value) {
  JsonWriter json;
  json.value(value);
  return Json::parse(json.text(), "option");
}

// Fields that turn thoughts on or off; any of them in a request overrides the server's default.
std::vector<std::string> thinking_fields() {
  return {"enable_thinking", "reasoning_effort", "reasoning", "think", "thinking", "output_config"};
}

void add_thinking(const std::string& level, std::vector<FieldDefault>& fields) {
  if (level.empty()) return;
  const bool is_switch = level == "on" || level == "off";
  const Json value = is_switch ? json_of(level == "on") : json_of(level);
  // An endpoint uses the first of the two spellings that it supports.
  fields.push_back({is_switch ? "enable_thinking" : "reasoning_effort", value, thinking_fields()});
  fields.push_back({"think", value, thinking_fields()});
}

void add_template_arguments(const std::string& text, std::vector<FieldDefault>& fields) {
  if (text.empty()) return;
  const Json arguments = Json::parse(text, "--chat-template-kwargs");
  JsonWriter others;
  others.begin_object();
  for (const auto& [name, value] : arguments.members()) {
    if (name == "enable_thinking" || name == "reasoning_effort") {
      fields.push_back({std::string(name), value, thinking_fields()});
      fields.push_back({"think", value, thinking_fields()});
    } else {
      others.member(name, value);
    }
  }
  others.end_object();
  fields.push_back({"chat_template_kwargs", Json::parse(others.text(), "option")});
}

CLI::Validator is_duration() {
  return {[](const std::string& text) {
            return server::parse_keep_alive(text)
                       ? std::string()
                       : "\"" + text + "\" is neither seconds nor a duration such as 5m";
          },
          ""};
}

CLI::Validator is_length() {
  return {[](const std::string& text) {
            int64_t length = 0;
            const bool is_one =
                CLI::detail::lexical_cast(text, length) && (length > 0 || length == -1);
            return is_one ? std::string() : text + " is neither -1 nor a number of 1 or more";
          },
          ""};
}

// llama-server's option of the same name counts MiB.
CLI::Validator is_cache_size() {
  constexpr int64_t kLeast = 1 << 20;
  return {[](const std::string& text) {
            int64_t bytes = 0;
            const bool is_small =
                CLI::detail::lexical_cast(text, bytes) && bytes > 0 && bytes < kLeast;
            return is_small ? text + " bytes hold no prompt; with a unit: " + text + "M"
                            : std::string();
          },
          ""};
}

}  // namespace

server::ModelSettings ModelArguments::settings() const {
  server::ModelSettings result = given;
  result.choice.pulls = show_pulls();
  // Requests choose them by name.
  for (runtime::RunAdapter& adapter : result.choice.load.run_adapters) adapter.applied = false;
  result.keep_alive = server::parse_keep_alive(keep_alive).value_or(std::chrono::milliseconds(-1));
  result.sampling = sampling.choice();
  result.sampling.check();
  if (result.sampling.seed) {
    result.fields.push_back({"seed", json_of(*result.sampling.seed)});
    result.sampling.seed.reset();
  }
  if (result.sampling.dry_breakers != app::SamplingChoice{}.dry_breakers) {
    result.fields.push_back({"dry_sequence_breakers", json_of(result.sampling.dry_breakers)});
    result.sampling.dry_breakers = app::SamplingChoice{}.dry_breakers;
  }
  if (max_tokens.value_or(-1) > 0) result.fields.push_back({"max_tokens", json_of(*max_tokens)});
  if (thinking_budget) {
    result.fields.push_back(
        {"thinking_token_budget", json_of(*thinking_budget), {"thinking", "reasoning"}});
  }
  if (!reasoning_format.empty()) {
    result.fields.push_back({"reasoning_format",
                             json_of(reasoning_format),
                             {"separate_reasoning", "include_reasoning"}});
  }
  add_thinking(thinking, result.fields);
  add_template_arguments(template_arguments, result.fields);
  return result;
}

void add_model_options(CLI::App& command, ModelArguments& arguments) {
  const auto option = [&](const char* name, auto& value, const char* type, const char* help) {
    return command.add_option(name, value, help)->type_name(type);
  };
  app::ModelChoice& choice = arguments.given.choice;
  scheduling::SchedulerOptions& scheduler = arguments.given.scheduler;
  option("--tokenizer", choice.tokenizer, "FOLDER", "Tokenizer for packages without one");
  option("--vad", choice.vad, "MODEL",
         "Model of voice for the vad_filter of recordings: a package of Silero's, or org/name");
  add_load_options(command, choice.load, "--pin-threads");
  add_template_option(command, choice.load);
  add_draft_options(command, arguments.given.draft);
  option("--parallel", scheduler.max_running, "N",
         "Requests of a model that run at the same time; others wait (16)")
      ->check(between(1, 1024));
  option("--max-queue", scheduler.max_waiting, "N",
         "Requests of a model that may wait; others get 503 (512)")
      ->check(between(0));
  option("--cache-tokens", scheduler.cache_tokens, "N",
         "Total tokens of running conversations (what half of free memory "
         "holds, or a whole context)")
      ->check(between(1));
  option("--cache-ram", scheduler.cache_ram, "BYTES",
         "Memory for each model's prompt cache; 0: none (a quarter of free memory)")
      ->transform(size_in_bytes())
      ->check(is_cache_size());
  option("--cache-disk", scheduler.cache_disk, "DIR",
         "Folder for prompt caches that leave memory, kept for the next start");
  option("--cache-disk-size", scheduler.cache_disk_bytes, "BYTES",
         "Maximum size of that folder (16G)")
      ->transform(size_in_bytes());
  option("--keep-alive,--ttl", arguments.keep_alive, "TIME",
         "Unload a model that was idle for this long: seconds, or 5m; negative: never (-1)")
      ->check(is_duration());
  option("-n,--predict", arguments.max_tokens, "N",
         "Most tokens of an answer, for requests without a limit; -1: the endpoint's default")
      ->check(is_length());
  option(
      "--think", arguments.thinking, "LEVEL",
      "Thoughts, for requests without a setting: on, off, or an effort that the template supports");
  option("--reasoning-budget", arguments.thinking_budget, "N",
         "Most tokens of thoughts, for requests without a limit; -1: no limit")
      ->check(between(-1));
  option("--reasoning-format", arguments.reasoning_format, "FORMAT",
         "Thoughts in chat answers: auto (apart from the content), none (in it) or hidden")
      ->check(CLI::IsMember({"auto", "deepseek", "none", "hidden"}).description(""));
  option("--chat-template-kwargs", arguments.template_arguments, "JSON",
         "An object of variables for the chat template; those of requests override them");
  add_sampling_options(command, arguments.sampling);
}

}  // namespace pippin::cli
