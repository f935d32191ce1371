// The commit of a push: one request that the server applies completely or not at all.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pippin/hub/connection.h"
#include "pippin/hub/push/push_api.h"

namespace pippin::hub {

struct CommitRequest {
  std::string summary, description;
  std::string parent;              // the branch's head that the changes were computed for
  std::vector<LocalFile> regular;  // with their content
  std::vector<LfsObject> lfs;      // uploaded before
  std::vector<std::string> deleted;
  bool creates_pr = false;
};

// Commits to the branch. If the answer is lost, finds out whether the server has applied the commit
// before it sends it again. Throws Network with the server's message, or if the branch has moved;
// Io if a file has changed since it was listed; LimitExceeded for too much regular content.
CommitResult commit(Connection& connection, std::string_view repo, std::string_view revision,
                    const CommitRequest& request, const Notice& notice);

}  // namespace pippin::hub
