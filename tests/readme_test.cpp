// Runs the examples of README.md and of the documents in docs/. A block
//
//   <!-- tested -->
//   ```sh
//   commands
//   ```
//
// must succeed in a folder with stories260K/, a model folder, and the files of the document's
// earlier blocks. `pippin` is the built program; a server's port 8080 becomes a free one. The text
// of a block marked `<!-- output -->` after it must be part of stdout. Blocks marked `<!-- tested
// with Core ML -->` are for the program that PIPPIN_WITH_CORE_ML names: where it is set, they run
// in place of the others.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <regex>
#include <string>
#include <vector>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "pippin/base/files/file.h"
#include "pippin/base/testing.h"
#include "tests/process.h"

namespace pippin {
namespace {

struct Example {
  std::string commands, output;
};

// The body of the code block that starts at `position`, which is moved after it.
std::string read_block(const std::string& text, size_t& position) {
  const size_t begin = text.find('\n', text.find("```", position)) + 1;
  const size_t end = text.find("```", begin);
  position = end + 3;
  return text.substr(begin, end - begin);
}

std::vector<Example> read_examples(const std::string& text, const std::string& tested) {
  const std::string output = "<!-- output -->";
  std::vector<Example> examples;
  for (size_t position = text.find(tested); position != std::string::npos;
       position = text.find(tested, position)) {
    Example example;
    example.commands = read_block(text, position);
    const size_t next = text.find_first_not_of(" \n", position);
    if (next != std::string::npos && text.compare(next, output.size(), output) == 0) {
      example.output = read_block(text, position);
    }
    examples.push_back(std::move(example));
  }
  return examples;
}

// A port that is free at this moment.
std::string free_port() {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  EXPECT_EQ(::bind(listener, generic, size), 0);
  EXPECT_EQ(::getsockname(listener, generic, &size), 0);
  ::close(listener);
  return std::to_string(ntohs(address.sin_port));
}

// README.md and the documents of docs/ that have such blocks, by their paths from the top.
std::vector<std::string> documents(const std::string& tested) {
  std::vector<std::string> found;
  for (const char* folder : {"", "docs"}) {
    for (const auto& entry : std::filesystem::directory_iterator(source_dir() / folder)) {
      if (entry.path().extension() == ".md" &&
          read_file(entry.path()).find(tested) != std::string::npos) {
        found.push_back(entry.path().lexically_relative(source_dir()).string());
      }
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

TEST(Readme, ExamplesWork) {
  PIPPIN_SHARED_OR_SKIP(model, "models/stories260K");
  const char* const core_ml = std::getenv("PIPPIN_WITH_CORE_ML");
  const std::string tested =
      core_ml == nullptr ? "<!-- tested -->" : "<!-- tested with Core ML -->";
  const std::vector<std::string> all = documents(tested);
  const std::vector<std::string> expected =
      core_ml == nullptr ? std::vector<std::string>{"README.md", "docs/tour.md"}
                         : std::vector<std::string>{"docs/tour.md"};
  EXPECT_TRUE(std::includes(all.begin(), all.end(), expected.begin(), expected.end()));
  const std::string port = free_port();
  for (const std::string& document : all) {
    SCOPED_TRACE(document);
    const TempDir folder;
    std::filesystem::create_directory_symlink(model, folder / "stories260K");
    std::filesystem::create_directory(folder / "bin");
    std::filesystem::create_symlink(core_ml == nullptr ? PIPPIN_PROGRAM : core_ml,
                                    folder / "bin" / "pippin");
    const std::string path = (folder / "bin").string() + ":" + std::getenv("PATH");
    for (const Example& example : read_examples(read_file(source_dir() / document), tested)) {
      SCOPED_TRACE(example.commands);
      std::string commands =
          std::regex_replace(example.commands, std::regex("127.0.0.1:8080"), "127.0.0.1:" + port);
      commands = std::regex_replace(commands, std::regex("pippin serve"), "$& --port " + port);
      const auto result =
          run_process({"/bin/sh", "-e", "-c", commands},
                      {.environment = {{"PATH", path}}, .folder = folder.path().string()});
      EXPECT_EQ(result.status, 0) << result.err;
      EXPECT_NE(result.out.find(example.output), std::string::npos) << result.out;
    }
  }
}

}  // namespace
}  // namespace pippin
