#include "pippin/base/bytes.h"
#include "pippin/base/error.h"
#include "pippin/hub/answers.h"
#include "pippin/hub/choose.h"
#include "pippin/hub/repo_spec.h"
#include "pippin/hub/url.h"

namespace {

using namespace pippin;

template <typename Read>
void attempt(Read read) {
  try {
    read();
  } catch (const Error&) {
  }
}

}  // namespace

// Answers of the Hub's API: accepted paths stay in their folder, and the cache's own listing
// round-trips. The text of a header is parsed, too.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = as_text(std::as_bytes(std::span(data, size)));
  attempt([&] {
    const auto link = hub::next_link(text);
    const auto base = hub::parse_url("https://hub/api");
    if (link) hub::resolve_url(*base, *link);
  });
  attempt([&] {
    const Json json = Json::parse(text, "answer");
    attempt([&] {
      if (!hub::is_commit_hash(hub::parse_commit(json))) __builtin_trap();
    });
    attempt([&] {
      for (const std::string& shard : hub::parse_shards(json)) {
        if (!hub::is_safe_path(shard)) __builtin_trap();
      }
    });
    attempt([&] { hub::parse_listing(json); });
    attempt([&] {
      std::vector<hub::RepoFile> files;
      hub::parse_tree_page(json, files);
      for (const hub::RepoFile& file : files) {
        if (!hub::is_safe_path(file.path)) __builtin_trap();
      }
      const auto again = hub::parse_listing(Json::parse(hub::write_listing(files), "again"));
      if (again.size() > files.size()) __builtin_trap();
      hub::choose_files(files, {}, "org/name");
    });
  });
  return 0;
}
