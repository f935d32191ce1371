#include "pippin/hub/repo_spec.h"

#include <algorithm>

#include "pippin/base/text.h"

namespace pippin::hub {
namespace {

constexpr std::string_view kFolderPrefix = "models--";
constexpr std::string_view kSeparator = "--";

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.';
}

bool is_hex(std::string_view text, size_t length) {
  return text.size() == length && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

bool is_name(std::string_view name) {
  const auto edge = [](char c) { return c == '-' || c == '.'; };
  return !name.empty() && std::all_of(name.begin(), name.end(), is_name_char) &&
         !edge(name.front()) && !edge(name.back());
}

// Returns whether check(part) holds for all parts between slashes.
template <typename Check>
bool all_parts(std::string_view path, Check check) {
  for (;;) {
    const size_t slash = path.find('/');
    if (!check(path.substr(0, slash))) return false;
    if (slash == std::string_view::npos) return true;
    path.remove_prefix(slash + 1);
  }
}

}  // namespace

bool is_repo_id(std::string_view id) {
  if (id.size() > 96 || std::count(id.begin(), id.end(), '/') > 1) return false;
  if (id.find(kSeparator) != std::string_view::npos || id.find("..") != std::string_view::npos ||
      id.ends_with(".git")) {
    return false;
  }
  return all_parts(id, is_name);
}

std::optional<RepoSpec> parse_repo_spec(std::string_view text, bool allow_bare_name) {
  RepoSpec spec;
  if (const size_t at = text.rfind('@'); at != std::string_view::npos) {
    spec.revision = text.substr(at + 1);
    if (!is_safe_revision(spec.revision)) return std::nullopt;
    text = text.substr(0, at);
  }
  if (const size_t colon = text.rfind(':'); colon != std::string_view::npos) {
    spec.gguf = text.substr(colon + 1);
    text = text.substr(0, colon);
    const bool plain = !spec.gguf.empty() && spec.gguf.size() <= 60 && is_safe_path(spec.gguf) &&
                       spec.gguf.find_first_of("/: ") == std::string::npos;
    if (!plain || std::count(text.begin(), text.end(), '/') != 1) return std::nullopt;
  }
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos && !allow_bare_name) return std::nullopt;
  const size_t second =
      slash == std::string_view::npos ? std::string_view::npos : text.find('/', slash + 1);
  spec.id = text.substr(0, second);
  if (!is_repo_id(spec.id)) return std::nullopt;
  if (second != std::string_view::npos) {
    std::string_view path = text.substr(second + 1);
    if (path.ends_with('/')) path.remove_suffix(1);
    if (!path.empty() && !is_safe_path(path)) return std::nullopt;
    spec.path = path;
  }
  return spec;
}

bool is_commit_hash(std::string_view text) {
  return is_hex(text, 40);
}

bool is_sha256(std::string_view text) {
  return is_hex(text, 64);
}

bool is_safe_revision(std::string_view revision) {
  return is_safe_path(revision) && revision.find_first_of(" ~^:?*[") == std::string_view::npos;
}

bool is_safe_path(std::string_view path) {
  if (path.empty() || path.size() > 2000 || has_control(path) || !is_valid_utf8(path) ||
      path.find('\\') != std::string_view::npos) {
    return false;
  }
  return all_parts(path, [](std::string_view part) {
    return !part.empty() && part != "." && part != ".." && part.size() <= 255;
  });
}

std::string repo_folder_name(std::string_view id) {
  std::string name(kFolderPrefix);
  for (const char c : id) {
    if (c == '/') {
      name += kSeparator;
    } else {
      name += c;
    }
  }
  return name;
}

std::optional<std::string> repo_of_folder(std::string_view folder) {
  if (!folder.starts_with(kFolderPrefix)) return std::nullopt;
  folder.remove_prefix(kFolderPrefix.size());
  std::string id(folder);
  if (const size_t at = id.find(kSeparator); at != std::string::npos) id.replace(at, 2, "/");
  if (!is_repo_id(id)) return std::nullopt;
  return id;
}

}  // namespace pippin::hub
