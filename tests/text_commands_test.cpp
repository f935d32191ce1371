// pippin template, tokenize and detokenize, and the reasons for which pippin run ends a text.
#include <chrono>
#include <csignal>
#include <thread>

#include <gtest/gtest.h>

#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/io/json.h"
#include "tests/process.h"

namespace pippin {
namespace {

TEST(Template, ConversationsByLine) {
  const TempDir folder;
  const std::string source = (folder / "x.jinja").string(), lines = (folder / "x.jsonl").string();
  write_file(source,
             "{{ bos_token }}{% for m in messages %}[{{ m.content }}]{% else %}"
             "{{ raise_exception('none') }}{% endfor %}{{ strftime_now('%Y-%m-%d %a') }}"
             "{% if add_generation_prompt %}>{% endif %}");
  write_file(lines, R"({"messages": [{"content": "a\"b"}], "bos_token": "<s>", "now": "2025-01-02"}
{"messages": [], "now": "2025-01-02 03:04:05"}
{"messages": [{"content": "x"}], "now": "2025-07-10T03:04:05", "add_generation_prompt": false}
{"messages": [{"content": "x"}], "continue_final_message": true}
)");
  const auto result = run_pippin({"template", source, lines, "--jsonl"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.out, R"("<s>[a\"b]2025-01-02 Thu>"
{"error":"chat template, line 1: none"}
"[x]2025-07-10 Thu"
"[x"
)");
  write_file(lines, R"([{"content": "x"}])");
  EXPECT_EQ(run_pippin({"template", source, lines, "--continue-final-message"}).out, "[x");
  write_file(lines, R"({"messages": [], "now": "2025-02-30"})");
  EXPECT_EQ(run_pippin({"template", source, lines}).status, 1);
}

TEST(Tokenize, ThereAndBackByLine) {
  const std::filesystem::path data = demo_model_folder();
  const TempDir folder;
  const std::string lines = "\"Once upon\"\n\"  two\\nlines \\u00e9\"\n";
  const auto ids = run_pippin({"tokenize", data.string(), lines, "--jsonl", "--no-special"});
  EXPECT_EQ(ids.status, 0) << ids.err;
  EXPECT_EQ(run_pippin({"detokenize", data.string(), ids.out, "--jsonl"}).out,
            "\"Once upon\"\n\"  two\\nlines \u00e9\"\n");
  const auto broken = run_pippin({"tokenize", data.string(), "\"a\"\n[\n", "--jsonl"});
  EXPECT_EQ(broken.status, 1);
  EXPECT_NE(broken.err.find("line 2"), std::string::npos) << broken.err;
}

void expect_cancelled(Process& process) {
  process.signal(SIGINT);
  const auto result = process.wait();
  EXPECT_FALSE(result.timed_out);
  EXPECT_EQ(result.status, 130) << result.err;
  EXPECT_EQ(result.err, "pippin: cancelled\n");
}

TEST(Tokenize, CtrlCEndsIt) {
  const std::filesystem::path data = demo_model_folder();
  const TempDir folder;
  std::string text;
  while (text.size() < 32'000'000) text += "Once upon a time there was an adder. ";
  write_file(folder / "text", text);
  write_file(folder / "ids", [&] {
    std::string ids = "1";
    while (ids.size() < 60'000'000) ids += ",433,259";
    return ids;
  }());
  // One text: the signal comes during the work, which takes seconds.
  for (const char* command : {"tokenize", "detokenize"}) {
    const std::string input = command[0] == 't' ? "text" : "ids";
    Process process({"/bin/sh", "-c", "exec \"$0\" \"$1\" \"$2\" - <\"$3\"", PIPPIN_PROGRAM,
                     command, data.string(), (folder / input).string()});
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    expect_cancelled(process);
  }
  // Many lines, and a wait for the next one.
  std::string lines;
  while (lines.size() < 20'000'000) lines += "\"Once upon a time\"\n";
  Process many({PIPPIN_PROGRAM, "tokenize", data.string(), "-", "--jsonl"}, {.input = lines});
  ASSERT_TRUE(many.wait_for_output(100));
  expect_cancelled(many);
  Process waiting({"/bin/sh", "-c",
                   "mkfifo \"$2\"; exec 0<>\"$2\"; echo '\"Once\"' >&0; "
                   "exec \"$0\" tokenize \"$1\" - --jsonl",
                   PIPPIN_PROGRAM, data.string(), (folder / "lines").string()});
  ASSERT_TRUE(waiting.wait_for_output(2));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  expect_cancelled(waiting);
}

TEST(Run, EndsBeforeAStopString) {
  const std::filesystem::path data = demo_model_folder();
  const auto run = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments{
        "run", data.string(), "Tell me a story about a fox called Mia.", "-n", "60", "--temp",
        "0",   "--no-stats"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_pippin(arguments).out;
  };
  const auto reason = [&](std::vector<std::string> more) {
    more.emplace_back("--json");
    return Json::parse(run(more), "run --json").get_string("stop");
  };
  const std::string whole = run({});
  const size_t place = whole.find("lived in");
  ASSERT_NE(place, std::string::npos) << whole;
  EXPECT_EQ(run({"--stop", "never there", "--stop", "lived in"}), whole.substr(0, place) + "\n");
  EXPECT_EQ(reason({"--stop", "lived in"}), "stop string");
  EXPECT_EQ(reason({"--stop", "never there"}), "token limit");
  const auto empty = run_pippin({"run", "--stop", "", "", "Once"});
  EXPECT_EQ(empty.status, 2);
  EXPECT_NE(empty.err.find("--stop: is empty"), std::string::npos) << empty.err;
}

}  // namespace
}  // namespace pippin
