// pippin convert: a Hugging Face model folder becomes a Core ML package.
#pragma once

#include <string>
#include <vector>

#include "pippin/app/compress.h"
#include "pippin/app/family_options.h"
#include "pippin/models/registry.h"

namespace CLI {
class App;
}

namespace pippin::cli {

CLI::App* add_convert_command(CLI::App& app);

struct ConvertCommand {
  std::string source, output;
  app::FamilyOptions family;
  models::BuildOptions build;
  std::vector<std::string> adapters;  // NAME=DIR
  std::string fused_adapter;
  bool random_weights = false;
  app::CompressOptions options;
  app::CompressSettings settings;  // of a calibration
  bool json = false;
};
// The options that say what shape the model gets: family, chunks, context, functions.
void add_family_options(CLI::App& command, app::FamilyOptions& options);
void add_model_options(CLI::App& command, ConvertCommand& values);
void run_convert(const ConvertCommand& command);

}  // namespace pippin::cli
