// Names of repositories, revisions and files of the Hub, and checks that they are safe in paths.
// Names come from users and servers; none may leave its folder.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pippin::hub {

inline constexpr std::string_view kDefaultRevision = "main";

// org/name[/path][@revision], or org/name:TAG[@revision], a GGUF model whose name ends with TAG
struct RepoSpec {
  std::string id;  // "org/name", or "name" for the Hub's oldest models
  std::string revision = std::string(kDefaultRevision);
  std::string path;  // a file or folder inside; empty: the repository
  std::string gguf;  // the tag
};

// Checks the Hub's own rules: at most 96 letters, digits, '-', '_', '.'; no "--" or "..", no '-' or
// '.' at either end, no ".git" at the end.
bool is_repo_id(std::string_view id);

// Returns nothing if the text does not have this form. The organization may be omitted only with
// `allow_bare_name`, because otherwise any word would be a repository.
std::optional<RepoSpec> parse_repo_spec(std::string_view text, bool allow_bare_name = false);

// Whether the text is 40 lower-case hexadecimal digits.
bool is_commit_hash(std::string_view text);
// Whether the text is 64 lower-case hexadecimal digits.
bool is_sha256(std::string_view text);

// Whether a branch or tag name can be a path below refs/: no "..", no control characters, ...
bool is_safe_revision(std::string_view revision);
// Whether a file name stays inside its folder: relative, UTF-8, no empty, "." or ".." parts, no
// backslash or control character, not longer than file systems allow.
bool is_safe_path(std::string_view path);

// Returns "models--org--name", huggingface_hub's cache folder for the repository.
std::string repo_folder_name(std::string_view id);
// Returns the id of such a folder; nothing for other folders.
std::optional<std::string> repo_of_folder(std::string_view folder);

}  // namespace pippin::hub
