// Sampling options. Those that are not given come from the model.
#pragma once

#include <string>
#include <vector>

#include "pippin/app/sampling_choice.h"

namespace CLI {
class App;
}

namespace pippin::cli {

struct SamplingArguments : app::SamplingChoice {
  std::vector<std::string> biases;  // "ID=BIAS", BIAS a number or "false" for never

  // With the biases. Throws InvalidArgument for those of another form.
  app::SamplingChoice choice() const;
};

// `arguments` has to live as long as `command`.
void add_sampling_options(CLI::App& command, SamplingArguments& arguments);

}  // namespace pippin::cli
