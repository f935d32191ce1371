// `pippin pull`: a repository of the Hub, and additional files that its packages need.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pippin/app/open/hub_model.h"
#include "pippin/hub/pull.h"

namespace pippin::app {

// Each member is the command-line option of that name.
struct PullRequest {
  std::string
      repo;  // org/name, org/name@revision or org/name/package; or a URL copied from a browser
  std::string revision, local_dir, cache_dir, token;
  std::vector<std::string> files, include, exclude;
  int max_workers = 6;
};

struct PullReport {
  hub::RepoSpec spec;
  hub::PullResult pulled;
  std::optional<PulledTokenizer> tokenizer;  // from the model that the packages were made from
  double seconds = 0;
};

// The repository to pull from that server. Throws InvalidArgument for an invalid repository or
// revision.
hub::RepoSpec repository_of(const PullRequest& request, const std::string& endpoint);

// Throws as repository_of() and hub::pull().
PullReport pull(const PullRequest& request, const PullObserver& pulls = {});

// Removes the files of MODEL, org/name, from the cache. Returns the number of bytes freed. Throws
// as hub::remove_cached(); NotFound if it is not a repository.
uint64_t remove_pulled(const std::string& model);

// Prints the report as a JSON object.
std::string to_json(const PullReport& report);

}  // namespace pippin::app
