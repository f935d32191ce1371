#include "pippin/cli/options/options.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <memory>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/base/numbers/number.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/cli/options/backend.h"
#include "pippin/cli/options/named_arrays.h"
#include "pippin/engine/cache_type.h"
#include "pippin/io/load_cache.h"
#include "pippin/runtime/run_adapter.h"

namespace pippin::cli {

CLI::Validator between(int64_t smallest, int64_t largest) {
  const auto check = [=](const std::string& text) {
    char* end = nullptr;
    errno = 0;
    const int64_t value = std::strtoll(text.c_str(), &end, 0);
    const bool is_number = !text.empty() && *end == '\0', is_too_large = errno == ERANGE;
    if (is_number && !is_too_large && value >= smallest && value <= largest) return std::string();
    if (largest == std::numeric_limits<int64_t>::max() && !is_too_large) {
      return fmt::format("{} is not a number of {} or more", text, smallest);
    }
    return fmt::format("{} is not a number from {} to {}", text, smallest, largest);
  };
  return CLI::Validator(check, "");
}

CLI::Validator seed_number() {
  const auto check = [](const std::string& text) {
    char* end = nullptr;
    errno = 0;
    std::strtoull(text.c_str(), &end, 0);
    const bool is_number = !text.empty() && *end == '\0' && text.find('-') == std::string::npos;
    if (is_number && errno != ERANGE) return std::string();
    return fmt::format("{} is not a number from 0 to {}", text,
                       std::numeric_limits<uint64_t>::max());
  };
  return CLI::Validator(check, "");
}

CLI::Validator size_in_bytes() {
  const auto read = [](std::string& text) {
    const std::string given = text;
    // CLI11 takes a unit alone for one of it.
    const bool has_number = !given.empty() && given.front() >= '0' && given.front() <= '9';
    try {
      uint64_t bytes = 0;
      if (has_number && CLI::AsSizeValue(false)(text).empty() && parse_number(text, bytes)) {
        return std::string();
      }
    } catch (const CLI::ValidationError&) {  // its message lists all units
    }
    return fmt::format("{} is not a size in bytes, such as 512M or 16G", given);
  };
  return {read, ""};
}

CLI::Validator not_empty() {
  const auto check = [](const std::string& text) {
    return std::string(text.empty() ? "is empty" : "");
  };
  return CLI::Validator(check, "");
}

CLI::Validator ends_in(const std::string& ending) {
  const auto check = [=](const std::string& text) {
    return extension_of(text) == ending ? std::string()
                                        : fmt::format("{} does not end in {}", text, ending);
  };
  return CLI::Validator(check, "");
}

void add_no_cache_option(CLI::App& command, bool& no_cache) {
  command.add_flag("--no-cache", no_cache, "Do not use the load cache (pippin cache list)");
}

void add_draft_options(CLI::App& command, app::DraftChoice& choice, const std::string& otherwise) {
  command
      .add_option("--draft", choice.source,
                  "Guess tokens and compute several in a pass, where that is quicker; the text "
                  "stays the same: lookup (in what came before), mtp (also by the model's own "
                  "prediction layer), auto (mtp if it has one, else lookup), off, or a smaller "
                  "MODEL (" +
                      otherwise + ")")
      ->type_name("WHERE");
  command.add_option("--draft-max", choice.most, "Most tokens to guess for a pass (15); 0: as off")
      ->type_name("N")
      ->check(between(0, 15));
}

void add_load_options(CLI::App& command, runtime::LoadOptions& options, const char* pin_names) {
  using runtime::PrefillMode;
  command
      .add_option("--context", options.context,
                  "Maximum number of tokens, prompt and text together (default: the model's; of a "
                  "folder what half of this machine's memory holds of them)")
      ->type_name("N")
      ->check(between(1));
  command.add_option("-t,--threads", options.threads, "Threads (default: one per core)")
      ->type_name("N")
      ->check(between(1, 1024));
  command.add_flag_callback(
      pin_names, [&options] { options.pinning = Pinning::Always; },
      "Pin each thread to a core (default: if there is a thread for every core)");
  command
      .add_option("--adapter", options.adapter,
                  "Run this adapter of the package; with a folder as MODEL a folder with "
                  "adapter_config.json")
      ->type_name("NAME");
  command
      .add_option_function<std::vector<std::string>>(
          "--lora",
          [&options](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) {
              options.run_adapters.push_back(runtime::parse_run_adapter(text));
            }
          },
          "An adapter (LoRA or DoRA of PEFT, mlx-lm or llama.cpp) that runs add to the model: its "
          "folder or GGUF file, and the factor of its change (1); repeatable")
      ->type_name("[NAME=]PATH[:SCALE]")
      ->allow_extra_args(false);
  CLI::Option* const projector =
      command
          .add_option("--mmproj", options.mmproj,
                      "The vision tower of a GGUF as MODEL, mmproj-*.gguf (default: the only one "
                      "next to it, or that of its repository)")
          ->type_name("FILE");
  command
      .add_flag_callback(
          "--no-mmproj", [&options] { options.mmproj = runtime::kNoProjector; },
          "Do not use or pull a vision tower")
      ->excludes(projector);
  command.add_flag("--low-memory", options.low_memory,
                   "Load the parts of a model of several packages one after another");
  static const std::map<std::string, PrefillMode> modes = {
      {"auto", PrefillMode::Auto}, {"batch", PrefillMode::Batches}, {"steps", PrefillMode::Steps}};
  command
      .add_option_function<std::string>(
          "--prefill", [&options](const std::string& mode) { options.prefill = modes.at(mode); },
          "Feed the prompt in batches or token by token: auto, batch or steps")
      ->type_name("MODE")
      ->check(CLI::IsMember({"auto", "batch", "steps"}, CLI::ignore_case).description(""));
  command
      .add_option_function<std::string>(
          "--cache-type",
          [&options](const std::string& name) {
            options.cache_type = engine::read_cache_type("--cache-type", name);
          },
          "Store keys and values as f16 (default), q8 (about half the memory) or q4 (a quarter)")
      ->type_name("TYPE")
      ->check(CLI::IsMember({"f16", "q8", "q8_0", "q4", "q4_0"}).description(""));
  using engine::Precision;
  static const std::map<std::string, Precision> precisions = {
      {"fast", Precision::Fast}, {"exact", Precision::Exact}, {"reference", Precision::Reference}};
  command
      .add_option_function<std::string>(
          "--precision",
          [&options](const std::string& name) { options.compute.precision = precisions.at(name); },
          "fast, exact (fp32 on stored values) or reference (slow)")
      ->type_name("WHICH")
      ->check(CLI::IsMember({"fast", "exact", "reference"}).description(""));
  const auto no_cache = std::make_shared<bool>(false);
  add_no_cache_option(command, *no_cache);
  const auto backend = std::make_shared<BackendChoice>();
  add_backend_options(command, *backend);
  command.parse_complete_callback([&options, no_cache, backend] {
    if (!*no_cache) options.compute.cache = default_load_cache();
    open_backend(*backend, options.compute);
  });
}

void add_template_option(CLI::App& command, runtime::LoadOptions& options) {
  command
      .add_option("--chat-template", options.chat_template,
                  "Use this chat template (a .jinja file, or a tokenizer_config.json) in place of "
                  "the model's")
      ->type_name("FILE");
}

void print_out(const std::string& text) {
  if (text.empty()) return;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    check_cancel();  // a signal ends a wait for the reader
    fail(ErrorCode::Io, "standard output: cannot write");
  }
}

}  // namespace pippin::cli
