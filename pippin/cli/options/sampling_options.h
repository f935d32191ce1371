// Sampling options. Defaults come from the model.
#pragma once

#include <string>
#include <vector>

#include "pippin/app/sampling_choice.h"

namespace CLI {
class App;
}

namespace pippin::cli {

struct SamplingArguments : app::SamplingChoice {
  std::vector<std::string> biases;  // "ID=BIAS"; BIAS is a number or "false": never

  // Includes the biases. Throws InvalidArgument for biases of another form.
  app::SamplingChoice choice() const;
};

// `arguments` must outlive `command`.
void add_sampling_options(CLI::App& command, SamplingArguments& arguments);

}  // namespace pippin::cli
