// pippin convert: converts a Hugging Face model folder to a Core ML package.
#pragma once

#include <string>

#include "pippin/app/convert/convert_arguments.h"

namespace CLI {
class App;
}

namespace pippin::cli {

CLI::App* add_convert_command(CLI::App& app);

// The options that decide the model's shape: the family and its options, context, functions.
void add_family_options(CLI::App& command, app::ConvertArguments& arguments);
void add_model_options(CLI::App& command, app::ConvertArguments& arguments);
// Converts, shows the progress and prints the result.
void run_convert(const std::string& source, const std::string& output, app::ConvertOptions options,
                 bool json);

}  // namespace pippin::cli
