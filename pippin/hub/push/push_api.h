// The Hub requests of a push, except the commit (commit.h) and the uploads (uploader.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/hub/connection.h"
#include "pippin/hub/push/local_files.h"
#include "pippin/hub/push/push_answers.h"

namespace pippin::hub {

// Returns the name of the token's user. Throws as the others.
std::string fetch_user(Connection& connection, const Notice& notice);

struct Head {
  bool has_repo = false, has_revision = false;
  bool is_private = false;
  std::string commit;
};
// Returns the commit of a branch; expected outcomes are a missing repository or branch.
Head fetch_head(Connection& connection, std::string_view repo, std::string_view revision,
                const Notice& notice);

// Creates the repository, or returns false if it exists.
bool create_repo(Connection& connection, std::string_view repo, bool is_private,
                 const Notice& notice);
// Creates the branch at the head of the main branch, or returns false if it exists.
bool create_branch(Connection& connection, std::string_view repo, std::string_view branch,
                   const Notice& notice);

// Asks how each file is to be sent, in the order of `files`.
std::vector<Preuploaded> preupload(Connection& connection, std::string_view repo,
                                   std::string_view revision, bool creates_pr,
                                   const std::vector<LocalFile>& files, const Notice& notice);

struct LfsObject {
  LocalFile file;
  std::string sha256;
};
// Asks where the contents of at most kMostLfsObjects objects go; in their order.
inline constexpr size_t kMostLfsObjects = 100;
std::vector<LfsAnswer> request_uploads(Connection& connection, std::string_view repo,
                                       std::string_view revision,
                                       const std::vector<LfsObject>& objects, const Notice& notice);

// Options of a POST of JSON to the API, or to an LFS server.
Connection::Options post_options(const Connection& connection, std::string body);
Connection::Options lfs_options(const Connection& connection, std::string body);

// Throws the error for an answer without success, with the server's own message. `what` is the file
// or the step; may be empty.
[[noreturn]] void fail_for_push(const HttpResponse& response, const Settings& settings,
                                std::string_view repo, std::string_view what);
bool is_success(const HttpResponse& response);
// Parses the answer. Throws Unreachable if it is not JSON.
Json json_of_answer(const Connection::Answer& answer);

}  // namespace pippin::hub
