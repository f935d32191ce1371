#include "pippin/cli/list.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include "pippin/base/text.h"
#include "pippin/cli/options/options.h"
#include "pippin/hub/cache_scan.h"
#include "pippin/hub/settings.h"
#include "pippin/io/json.h"

namespace pippin::cli {
namespace {

struct ListCommand {
  std::string cache_dir;
  bool json = false;
};

std::string date_of(std::chrono::system_clock::time_point time, const char* format) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  return fmt::format(fmt::runtime(std::string("{:") + format + "}"), parts);
}

// Returns "main v1 (0123abcd), 89abcdef".
std::string revisions_of(const hub::CachedRepo& repo) {
  std::string text;
  for (const hub::CachedRevision& revision : repo.revisions) {
    if (!text.empty()) text += ", ";
    const std::string commit = revision.commit.substr(0, 8);
    text += revision.refs.empty() ? commit
                                  : fmt::format("{} ({})", fmt::join(revision.refs, " "), commit);
  }
  if (repo.incomplete_bytes > 0) {
    text += fmt::format("{}incomplete: {}", text.empty() ? "" : "; ",
                        format_bytes(repo.incomplete_bytes));
  }
  return text;
}

std::string table_of(const std::vector<hub::CachedRepo>& repos) {
  size_t width = 10;
  uint64_t total = 0;
  for (const auto& repo : repos) {
    width = std::max(width, repo.id.size());
    total += repo.bytes;
  }
  std::string text = fmt::format("{:{}}  {:>9}  {:10}  {}\n", "REPOSITORY", width, "SIZE",
                                 "LAST USED", "REVISIONS");
  for (const auto& repo : repos) {
    text += fmt::format("{:{}}  {:>9}  {:10}  {}\n", repo.id, width, format_bytes(repo.bytes),
                        date_of(repo.last_used, "%Y-%m-%d"), revisions_of(repo));
  }
  return text + fmt::format("{:{}}  {:>9}\n", "all", width, format_bytes(total));
}

std::string json_of(const std::vector<hub::CachedRepo>& repos) {
  JsonWriter writer;
  writer.begin_array();
  for (const auto& repo : repos) {
    writer.begin_object()
        .member("repo", repo.id)
        .member("path", repo.folder.string())
        .member("bytes", repo.bytes)
        .member("incomplete_bytes", repo.incomplete_bytes)
        .member("last_used", date_of(repo.last_used, "%Y-%m-%dT%H:%M:%SZ"));
    writer.key("revisions").begin_array();
    for (const auto& revision : repo.revisions) {
      writer.begin_object()
          .member("commit", revision.commit)
          .member("refs", revision.refs)
          .member("bytes", revision.bytes)
          .member("files", revision.files)
          .end_object();
    }
    writer.end_array().end_object();
  }
  return writer.end_array().text() + "\n";
}

void run_list(const ListCommand& command) {
  const auto cache = command.cache_dir.empty() ? hub::read_settings().cache
                                               : std::filesystem::path(command.cache_dir);
  const auto repos = hub::scan_cache(cache);
  if (command.json) return print_out(json_of(repos));
  if (repos.empty()) {
    print_out(fmt::format("no models in {}\n", cache.string()));
    if (::isatty(STDOUT_FILENO) == 1) {
      std::fputs("`pippin pull HuggingFaceTB/SmolLM2-135M-Instruct` gets one that answers\n",
                 stderr);
    }
    return;
  }
  print_out(table_of(repos));
}

}  // namespace

CLI::App* add_list_command(CLI::App& app) {
  auto command = std::make_shared<ListCommand>();
  CLI::App* sub = app.add_subcommand("list", "List the models in the cache");
  sub->add_option("--cache-dir", command->cache_dir, "The cache (HF_HUB_CACHE)")->type_name("DIR");
  sub->add_flag("--json", command->json, "Print it as JSON");
  sub->callback([command] { run_list(*command); });
  return sub;
}

}  // namespace pippin::cli
