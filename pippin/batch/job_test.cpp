#include "pippin/batch/job.h"

#include <csignal>
#include <filesystem>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/batch/testing.h"

namespace pippin::batch {
namespace {

std::string fault_of_input(const std::string& text, ErrorCode code, const std::string& part) {
  const TempDir folder;
  write_file(folder / "in.jsonl", text);
  try {
    open_job(folder / "out", {.input = folder / "in.jsonl"}, "me");
  } catch (const Error& error) {
    return fault_of(error, code, part);
  }
  return "no error: " + part;
}

TEST(BatchJob, NamesTheLineOfABadRequest) {
  const std::string good = request_line("a");
  const std::string long_id(10'000, 'i');
  for (const auto& [line, part] : std::vector<std::pair<std::string, std::string>>{
           {"", "in.jsonl: has no request"},
           {good + "\n{\"custom_id\"\n", "in.jsonl: line 3"},
           {good + "[1]", "in.jsonl: line 2: expected an object"},
           {good + R"({"url":"/v1/completions","body":{}})",
            "line 2: the key \"custom_id\" is missing"},
           {good + R"({"custom_id":"","url":"/x","body":{}})", "line 2: custom_id: is empty"},
           {good + R"({"custom_id":"b","body":{}})", "line 2: the key \"url\" is missing"},
           {good + R"({"custom_id":"b","url":"/x","body":[]})", "line 2: body: expected an object"},
           {good + R"({"custom_id":"b","url":"/x","method":"GET","body":{}})",
            "line 2: method: \"GET\" is not POST"},
           {good + "\n" + request_line("b") + request_line("a"),
            "in.jsonl: line 4: custom_id \"a\" is also that of line 1"},
           {request_line(long_id) + request_line(long_id),
            "line 2: custom_id \"" + std::string(80, 'i') + "...\" is also that of line 1"}}) {
    EXPECT_EQ(fault_of_input(line, ErrorCode::InvalidFile, part), "");
  }
}

// A limit on the file size stands for a full disk.
TEST(BatchJob, AFullDiskLeavesNoFolder) {
  const TempDir folder;
  write_file(folder / "in.jsonl", request_line("a"));
  struct rlimit old {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  const auto before = ::signal(SIGXFSZ, SIG_IGN);
  struct rlimit small = old;
  small.rlim_cur = 10;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  EXPECT_ERROR(open_job(folder / "jobs" / "out", {.input = folder / "in.jsonl"}, "me"),
               ErrorCode::Io, "job.json");
  ::setrlimit(RLIMIT_FSIZE, &old);
  ::signal(SIGXFSZ, before);
  EXPECT_FALSE(std::filesystem::exists(folder / "jobs"));
  open_job(folder / "jobs" / "out", {.input = folder / "in.jsonl"}, "me");
}

TEST(BatchJob, IsJoinedWithTheSameInputAndOptionsOnly) {
  const TempDir folder;
  std::string text;
  for (int i = 0; i < 7; ++i) text += request_line("id" + std::to_string(i));
  write_file(folder / "in.jsonl", text);
  JobSettings settings{
      .input = folder / "in.jsonl", .options = {{"--temp", "0.8"}}, .shard_requests = 3};
  const Job made = open_job(folder / "out", settings, "one");
  EXPECT_EQ(made.requests, 7U);
  ASSERT_EQ(made.shards.size(), 3U);
  const Job joined = open_job(folder / "out", settings, "two");
  EXPECT_EQ(joined.id, made.id);
  ASSERT_EQ(joined.read(2).size(), 1U);
  EXPECT_EQ(joined.read(2)[0].custom_id, "id6");
  EXPECT_EQ(joined.read(1)[2].line, 6);
  EXPECT_EQ(read_job(folder / "out")->requests, 7U);
  EXPECT_FALSE(read_job(folder / "elsewhere"));

  const auto fault = [&](const JobSettings& other, const std::string& part) {
    try {
      open_job(folder / "out", other, "two");
    } catch (const Error& error) {
      return fault_of(error, ErrorCode::InvalidArgument, part);
    }
    return "no error: " + part;
  };
  JobSettings other = settings;
  other.options = {{"--temp", "1"}};
  EXPECT_EQ(fault(other, "another one: --temp 0.8 there, --temp 1 here;"), "");
  other.options = {{"--temp", "0.8"}, {"--top-k", "5"}};
  EXPECT_EQ(fault(other, "no --top-k there, --top-k 5 here"), "");
  other = settings;
  other.shard_requests = 4;
  EXPECT_EQ(fault(other, "3 requests a shard there, 4 here"), "");
  other = settings;
  other.kind = InputKind::Texts;
  EXPECT_EQ(fault(other, "requests there, --embed here"), "");
  write_file(folder / "copy.jsonl", text);
  other = settings;
  other.input = folder / "copy.jsonl";
  EXPECT_EQ(open_job(folder / "out", other, "two").id, made.id);
  text[text.size() / 2] ^= 1;
  write_file(folder / "copy.jsonl", text);
  EXPECT_EQ(fault(other, "other content there, "), "");
  write_file(folder / "in.jsonl", text + "\n");
  EXPECT_EQ(fault(settings, "an input of "), "");
}

TEST(BatchJob, OfTextsHasEachLine) {
  const TempDir folder;
  write_file(folder / "in.txt", "one\n\nthree \"quoted\"");
  const Job job =
      open_job(folder / "out", {.input = folder / "in.txt", .kind = InputKind::Texts}, "me");
  const std::vector<Request> requests = job.read(0);
  ASSERT_EQ(requests.size(), 3U);
  EXPECT_EQ(requests[2].custom_id, "3");
  EXPECT_EQ(requests[2].body, R"({"input":"three \"quoted\"","encoding_format":"base64"})");
}

}  // namespace
}  // namespace pippin::batch
