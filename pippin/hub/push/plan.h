// The changes of a push: local files compared with those of the branch.
#pragma once

#include <string>
#include <vector>

#include "pippin/hub/answers.h"
#include "pippin/hub/push/push.h"
#include "pippin/hub/push/push_api.h"

namespace pippin::hub {

struct PushPlan {
  std::vector<PushedFile> files;  // all, by path
  std::vector<LocalFile> regular;
  std::vector<LfsObject> lfs;
  std::vector<std::string> deleted;
  uint64_t bytes = 0;  // of regular and lfs

  bool is_empty() const { return regular.empty() && lfs.empty() && deleted.empty(); }
};

// Compares sizes and hashes, and asks the server how to send the files that differ. `there` are the
// files of the branch.
PushPlan plan_push(Connection& connection, const PushOptions& options, const std::string& repo,
                   const std::string& revision, const std::vector<LocalFile>& files,
                   const std::vector<RepoFile>& there, const PushNotes& notes);

// The paths in `there` that the push deletes: those that match a glob of PushOptions::remove and,
// unless only some files were chosen, those in packages of the push that it does not have.
std::vector<std::string> paths_to_delete(const PushOptions& options,
                                         const std::vector<LocalFile>& files,
                                         const std::vector<RepoFile>& there);

}  // namespace pippin::hub
