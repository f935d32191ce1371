// How a repository, a revision and a file of the Hub are named, and which names are safe to make
// paths of. Names come from users and from servers: none of them may leave its folder.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pippin::hub {

inline constexpr std::string_view kDefaultRevision = "main";

// org/name[/path][@revision], or org/name:TAG[@revision], a GGUF model whose name ends so
struct RepoSpec {
  std::string id;  // "org/name", or "name" for the Hub's oldest models
  std::string revision = std::string(kDefaultRevision);
  std::string path;  // a file or folder inside; empty: the repository
  std::string gguf;  // the tag
};

// The Hub's own rules: at most 96 letters, digits, '-', '_', '.'; no "--" or "..", no '-' or '.' at
// either end, no ".git" at the end.
bool is_repo_id(std::string_view id);

// Nothing where the text has not this form. The organisation may be left out only where
// `allow_bare_name` is set: any word would be a repository.
std::optional<RepoSpec> parse_repo_spec(std::string_view text, bool allow_bare_name = false);

// 40 lower-case hexadecimal digits.
bool is_commit_hash(std::string_view text);
// A SHA-256 in the same form.
bool is_sha256(std::string_view text);

// Whether a branch or tag name can be a path below refs/: no "..", no control characters, ...
bool is_safe_revision(std::string_view revision);
// Whether a file's name stays inside the folder that it is put into: relative, UTF-8, no "." or
// ".." or empty parts, no backslash or control character, nothing longer than file systems take.
bool is_safe_path(std::string_view path);

// "models--org--name": huggingface_hub's folder for the repository in its cache.
std::string repo_folder_name(std::string_view id);
// The id of such a folder; nothing where it is another kind of folder.
std::optional<std::string> repo_of_folder(std::string_view folder);

}  // namespace pippin::hub
