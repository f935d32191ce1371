// Parses the Hub's answers to a push. They are untrusted, as those in hub/answers.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/io/json.h"

namespace pippin::hub {

// Of /api/models/ID/preupload/REV, for one file.
struct Preuploaded {
  std::string path;
  bool is_lfs = false;      // else part of the commit itself
  bool is_ignored = false;  // by the repository's .gitignore
};
std::vector<Preuploaded> parse_preupload(const Json& answer);

// Where the content of an LFS object goes.
struct UploadAction {
  std::string href;                  // of the content; of the completion, if there are parts
  std::vector<std::string> headers;  // "Name: value"
  uint64_t part_bytes = 0;           // above 0: in parts
  std::vector<std::string> parts;    // their URLs
  std::string verify_href;           // asked after the upload; empty: not
  std::vector<std::string> verify_headers;
};
struct LfsAnswer {
  std::string sha256;
  std::optional<UploadAction> action;  // nullopt: the server has the content
};
// Of /ID.git/info/lfs/objects/batch. Throws Unsupported for a transfer that Pippin does not know
// (Xet), Network with the server's message for an object that it rejects.
std::vector<LfsAnswer> parse_lfs_batch(const Json& answer, std::string_view repo);

struct CommitResult {
  std::string commit, url, pull_request;  // pull_request: its URL, or empty
};
CommitResult parse_commit_answer(const Json& answer);

}  // namespace pippin::hub
