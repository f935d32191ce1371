// The three questions that a download asks the Hub: which commit, which files, may I.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pippin/base/error.h"
#include "pippin/hub/answers.h"
#include "pippin/hub/connection.h"

namespace pippin::hub {

// The server could not be asked, or did not answer as a Hub does: cached files may do instead.
class Unreachable : public Error {
 public:
  explicit Unreachable(const std::string& message) : Error(ErrorCode::Network, message) {}
};

// The commit that a branch, tag or (short) commit stands for. Throws NotFound and Network with what
// to do: a wrong name, a gated or private repository, a bad token; Unreachable.
std::string fetch_commit(Connection& connection, std::string_view repo, std::string_view revision,
                         const Notice& notice);

// All files of a commit.
std::vector<RepoFile> fetch_tree(Connection& connection, std::string_view repo,
                                 std::string_view commit, const Notice& notice);

// Where a file's bytes are.
std::string file_url(const Settings& settings, std::string_view repo, std::string_view commit,
                     std::string_view path);

// Throws what an answer with a status of 400 or more, or none, means for the user. `what` is the
// file, or empty for the repository.
[[noreturn]] void fail_for_answer(const HttpResponse& response, const Settings& settings,
                                  std::string_view repo, std::string_view revision,
                                  std::string_view what);

}  // namespace pippin::hub
