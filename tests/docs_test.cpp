// Checks that quotations in the documents match the sources, and that files that they name exist.

#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/files/file.h"
#include "pippin/base/testing.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;

std::string read(const std::string& path) {
  return read_file(source_dir() / path);
}

// The existing files and folders as paths from the root, folders without a final '/'.
class Tree {
 public:
  Tree() {
    for (const auto& top : fs::directory_iterator(source_dir())) {
      const std::string name = top.path().filename().string();
      if (name == "build" || name == ".git") continue;
      add(top.path());
      if (!top.is_directory()) continue;
      for (const auto& entry : fs::recursive_directory_iterator(top)) add(entry.path());
    }
  }

  const std::set<std::string>& paths() const { return paths_; }

  // The direct subfolders of `parent`.
  std::set<std::string> folders(const std::string& parent) const {
    std::set<std::string> found;
    for (const auto& entry : fs::directory_iterator(source_dir() / parent)) {
      if (entry.is_directory()) found.insert(entry.path().filename().string());
    }
    return found;
  }

  // A path from the root, from pippin/ or from `folder`; "<name>" and "*" stand for anything.
  bool has(std::string path, const std::string& folder) const {
    while (path.ends_with('/') || path.ends_with('.')) path.pop_back();
    if (path == "pippin/mx.h" || path == "pippin/nn.h") return true;  // names of installed headers
    const bool is_pattern = path.find_first_of("<*") != std::string::npos;
    for (const std::string& start : {std::string(), std::string("pippin/"), folder + "/"}) {
      const std::string whole = fs::path(start + path).lexically_normal().string();
      if (is_pattern ? matches(whole) : paths_.contains(whole)) return true;
    }
    return false;
  }

  // Whether there is a file of this name in any folder.
  bool has_name(const std::string& name) const {
    if (name.find('*') != std::string::npos) return matches("*/" + name);
    return std::any_of(paths_.begin(), paths_.end(),
                       [&](const std::string& path) { return path.ends_with("/" + name); });
  }

 private:
  void add(const fs::path& path) {
    paths_.insert(path.lexically_relative(source_dir()).generic_string());
  }

  bool matches(const std::string& pattern) const {
    static const std::regex kPlain("[.+^$()\\[\\]{}|]"), kAny("<[^>]*>|\\*");
    const std::string escaped = std::regex_replace(pattern, kPlain, "\\$&");
    const std::regex expression(std::regex_replace(escaped, kAny, "[^/]*"));
    const std::regex deep("(.*/)?" + std::regex_replace(escaped.substr(2), kAny, "[^/]*"));
    const bool anywhere = pattern.starts_with("*/");
    return std::any_of(paths_.begin(), paths_.end(), [&](const std::string& path) {
      return std::regex_match(path, anywhere ? deep : expression);
    });
  }

  std::set<std::string> paths_;
};

const Tree& tree() {
  static const Tree tree;
  return tree;
}

// The names in a text of `folder` that do not exist: paths that begin with one of the project's
// folders, and names of source files.
std::vector<std::string> missing_paths(const std::string& text, const std::string& folder) {
  std::set<std::string> first = tree().folders("pippin");
  first.merge(tree().folders(""));
  first.erase("build");  // generated files are not checked
  static const std::regex kWord("[A-Za-z0-9_.<>*/~$-]+");
  static const std::regex kSource("[A-Za-z0-9_*]+\\.(h|cpp|inc|py|cmake)");
  std::vector<std::string> missing;
  for (std::sregex_iterator word(text.begin(), text.end(), kWord), end; word != end; ++word) {
    std::string path = word->str();
    while (path.ends_with('.')) path.pop_back();
    const size_t slash = path.find('/');
    const bool is_path = slash != std::string::npos && first.contains(path.substr(0, slash));
    const bool is_there = is_path                           ? tree().has(path, folder)
                          : std::regex_match(path, kSource) ? tree().has_name(path)
                                                            : true;
    if (!is_there) missing.push_back(path);
  }
  return missing;
}

// The targets of links, except for other servers, that do not exist.
std::vector<std::string> missing_links(const std::string& text, const std::string& folder) {
  static const std::regex kLink("\\]\\(([^)#: ]+)[^):]*\\)");
  std::vector<std::string> missing;
  for (std::sregex_iterator link(text.begin(), text.end(), kLink), end; link != end; ++link) {
    const fs::path path = source_dir() / folder / (*link)[1].str();
    if (!fs::exists(path)) missing.push_back((*link)[1].str());
  }
  return missing;
}

