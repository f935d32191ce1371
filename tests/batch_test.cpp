// `pippin batch` as several processes, some of which are killed.
#include <csignal>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/files/file.h"
#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/io/json.h"
#include "pippin/io/npy.h"
#include "tests/process.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;

class Batch : public testing::Test {
 protected:
  // Chats, completions with and without a seed, and a request that fails, in turn.
  void write_requests(int count) {
    std::string text;
    for (int i = 0; i < count; ++i) {
      const char* url = i % 3 == 0 ? "/v1/chat/completions" : "/v1/completions";
      const std::string prompt =
          i % 3 == 0 ? fmt::format(R"("messages":[{{"role":"user","content":"Tell of {}."}}])", i)
                     : fmt::format(R"("prompt":"Once upon a time {}","temperature":{})", i,
                                   i % 3 == 1 ? "0.8" : "0");
      text += fmt::format(R"({{"custom_id":"r-{}","method":"POST","url":"{}",)"
                          R"("body":{{"max_tokens":{},{}}}}})",
                          i, url, i == 7 ? -5 : 20, prompt) +
              "\n";
    }
    write_file(folder_ / "in.jsonl", text);
  }

  std::vector<std::string> command(const std::string& output,
                                   const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {"batch", (folder_ / "in.jsonl").string(), "-o",
                                      (folder_ / output).string()};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  // Returns the answers in order: custom_ids with texts, or with messages of errors.
  std::vector<std::pair<std::string, std::string>> answers(const fs::path& file) const {
    std::vector<std::pair<std::string, std::string>> found;
    const std::string text = read_file(file);
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = text.find('\n', begin);
      const Json line = Json::parse(text.substr(begin, end - begin), "answer");
      const Json body = line.at("response").at("body");
      std::string content;
      if (line.at("response").get_int("status_code") != 200) {
        content = body.at("error").get_string("message");
      } else {
        const Json choice = body.at("choices").at(size_t{0});
        const auto message = choice.find("message");
        content = message ? message->get_string("content") : choice.get_string("text");
      }
      found.emplace_back(line.get_string("custom_id"), content);
      begin = end + 1;
    }
    return found;
  }

  TempDir folder_;
};

TEST_F(Batch, KilledProcessesLoseNothing) {
  constexpr int kRequests = 240, kKills = 6;
  write_requests(kRequests);
  const ProcessResult alone = run_pippin(command("alone.jsonl", {"--parallel", "1", "--json"}));
  ASSERT_EQ(alone.status, 0) << alone.err;
  const Json summary = Json::parse(alone.out, "summary");
  EXPECT_EQ(summary.get_int("answered"), kRequests);
  EXPECT_EQ(summary.get_int("failed"), 1);
  EXPECT_NE(alone.err.find("line 8 (custom_id r-7): status 400"), std::string::npos) << alone.err;

  std::vector<std::string> words = command("out", {"--shard", "10"});
  words.insert(words.begin(), PIPPIN_PROGRAM);
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  std::vector<std::unique_ptr<Process>> processes(3);
  for (auto& process : processes) process = std::make_unique<Process>(words);
  for (int i = 0; i < kKills; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 150));
    auto& process = processes[random() % processes.size()];
    process->signal(SIGKILL);
    process->wait();
    process = std::make_unique<Process>(words);
  }
  processes[0]->signal(SIGTERM);
  const int status = processes[0]->wait().status;
  EXPECT_TRUE(status == 128 + SIGTERM || status == 0) << status;
  for (size_t i = 1; i < processes.size(); ++i) {
    const ProcessResult result = processes[i]->wait();
    EXPECT_EQ(result.status, 0) << result.err;
  }
  const ProcessResult told = run_pippin({"batch", "status", (folder_ / "out").string(), "--json"});
  EXPECT_EQ(Json::parse(told.out, "status").get_int("complete_shards"), 24);
  const ProcessResult merged = run_pippin(
      {"batch", "merge", (folder_ / "out").string(), "-o", (folder_ / "all.jsonl").string()});
  ASSERT_EQ(merged.status, 0) << merged.err;
  const auto expected = answers(folder_ / "alone.jsonl");
  EXPECT_EQ(expected.size(), size_t{kRequests});
  EXPECT_EQ(answers(folder_ / "all.jsonl"), expected);
}

