// pippin convert: a Hugging Face model folder becomes a Core ML package.
#pragma once

#include <string>

#include "pippin/app/convert_arguments.h"

namespace CLI {
class App;
}

namespace pippin::cli {

CLI::App* add_convert_command(CLI::App& app);

// The options of the families, and all that say what shape the model gets: those, context,
// functions.
void add_family_options(CLI::App& command, app::ConvertArguments& arguments);
void add_model_options(CLI::App& command, app::ConvertArguments& arguments);
// Converts, shows how far it is, and prints what became of it.
void run_convert(const std::string& source, const std::string& output, app::ConvertOptions options,
                 bool json);

}  // namespace pippin::cli
