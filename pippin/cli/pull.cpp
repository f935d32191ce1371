#include "pippin/cli/pull.h"

#include <cstdio>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "pippin/app/open/pull.h"
#include "pippin/base/error.h"
#include "pippin/base/text.h"
#include "pippin/cli/options/options.h"
#include "pippin/cli/options/pull_display.h"

namespace pippin::cli {
namespace {

struct PullCommand {
  app::PullRequest request;
  bool json = false, quiet = false;
};

void check(const app::PullRequest& request) {
  const std::string endpoint = hub::read_settings().endpoint;
  try {
    app::repository_of(request, endpoint);
  } catch (const Error& error) {
    throw CLI::ValidationError(error.what());
  }
}

void run_pull(const PullCommand& command) {
  check(command.request);
  const auto show = [&](const std::string& repository, hub::PullOptions& options) {
    auto display = std::make_shared<PullDisplay>(repository, command.json || command.quiet);
    display->attach(options);
    if (command.quiet) options.notice = nullptr;
    return display;
  };
  const app::PullReport report = app::pull(command.request, show);
  if (command.json) {
    print_out(app::to_json(report) + "\n");
    return;
  }
  if (!command.quiet) {
    fmt::print(stderr, "{}@{}: {} files, {}, {} of it received in {:.1f} s{}\n", report.spec.id,
               report.pulled.commit.substr(0, 8), report.pulled.files.size(),
               format_bytes(report.pulled.bytes), format_bytes(report.pulled.received),
               report.seconds, report.tokenizer ? "; tokenizer of " + report.tokenizer->repo : "");
  }
  print_out(report.pulled.folder.string() + "\n");
}

}  // namespace

CLI::App* add_pull_command(CLI::App& app) {
  auto command = std::make_shared<PullCommand>();
  CLI::App* sub = app.add_subcommand("pull", "Download a model from the Hugging Face Hub");
  const auto option = [&](const char* name, auto& value, const char* type, const char* help) {
    return sub->add_option(name, value, help)->type_name(type);
  };
  option("REPO", command->request.repo, "", "org/name, org/name@revision or org/name/package")
      ->required();
  option("FILE", command->request.files, "", "Only these files, as --include");
  option("--revision", command->request.revision, "REV", "Branch, tag or commit (main)");
  option("--include", command->request.include, "GLOB",
         "Fetch all files that match, instead of what a model needs; repeatable");
  option("--exclude", command->request.exclude, "GLOB", "Leave out files that match; repeatable");
  option("--local-dir", command->request.local_dir, "DIR",
         "Put the files there instead of into the cache");
  option("--cache-dir", command->request.cache_dir, "DIR", "The cache (HF_HUB_CACHE)");
  option("--token", command->request.token, "TOKEN",
         "Access token (default: HF_TOKEN, or the one that hf auth login stored)");
  option("--max-workers", command->request.max_workers, "N", "Simultaneous connections (6)")
      ->check(between(1, 32));
  sub->add_flag("--json", command->json, "Print commit, path and files as JSON");
  sub->add_flag("-q,--quiet", command->quiet, "Print the path only");
  sub->footer(
      "Prints the folder with the files. Without --include: the Core ML packages, or else the\n"
      "checkpoint in its best form, with configuration and tokenizer. In a GLOB, * also\n"
      "matches slashes. An interrupted pull continues where it stopped.");
  sub->callback([command] { run_pull(*command); });
  return sub;
}

}  // namespace pippin::cli
