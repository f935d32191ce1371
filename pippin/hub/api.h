// The Hub requests of a download: the commit, the list of files, and access errors.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pippin/base/error.h"
#include "pippin/hub/answers.h"
#include "pippin/hub/connection.h"

namespace pippin::hub {

// The server could not be reached, or did not answer like a Hub; cached files may be used instead.
class Unreachable : public Error {
 public:
  explicit Unreachable(const std::string& message) : Error(ErrorCode::Network, message) {}
};

// Returns the commit of a branch, tag or (short) commit. Throws NotFound or Network with advice for
// a wrong name, a gated or private repository, or a bad token; Unreachable.
std::string fetch_commit(Connection& connection, std::string_view repo, std::string_view revision,
                         const Notice& notice);

// Returns all files of a commit.
std::vector<RepoFile> fetch_tree(Connection& connection, std::string_view repo,
                                 std::string_view commit, const Notice& notice);

// Returns the URL of a file's content.
std::string file_url(const Settings& settings, std::string_view repo, std::string_view commit,
                     std::string_view path);

// Returns the server's error message, in one line of printable characters: of a header, or of a
// JSON body. Empty: none.
std::string server_message(const HttpResponse& response);

// Throws the error for an answer with a status of 400 or more, or without a status. `what` is the
// file, or empty for the repository.
[[noreturn]] void fail_for_answer(const HttpResponse& response, const Settings& settings,
                                  std::string_view repo, std::string_view revision,
                                  std::string_view what);

}  // namespace pippin::hub
