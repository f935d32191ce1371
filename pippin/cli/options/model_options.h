// Options of a served model: on the command line for all models, in a presets file for one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "pippin/cli/options/sampling_options.h"
#include "pippin/server/model_settings.h"

namespace CLI {
class App;
}

namespace pippin::cli {

struct ModelArguments {
  server::ModelSettings given;
  SamplingArguments sampling;
  std::string keep_alive = "-1", thinking, reasoning_format, template_arguments;
  std::optional<int64_t> max_tokens, thinking_budget;

  // Returns all settings. Throws InvalidArgument for sampling values out of range, InvalidFile for
  // template arguments that are not an object.
  server::ModelSettings settings() const;
};

// `arguments` must outlive `command`.
void add_model_options(CLI::App& command, ModelArguments& arguments);

}  // namespace pippin::cli
