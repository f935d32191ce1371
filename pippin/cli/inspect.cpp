#include "pippin/cli/inspect.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "pippin/app/hub_model.h"
#include "pippin/base/error.h"
#include "pippin/base/mapped_file.h"
#include "pippin/cli/pull_display.h"
#include "pippin/mil/check/verify.h"
#include "pippin/mil/package/interface.h"
#include "pippin/mil/package/package.h"
#include "pippin/mil/package/summary.h"
#include "pippin/mil/text/text.h"

namespace pippin::cli {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string path;
  bool json = false, mil = false, values = false;
};

// A package in any form, or a text file (whose weights are not looked for).
mil::Model open(const fs::path& path) {
  if (fs::is_directory(path) || path.extension() != ".mil") return mil::read_package(path);
  const auto file = MappedFile::open(path);
  mil::Program program = mil::parse_text(as_text(file->bytes()), path.filename().string());
  mil::verify(program);
  mil::Model model = mil::describe_program(std::move(program));
  model.path = path;
  return model;
}

void write_out(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) {
    fail(ErrorCode::Io, "standard output: writing failed");
  }
}

// The programs of a pipeline's stages follow each other, each under a comment.
void print_programs(const mil::Model& model, const std::string& title, bool values) {
  if (!model.is_pipeline()) {
    if (!title.empty()) write_out("// " + title + "\n");
    return write_out(mil::print(model.program, {.values = values}));
  }
  for (size_t i = 0; i < model.stages.size(); ++i) {
    std::string name = (title.empty() ? "" : title + ", ") + stage_name(model, i);
    std::replace(name.begin(), name.end(), '\n', ' ');
    print_programs(model.stages[i].model, name, values);
  }
}

void inspect(const Options& options) {
  const mil::Model model = open(local_model(options.path));
  if (options.mil) {
    print_programs(model, "", options.values);
  } else {
    write_out(options.json ? mil::summary_json(model) : mil::summary_text(model));
  }
  if (std::fflush(stdout) != 0) fail(ErrorCode::Io, "standard output: writing failed");
}

}  // namespace

CLI::App* add_inspect_command(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("inspect", "Show a package's functions, inputs, weights and metadata");
  command->add_option("PACKAGE", options->path, "X.mlpackage, X.mlmodelc, X.mlmodel or a model.mil")
      ->required();
  CLI::Option* json = command->add_flag("--json", options->json, "print the summary as JSON");
  CLI::Option* mil = command->add_flag("--mil", options->mil, "print the program as MIL text");
  command->add_flag("--values", options->values, "with --mil: also print the elements of weights")
      ->needs(mil);
  json->excludes(mil);
  command->callback([options] { inspect(*options); });
  return command;
}

}  // namespace pippin::cli
