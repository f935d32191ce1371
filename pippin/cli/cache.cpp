#include "pippin/cli/cache.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/base/text.h"
#include "pippin/cli/options/options.h"
#include "pippin/io/json.h"
#include "pippin/io/load_cache.h"

namespace pippin::cli {
namespace {

using Entry = LoadCache::Entry;

std::shared_ptr<LoadCache> the_cache() {
  auto cache = default_load_cache();
  if (cache == nullptr) {
    fail(ErrorCode::NotFound, "no cache: PIPPIN_CACHE is empty, or HOME is not set");
  }
  return cache;
}

int64_t seconds_since_use(const Entry& entry) {
  const auto age = std::chrono::system_clock::now() - entry.last_used;
  return std::max<int64_t>(std::chrono::duration_cast<std::chrono::seconds>(age).count(), 0);
}

// Returns "5 min", "3 h" or "12 d".
std::string age_of(const Entry& entry) {
  const int64_t seconds = seconds_since_use(entry);
  if (seconds < 60) return fmt::format("{} s", seconds);
  if (seconds < 3600) return fmt::format("{} min", seconds / 60);
  if (seconds < 86400) return fmt::format("{} h", seconds / 3600);
  return fmt::format("{} d", seconds / 86400);
}

uint64_t bytes_of(const std::vector<Entry>& entries) {
  uint64_t total = 0;
  for (const Entry& entry : entries) total += entry.file_bytes;
  return total;
}

std::string table_of(const LoadCache& cache, const std::vector<Entry>& entries) {
  if (entries.empty()) return fmt::format("nothing in {}\n", cache.folder().string());
  std::string text = fmt::format("{:16}  {:>9}  {:>9}  {:8}  {}\n", "ENTRY", "SIZE", "LAST USED",
                                 "VERSION", "WHAT");
  for (const Entry& entry : entries) {
    text += fmt::format("{:16}  {:>9}  {:>9}  {:8}  {}\n", entry.key.substr(0, 16),
                        format_bytes(entry.file_bytes), age_of(entry), entry.version,
                        entry.is_valid ? entry.what_of : "damaged");
  }
  return text + fmt::format("{:16}  {:>9}  of at most {}, in {}\n", "all",
                            format_bytes(bytes_of(entries)), format_bytes(cache.max_bytes()),
                            cache.folder().string());
}

std::string json_of(const LoadCache& cache, const std::vector<Entry>& entries) {
  JsonWriter writer;
  writer.begin_object()
      .member("path", cache.folder().string())
      .member("bytes", bytes_of(entries))
      .member("max_bytes", cache.max_bytes());
  writer.key("entries").begin_array();
  for (const Entry& entry : entries) {
    writer.begin_object()
        .member("key", entry.key)
        .member("bytes", entry.file_bytes)
        .member("seconds_since_use", seconds_since_use(entry))
        .member("valid", entry.is_valid)
        .member("version", entry.version)
        .member("what", entry.what_of)
        .end_object();
  }
  return writer.end_array().end_object().text() + "\n";
}

void list(bool json) {
  const auto cache = the_cache();
  const auto entries = cache->entries();
  print_out(json ? json_of(*cache, entries) : table_of(*cache, entries));
}

void clear(bool json) {
  const auto cache = the_cache();
  const auto cleared = cache->clear();
  if (json) {
    JsonWriter writer;
    writer.begin_object()
        .member("path", cache->folder().string())
        .member("entries", cleared.entries)
        .member("bytes", cleared.bytes)
        .member("left", cleared.others)
        .end_object();
    return print_out(writer.text() + "\n");
  }
  std::string text = fmt::format("{}: {} arrays removed, {} free\n", cache->folder().string(),
                                 cleared.entries, format_bytes(cleared.bytes));
  if (cleared.others > 0) {
    text += fmt::format("{} files there are not the cache's and stay\n", cleared.others);
  }
  print_out(text);
}

}  // namespace

CLI::App* add_cache_command(CLI::App& app) {
  CLI::App* sub = app.add_subcommand("cache", "List or clear the load cache");
  const auto json = std::make_shared<bool>(false);
  CLI::App* list_sub = sub->add_subcommand("list", "List the arrays, most recently used first");
  list_sub->add_flag("--json", *json, "Print it as JSON");
  list_sub->callback([json] { list(*json); });
  CLI::App* clear_sub = sub->add_subcommand("clear", "Remove them");
  clear_sub->add_flag("--json", *json, "Print the removed entries as JSON");
  clear_sub->callback([json] { clear(*json); });
  CLI::App* path_sub = sub->add_subcommand("path", "Print the folder");
  path_sub->callback([] { print_out(the_cache()->folder().string() + "\n"); });
  sub->require_subcommand(1);
  sub->footer(
      "Weights in forms that no kernel reads (sparse ones, palettes of vectors) are computed by "
      "the first\nload and mapped by later ones. PIPPIN_CACHE names the folder (empty: none), "
      "PIPPIN_CACHE_SIZE how\nmuch it may have, such as \"20 GB\".");
  return sub;
}

}  // namespace pippin::cli
