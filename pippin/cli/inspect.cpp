#include "pippin/cli/inspect.h"

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/ranges.h>

#include "pippin/app/convert/write_programs.h"
#include "pippin/app/facts/gguf_summary.h"
#include "pippin/app/open/gguf_model.h"
#include "pippin/base/error.h"
#include "pippin/cli/bench/core_ml_plan.h"
#include "pippin/cli/node_list.h"
#include "pippin/cli/options/backend.h"
#include "pippin/cli/options/pull_display.h"
#include "pippin/doctor/compute_plan.h"
#include "pippin/mil/package/package.h"
#include "pippin/mil/package/summary.h"
#include "pippin/runtime/open/package_family.h"
#include "pippin/runtime/package/folder.h"

namespace pippin::cli {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string path;
  bool json = false, mil = false, values = false, plan = false, nodes = false;
  BackendChoice backend;
};

void write_out(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) {
    fail(ErrorCode::Io, "standard output: writing failed");
  }
}

void flush() {
  if (std::fflush(stdout) != 0) fail(ErrorCode::Io, "standard output: writing failed");
}

void show(const std::string& text) {
  write_out(text);
  flush();
}

// Rejects the folder of a model of several packages.
void check_is_one(const std::string& path) {
  if (!fs::is_directory(path) || mil::is_package(path) || !runtime::names_packages(path)) return;
  const runtime::FoundPackages found = runtime::find_packages(path);
  if (found.family == runtime::FoundPackages::Family::Single) return;
  const std::vector<std::string> stems = found.folder.value().stems();
  std::vector<std::string> names;
  names.reserve(stems.size());
  for (const std::string& stem : stems) {
    const fs::path one = found.folder->path() / found.folder->file_name(stem);
    names.push_back(one.lexically_relative(path).generic_string());
  }
  fail(ErrorCode::InvalidArgument, "{}: a model of several packages; inspect one of {}", path,
       fmt::join(names, ", "));
}

void inspect(const Options& options) {
  const std::string path = local_model(options.path, app::ModelPart::Files);
  const bool summary = !options.plan && !options.nodes && !options.mil;
  if (const auto gguf = summary ? app::find_gguf(path) : std::nullopt) {
    return show(options.json ? app::gguf_summary_json(*gguf) : app::gguf_summary_text(*gguf));
  }
  check_is_one(path);
  const mil::Model model = mil::read_package(local_model(path, app::ModelPart::Package));
  if (options.plan && options.backend.backend != "cpu") {
    show(core_ml_plan(model, options.backend, options.json));
  } else if (options.nodes) {
    show(node_list(model, options.json));
  } else if (options.plan) {
    show(options.json ? doctor::plan_json(model) : doctor::plan_text(model));
  } else if (options.mil) {
    app::write_programs(model, options.values, write_out);
    flush();
  } else {
    show(options.json ? mil::summary_json(model) : mil::summary_text(model));
  }
}

}  // namespace

CLI::App* add_inspect_command(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("inspect", "Show the contents of a package or a GGUF");
  command
      ->add_option(
          "PACKAGE", options->path,
          "X.mlpackage, X.mlmodelc, X.mlmodel or model.mil, a .zip or .gz of one, or X.gguf")
      ->required();
  CLI::Option* json = command->add_flag("--json", options->json, "print the summary as JSON");
  CLI::Option* mil = command->add_flag("--mil", options->mil, "print the program as MIL text");
  command->add_flag("--values", options->values, "with --mil: also print the elements of weights")
      ->needs(mil);
  json->excludes(mil);
  CLI::Option* plan =
      command
          ->add_flag("--compute-plan", options->plan,
                     "Print each operation's share of the work and where it is likely to run")
          ->excludes(mil);
  command
      ->add_flag("--plan", options->nodes,
                 "print what the CPU does to run each function, node by node")
      ->excludes(mil)
      ->excludes(plan);
  add_backend_options(*command, options->backend);
  command->get_option("--backend")
      ->description("With --compute-plan: coreml asks Core ML, on a Mac, where operations run")
      ->check(CLI::IsMember({"cpu", "coreml"}).description(""))
      ->needs(plan);
  command->callback([options] { inspect(*options); });
  return command;
}

}  // namespace pippin::cli