TEST_F(Batch, WritesOneFileOnceAndRefusesAnotherJob) {
  write_requests(4);
  ASSERT_EQ(run_pippin(command("out.jsonl")).status, 0);
  const std::string text = read_file(folder_ / "out.jsonl");
  EXPECT_EQ(run_pippin(command("out.jsonl")).status, 0);
  EXPECT_EQ(read_file(folder_ / "out.jsonl"), text);
  const ProcessResult other = run_pippin(command("out.jsonl", {"--temp", "0.5"}));
  EXPECT_EQ(other.status, 1);
  EXPECT_NE(other.err.find("no --temp there, --temp 0.5 here"), std::string::npos) << other.err;
  fs::remove(folder_ / "out.jsonl");
  EXPECT_NE(run_pippin(command("out.jsonl")).err.find("was written and is gone"),
            std::string::npos);
}

TEST_F(Batch, NamesLinesThatItCannotAnswer) {
  for (const auto& [request, part] : std::map<std::string, std::string>{
           {R"({"custom_id":"a","url":"/v1/images","body":{}})",
            "in.jsonl: line 1: url \"/v1/images\" is not one of /v1/chat/completions"},
           {R"({"custom_id":"a","url":"/v1/rerank","body":{}})",
            "line 1: /v1/rerank needs a model that scores texts, which demo does not"},
           {R"({"custom_id":"a","url":"/v1/completions","body":{"model":"gpt-4o"}})",
            "line 1: body.model \"gpt-4o\" is not \"demo\" (to accept it: -m gpt-4o=MODEL)"},
           {R"({"custom_id":"a","url":"/v1/completions","body":{"stream":true}})",
            "line 1: body.stream: the answers of a batch come whole"}}) {
    write_file(folder_ / "in.jsonl", request + "\n");
    const ProcessResult result = run_pippin(command("out"));
    EXPECT_EQ(result.status, 1);
    EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
  }
}

TEST_F(Batch, ShortensLongNames) {
  const std::string id(10'000, 'i');
  const std::string request = R"({"custom_id":")" + id + R"(","url":"/v1/completions","body":)";
  write_file(folder_ / "in.jsonl", request + R"({"prompt":"a","max_tokens":-5}})" + "\n");
  const ProcessResult failed = run_pippin(command("out"));
  EXPECT_EQ(failed.status, 0) << failed.err;
  EXPECT_NE(failed.err.find("(custom_id " + std::string(80, 'i') + "...): status 400"),
            std::string::npos)
      << failed.err;
  write_file(folder_ / "in.jsonl", request + R"({"model":")" + id + "\"}}\n");
  const ProcessResult refused = run_pippin(command("other"));
  EXPECT_EQ(refused.status, 1);
  EXPECT_LT(refused.err.size(), 400U);
}

TEST_F(Batch, NamesAMissingModelAsRunDoes) {
  write_requests(1);
  for (const std::string model : {"nope", "/no/such/model"}) {
    const ProcessResult result = run_pippin(command("out", {"-m", model}));
    EXPECT_EQ(result.status, 1);
    EXPECT_EQ(result.err, run_pippin({"run", model, "hi"}).err);
    EXPECT_NE(result.err.find(model + ": there is no such model"), std::string::npos) << result.err;
    EXPECT_FALSE(fs::exists(folder_ / "out"));
  }
}

TEST_F(Batch, EmbedsLines) {
  write_file(folder_ / "in.jsonl", "Once upon a time\nA dog\nOnce upon a time\n");
  ASSERT_EQ(run_pippin(command("out.npy", {"--embed"})).status, 0);
  const NpyArray array = read_npy(folder_ / "out.npy");
  ASSERT_EQ(array.shape.size(), 2U);
  ASSERT_EQ(array.shape[0], 3);
  const auto values = array.as<float>();
  const auto width = static_cast<size_t>(array.shape[1]);
  EXPECT_TRUE(
      std::equal(values.begin(), values.begin() + array.shape[1], values.end() - array.shape[1]));
  ASSERT_EQ(run_pippin(command("out", {"--embed", "--format", "jsonl"})).status, 0);
  const std::string text = read_file(folder_ / "out" / "vectors.jsonl");
  const std::vector<double> first = Json::parse(text.substr(0, text.find('\n')), "").as_floats();
  ASSERT_EQ(first.size(), width);
  EXPECT_EQ(static_cast<float>(first[1]), values[1]);
}

TEST_F(Batch, WritesAScriptForSlurm) {
  write_requests(1);
  const ProcessResult result =
      run_pippin(command("it's", {"--slurm", "64", "--dry-run", "--temp", "0.5", "--no-cache"}));
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_TRUE(result.out.starts_with("#!/bin/sh\n#SBATCH ")) << result.out;
  EXPECT_NE(result.out.find("#SBATCH --array=0-63\n"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("/it'\\''s' '--no-cache' '--temp=0.5'"), std::string::npos)
      << result.out;
  EXPECT_FALSE(fs::exists(folder_ / "it's"));
}

}  // namespace
}  // namespace pippin
