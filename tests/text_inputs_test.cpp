// Input texts of commands: from a file, through a pipe and from standard input.
#include <functional>
#include <map>
#include <regex>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pippin/base/files/file.h"
#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "tests/process.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;
using Arguments = std::vector<std::string>;

// A command that takes a text, and its output.
struct Command {
  std::string name;
  std::function<Arguments(const std::string& text)> arguments;
  fs::path output;  // empty: stdout
};

class TextInputs : public testing::Test {
 protected:
  void SetUp() override {
    demo_ = (source_dir() / "pippin/demo/model").string();
    plain_ = (dir_ / "plain.mlpackage").string();
    ASSERT_EQ(run_pippin({"convert", demo_, "-o", plain_, "--context", "64"}).status, 0);
    write_file(dir_ / "x.jinja", "{% for m in messages %}[{{ m.content }}]{% endfor %}");
    write_file(dir_ / "x.json", R"([{"content": "a"}, {"content": "b"}])");
  }

  std::vector<Command> commands() const {
    const std::string npz = (dir_ / "l.npz").string(), small = (dir_ / "s.mlpackage").string();
    const fs::path weights = fs::path(small) / "Data/com.apple.CoreML/weights/weight.bin";
    const std::string source = (dir_ / "x.jinja").string();
    const auto quantized = [small](Arguments arguments, const std::string& text) {
      for (const char* more : {"-o", small.c_str(), "--quantize", "int4", "--calibrate",
                               text.c_str(), "--calibrate-tokens", "300"}) {
        arguments.emplace_back(more);
      }
      return arguments;
    };
    return {
        {"verify",
         [this](const std::string& text) {
           return Arguments{"verify", plain_, "--against", demo_, "--text", text, "--json"};
         },
         {}},
        {"logits",
         [this, npz](const std::string& text) {
           return Arguments{"logits", demo_, "-o", npz, "--text", text};
         },
         npz},
        {"run",
         [this](const std::string& text) {
           return Arguments{"run", demo_, "--file", text,         "--raw", "--temp",
                            "0",   "-n",  "4",      "--overflow", "shift", "--no-stats"};
         },
         {}},
        {"compress",
         [this, quantized](const std::string& text) {
           return quantized({"compress", plain_}, text);
         },
         weights},
        {"convert",
         [this, quantized](const std::string& text) {
           return quantized({"convert", demo_}, text);
         },
         weights},
        {"template",
         [source](const std::string& text) {
           return Arguments{"template", source, text};
         },
         {}},
        {"template --jsonl",
         [source](const std::string& text) {
           return Arguments{"template", source, text, "--jsonl"};
         },
         {}},
    };
  }

  std::string text_for(const Command& command) const {
    if (command.name.starts_with("template")) return read_file(dir_ / "x.json");
    const bool calibrates = command.name == "compress" || command.name == "convert";
    std::string text;
    for (int i = 0; i < (calibrates ? 40 : 3); ++i)
      text += "Once upon a time there was an adder named Pip. ";
    return text;
  }

  // The command's result for the text that `source` names.
  // Without the time of day, which the reports of `verify` contain.
  static std::string result_of(const Command& command, const std::string& source,
                               const std::string& input = "") {
    fs::remove_all(command.output);
    const auto result = run_pippin(command.arguments(source), {.input = input});
    EXPECT_EQ(result.status, 0) << command.name << " " << result.err;
    static const std::regex date(R"("date":"[-0-9T:]*Z",)");
    if (command.output.empty()) return std::regex_replace(result.out, date, "");
    return fs::exists(command.output) ? read_file(command.output) : "";
  }

  // Expects one line, and no partial output.
  void expect_refused(const Command& command, const std::string& source, const std::string& part) {
    for (const char* left : {"l.npz", "s.mlpackage"}) fs::remove_all(dir_ / left);
    const auto result = run_pippin(command.arguments(source));
    EXPECT_EQ(result.status, 1) << command.name;
    EXPECT_EQ(result.out, "") << command.name;
    const size_t error = result.err.rfind("pippin: error: ");
    ASSERT_NE(error, std::string::npos) << command.name << result.err;
    EXPECT_EQ(result.err.find('\n', error), result.err.size() - 1) << result.err;
    EXPECT_NE(result.err.find(part, error), std::string::npos) << command.name << result.err;
    for (const auto& entry : fs::directory_iterator(dir_.path())) {
      const std::string name = entry.path().filename().string();
      EXPECT_TRUE(name == "plain.mlpackage" || name == "x.jinja" || name == "x.json" ||
                  name == "pipe" || name == "text")
          << command.name << " left " << name;
    }
  }

  // The path of a pipe into which a thread writes as soon as `use` reads from it.
  void with_pipe(const std::string& text, const std::function<void(const std::string&)>& use) {
    const std::string path = (dir_ / "pipe").string();
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    std::thread writer([&] {
      const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
      EXPECT_EQ(::write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
      ::close(fd);
    });
    use(path);
    // If nothing has read, the writer still waits.
    const int fd = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    writer.join();
    ::close(fd);
    fs::remove(path);
  }

  TempDir dir_;
  std::string demo_, plain_;
};

TEST_F(TextInputs, FilesPipesAndStandardInputAreTheSame) {
  for (const Command& command : commands()) {
    const std::string text = text_for(command), file = (dir_ / "text").string();
    write_file(file, text);
    const std::string expected = result_of(command, file);
    EXPECT_NE(expected, "") << command.name;
    with_pipe(text, [&](const std::string& pipe) {
      EXPECT_EQ(result_of(command, pipe), expected) << command.name;
    });
    EXPECT_EQ(result_of(command, "-", text), expected) << command.name;
  }
}

TEST_F(TextInputs, WhatCannotBeReadIsOneLine) {
  for (const Command& command : commands()) {
    expect_refused(command, (dir_ / "none").string(), "/none: No such file or directory");
    expect_refused(command, dir_.path().string(), ": Is a directory");
  }
}

TEST_F(TextInputs, APipeThatEndsEarly) {
  const std::map<std::string, std::string> refusals = {
      {"verify", "no token to compare models on"},
      {"logits", "no token to give logits for"},
      {"compress", "0 tokens are too few to calibrate with"},
      {"convert", "0 tokens are too few to calibrate with"},
      {"template", "pipe"},
  };
  for (const Command& command : commands()) {
    const auto refusal = refusals.find(command.name);
    // The others accept an empty text.
    if (refusal == refusals.end()) continue;
    with_pipe("", [&](const std::string& pipe) { expect_refused(command, pipe, refusal->second); });
  }
}

TEST_F(TextInputs, WhatNeverEndsIsOneLine) {
  if (!fs::exists("/dev/zero")) GTEST_SKIP() << "no /dev/zero here";
  for (const Command& command : commands()) {
    if (command.name == "template --jsonl") {
      expect_refused(command, "/dev/zero", "/dev/zero: line 1 has more than 268435456 bytes");
    } else {
      expect_refused(command, "/dev/zero", "/dev/zero: more than 268435456 bytes");
    }
  }
}

TEST_F(TextInputs, ATemplateThroughAPipe) {
  with_pipe("<{{ messages[0].content }}>", [&](const std::string& pipe) {
    EXPECT_EQ(run_pippin({"template", pipe, (dir_ / "x.json").string()}).out, "<a>");
  });
}

}  // namespace
}  // namespace pippin
