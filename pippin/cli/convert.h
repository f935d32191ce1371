// pippin convert: a Hugging Face model folder becomes a Core ML package.
#pragma once

#include <string>
#include <vector>

#include "pippin/app/convert.h"

namespace CLI {
class App;
}

namespace pippin::cli {

CLI::App* add_convert_command(CLI::App& app);

// What the command line has in its own words.
struct ConvertArguments {
  app::ConvertOptions options;
  std::vector<std::string> adapters;  // NAME=DIR
  std::string chunks = "auto";        // or a number
  std::string max_chunk_mb = "ios";   // a number of 10^6 bytes, ios or macos
};
// The options of the families, and all that say what shape the model gets: those, context,
// functions.
void add_family_options(CLI::App& command, ConvertArguments& arguments);
void add_model_options(CLI::App& command, ConvertArguments& arguments);
// The options with all that the arguments say. Throws InvalidArgument, CLI::ValidationError.
app::ConvertOptions options_of(const ConvertArguments& arguments);

// Converts, shows how far it is, and prints what became of it.
void run_convert(const std::string& source, const std::string& output, app::ConvertOptions options,
                 bool json);

}  // namespace pippin::cli
