#include "pippin/cli/inspect.h"

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "pippin/base/error.h"
#include "pippin/base/file.h"
#include "pippin/mil/interface.h"
#include "pippin/mil/package.h"
#include "pippin/mil/summary.h"
#include "pippin/mil/text.h"
#include "pippin/mil/verify.h"

namespace pippin::cli {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string path;
  bool json = false, mil = false, values = false;
};

// A package, a compiled package (its text; no weights are read), or a text file.
mil::Model open(const fs::path& path) {
  const bool compiled = fs::is_regular_file(path / "model.mil");
  if (!compiled && path.extension() != ".mil") return mil::read_package(path);
  const fs::path file = compiled ? path / "model.mil" : path;
  mil::Program program = mil::parse_text(read_file(file), file.filename().string());
  mil::verify(program);
  mil::Model model = mil::describe_program(std::move(program));
  model.path = path;
  return model;
}

void inspect(const Options& options) {
  const mil::Model model = open(options.path);
  const std::string text = options.mil    ? mil::print(model.program, {.values = options.values})
                           : options.json ? mil::summary_json(model)
                                          : mil::summary_text(model);
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    fail(ErrorCode::Io, "standard output: writing failed");
  }
}

}  // namespace

CLI::App* add_inspect_command(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("inspect", "Show a package's functions, inputs, weights and metadata");
  command->add_option("PACKAGE", options->path, "an .mlpackage, an .mlmodelc or a model.mil")
      ->required();
  CLI::Option* json = command->add_flag("--json", options->json, "print the summary as JSON");
  CLI::Option* mil = command->add_flag("--mil", options->mil, "print the program as MIL text");
  command->add_flag("--values", options->values, "with --mil: print the weights' elements, too")
      ->needs(mil);
  json->excludes(mil);
  command->callback([options] { inspect(*options); });
  return command;
}

}  // namespace pippin::cli