std::vector<std::string> documents() {
  std::vector<std::string> found;
  for (const std::string& path : tree().paths()) {
    const bool ours = path.find('/') == std::string::npos || path.starts_with("docs/");
    if (ours && path.ends_with(".md")) found.push_back(path);
  }
  return found;
}

// The part of a text between the first `begin` and the next `end`.
std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  const size_t from = text.find(begin) + begin.size();
  return text.substr(from, text.find(end, from) - from);
}

TEST(Docs, TheInterfacesExampleIsTheOneThatIsBuilt) {
  const std::string document = read("docs/cpp-api.md");
  for (const char* example : {"examples/predict.cpp", "examples/chat.cpp"}) {
    EXPECT_NE(document.find("```cpp\n" + read(example) + "```"), std::string::npos) << example;
  }
  EXPECT_NE(document.find("```cmake\n" + read("examples/CMakeLists.txt") + "```"),
            std::string::npos);
}

TEST(Docs, MissingPathsAreFound) {
  using Paths = std::vector<std::string>;
  EXPECT_EQ(missing_paths("See `pippin/io/json.h`, io/json.h and `json.h`.", ""), Paths());
  EXPECT_EQ(
      missing_paths("`pippin/mil/ops/<family>.cpp`, tests/hub/, pippin/engine/*/*_rules.cpp", ""),
      Paths());
  EXPECT_EQ(missing_paths("changed by mil/passes. Or pippin/none/json.h", ""),
            Paths({"mil/passes", "pippin/none/json.h"}));
  EXPECT_EQ(missing_paths("`no_such_file.h`, `no_such_*.cpp`, pippin/<name>/none.h", ""),
            Paths({"no_such_file.h", "no_such_*.cpp", "pippin/<name>/none.h"}));
  EXPECT_EQ(missing_links("[a](docs/cli.md) [b](cli.md#pull) [c](https://x.y/z.md)", ""),
            Paths({"cli.md"}));
  EXPECT_EQ(missing_links("[a](cli.md#pull), [b](../README.md)", "docs"), Paths());
}

TEST(Docs, WhatDocumentsNameIsThere) {
  const std::vector<std::string> all = documents();
  ASSERT_GE(all.size(), 15U);
  for (const std::string& path : all) {
    const std::string text = read(path), folder = fs::path(path).parent_path().string();
    for (const std::string& missing : missing_paths(text, folder)) {
      ADD_FAILURE() << path << " names " << missing;
    }
    for (const std::string& missing : missing_links(text, folder)) {
      ADD_FAILURE() << path << " links to " << missing;
    }
  }
}

TEST(Docs, WhatCommentsNameIsThere) {
  size_t files = 0;
  for (const std::string& path : tree().paths()) {
    if (!path.starts_with("pippin/") || !(path.ends_with(".h") || path.ends_with(".cpp"))) continue;
    ++files;
    const std::string text = read(path);
    std::string comments;
    static const std::regex kComment("//[^\\n]*"), kQuoted("\"[^\"\\n]*\"");
    for (std::sregex_iterator comment(text.begin(), text.end(), kComment), end; comment != end;
         ++comment) {
      comments += std::regex_replace(comment->str(), kQuoted, "") + "\n";
    }
    for (const std::string& missing :
         missing_paths(comments, fs::path(path).parent_path().string())) {
      ADD_FAILURE() << path << " names " << missing;
    }
  }
  EXPECT_GT(files, 500U);
}

// The two tables of allowed includes.
TEST(Docs, FoldersAreThoseThatAreThere) {
  const std::set<std::string> folders = tree().folders("pippin");
  const std::string layers = "base\n" + between(read("CONTRIBUTING.md"), "```\nbase\n", "```");
  const std::string names = std::regex_replace(layers, std::regex("\\([^)]*\\)"), "");
  const std::regex word("[a-z0-9_]+"), folder("`([a-z0-9_]+)[`/]");
  using Words = std::sregex_token_iterator;
  EXPECT_EQ(std::set<std::string>(Words(names.begin(), names.end(), word), {}), folders);

  std::set<std::string> rows;
  const std::string table =
      between(read("ARCHITECTURE.md"), "| folder | what it does | start with |", "\n\n");
  for (size_t line = table.find("\n|"); line != std::string::npos;
       line = table.find("\n|", line + 1)) {
    const std::string cell = table.substr(line + 2, table.find('|', line + 2) - line - 2);
    rows.insert(Words(cell.begin(), cell.end(), folder, 1), {});
  }
  EXPECT_EQ(rows, folders);
}

}  // namespace
}  // namespace pippin
