#include "pippin/cli/rm.h"

#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "pippin/base/text.h"
#include "pippin/cli/options/options.h"
#include "pippin/hub/cache_scan.h"
#include "pippin/hub/repo_spec.h"
#include "pippin/hub/settings.h"
#include "pippin/io/json.h"

namespace pippin::cli {
namespace {

struct RemoveCommand {
  std::string repo, cache_dir;
  bool json = false;
};

void run_remove(const RemoveCommand& command) {
  const auto spec = hub::parse_repo_spec(command.repo, true);
  if (!spec || !spec->path.empty()) {
    throw CLI::ValidationError(
        fmt::format("\"{}\" is not a repository: org/name or org/name@revision", command.repo));
  }
  const auto cache = command.cache_dir.empty() ? hub::read_settings().cache
                                               : std::filesystem::path(command.cache_dir);
  const bool all = command.repo.find('@') == std::string::npos;
  const auto result = hub::remove_cached(cache, spec->id, all ? "" : spec->revision);
  if (command.json) {
    JsonWriter writer;
    writer.begin_object()
        .member("repo", spec->id)
        .member("commits", result.commits)
        .member("bytes", result.bytes)
        .end_object();
    return print_out(writer.text() + "\n");
  }
  print_out(fmt::format(
      "{}: {} removed, {} free\n", spec->id,
      result.whole_repo ? std::string("all") : fmt::to_string(fmt::join(result.commits, ", ")),
      format_bytes(result.bytes)));
}

}  // namespace

CLI::App* add_rm_command(CLI::App& app) {
  auto command = std::make_shared<RemoveCommand>();
  CLI::App* sub = app.add_subcommand("rm", "Remove a model from the cache");
  sub->add_option("REPO", command->repo, "org/name, or org/name@revision for just one of several")
      ->type_name("")
      ->required();
  sub->add_option("--cache-dir", command->cache_dir, "The cache (HF_HUB_CACHE)")->type_name("DIR");
  sub->add_flag("--json", command->json, "Print what was removed as JSON");
  sub->footer("Files that other revisions share are kept.");
  sub->callback([command] { run_remove(*command); });
  return sub;
}

}  // namespace pippin::cli
