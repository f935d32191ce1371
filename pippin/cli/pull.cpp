#include "pippin/cli/pull.h"

#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "pippin/app/hub_model.h"
#include "pippin/base/error.h"
#include "pippin/base/stopwatch.h"
#include "pippin/base/text.h"
#include "pippin/cli/options.h"
#include "pippin/cli/pull_display.h"
#include "pippin/hub/pull.h"
#include "pippin/io/json.h"

namespace pippin::cli {
namespace {

struct PullCommand {
  std::string repo, revision, local_dir, cache_dir, token;
  std::vector<std::string> files, include, exclude;
  int connections = 6;
  bool json = false, quiet = false;
};

hub::RepoSpec spec_of(const PullCommand& command, const hub::Settings& settings) {
  std::string repo = command.repo;
  // As copied from a browser.
  const std::string site = settings.endpoint + "/";
  if (repo.starts_with(site)) repo.erase(0, site.size());
  auto spec = hub::parse_repo_spec(repo, true);
  if (!spec) {
    throw CLI::ValidationError(
        fmt::format("\"{}\" is no repository: org/name or org/name@revision", command.repo));
  }
  if (!command.revision.empty()) {
    if (!hub::is_safe_revision(command.revision)) {
      throw CLI::ValidationError(
          fmt::format("--revision: \"{}\" is no branch, tag or commit", command.revision));
    }
    spec->revision = command.revision;
  }
  return *spec;
}

std::string json_of(const hub::RepoSpec& spec, const hub::PullResult& result,
                    const std::optional<app::PulledTokenizer>& tokenizer, double seconds) {
  JsonWriter writer;
  writer.begin_object()
      .member("repo", spec.id)
      .member("revision", spec.revision)
      .member("commit", result.commit)
      .member("path", result.folder.string())
      .member("bytes", result.bytes)
      .member("received", result.received)
      .member("seconds", seconds)
      .member("packages", result.packages);
  writer.key("files").begin_array();
  for (const hub::RepoFile& file : result.files) {
    writer.begin_object().member("path", file.path).member("bytes", file.size).end_object();
  }
  writer.end_array();
  if (tokenizer) {
    writer.key("tokenizer").begin_object();
    writer.member("repo", tokenizer->repo).member("path", tokenizer->folder.string()).end_object();
  }
  return writer.end_object().text();
}

void run_pull(const PullCommand& command) {
  hub::Settings settings = hub::read_settings();
  if (!command.cache_dir.empty()) settings.cache = command.cache_dir;
  if (!command.token.empty()) {
    settings.token = hub::clean_token(command.token, "--token");
    settings.token_source = "--token";
  }
  const hub::RepoSpec spec = spec_of(command, settings);
  hub::PullOptions options;
  options.choose.include = command.include;
  options.choose.include.insert(options.choose.include.end(), command.files.begin(),
                                command.files.end());
  options.choose.exclude = command.exclude;
  options.local_dir = command.local_dir;
  options.connections = command.connections;

  const auto start = std::chrono::steady_clock::now();
  hub::PullResult result;
  std::optional<app::PulledTokenizer> tokenizer;
  {
    PullDisplay display(spec.id, command.json || command.quiet);
    display.attach(options);
    if (command.quiet) options.notice = nullptr;
    result = hub::pull(spec, settings, options);
    if (options.choose.include.empty())
      tokenizer = app::pull_named_tokenizer(result, settings, options);
  }
  const double seconds = seconds_since(start);
  if (command.json) {
    print_out(json_of(spec, result, tokenizer, seconds) + "\n");
    return;
  }
  if (!command.quiet) {
    fmt::print(stderr, "{}@{}: {} files, {}, {} of it received in {:.1f} s{}\n", spec.id,
               result.commit.substr(0, 8), result.files.size(), format_bytes(result.bytes),
               format_bytes(result.received), seconds,
               tokenizer ? "; tokenizer of " + tokenizer->repo : "");
  }
  print_out(result.folder.string() + "\n");
}

}  // namespace

CLI::App* add_pull_command(CLI::App& app) {
  auto command = std::make_shared<PullCommand>();
  CLI::App* sub = app.add_subcommand("pull", "Download a model from the Hugging Face Hub");
  const auto option = [&](const char* name, auto& value, const char* type, const char* help) {
    return sub->add_option(name, value, help)->type_name(type);
  };
  option("REPO", command->repo, "", "org/name, org/name@revision or org/name/package")->required();
  option("FILE", command->files, "", "Only these files, as --include");
  option("--revision", command->revision, "REV", "Branch, tag or commit (main)");
  option("--include", command->include, "GLOB",
         "Fetch all files that match, instead of what a model needs; repeatable");
  option("--exclude", command->exclude, "GLOB", "Leave out files that match; repeatable");
  option("--local-dir", command->local_dir, "DIR", "Put the files there instead of into the cache");
  option("--cache-dir", command->cache_dir, "DIR", "The cache (HF_HUB_CACHE)");
  option("--token", command->token, "TOKEN",
         "Access token (default: HF_TOKEN, or the one that hf auth login stored)");
  option("--max-workers", command->connections, "N", "Simultaneous connections (6)")
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
