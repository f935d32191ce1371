#include "pippin/batch/worker.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "pippin/base/error.h"
#include "pippin/base/files/file.h"
#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/batch/merge.h"
#include "pippin/batch/shard.h"
#include "pippin/batch/status.h"
#include "pippin/batch/testing.h"

namespace pippin::batch {
namespace {

using namespace std::chrono_literals;

class BatchWork : public testing::Test {
 protected:
  void SetUp() override {
    std::string text;
    for (int i = 0; i < kRequests; ++i) text += request_line("id" + std::to_string(i));
    write_file(folder_ / "in.jsonl", text);
    job_ = open_job(folder_ / "out", {.input = folder_ / "in.jsonl", .shard_requests = 8}, "me");
  }

  // Answers with the custom_id.
  Answer answer(const Request& request) {
    const std::lock_guard lock(mutex_);
    asked_.push_back(request.custom_id);
    return {request.custom_id == "id5" ? 400 : 200, R"({"text":")" + request.custom_id + "\"}"};
  }
  Answering answering() {
    return one_by_one([this](const Request& request) { return answer(request); });
  }

  template <typename AnswerOne>
  static Answering one_by_one(AnswerOne answer_one) {
    return [answer_one](std::span<const Request* const> requests) {
      std::vector<Answer> answers;
      answers.reserve(requests.size());
      for (const Request* request : requests) answers.push_back(answer_one(*request));
      return answers;
    };
  }

  // Checks that each answer is there once, in order.
  std::string merged() {
    merge(job_, folder_ / "all.jsonl");
    std::string text = read_file(folder_ / "all.jsonl");
    int line = 0;
    each_line(text, true, [&](std::string_view one, size_t) {
      EXPECT_EQ(answered_id(one), "id" + std::to_string(line++));
    });
    EXPECT_EQ(line, kRequests);
    return text;
  }

  static constexpr int kRequests = 30;
  TempDir folder_;
  Job job_;
  std::mutex mutex_;
  std::vector<std::string> asked_;
};

TEST_F(BatchWork, IsDoneByOneProcess) {
  const WorkerResult result = work(job_, "me", answering(), {.in_flight = 3});
  EXPECT_EQ(result.answered, 30U);
  EXPECT_EQ(result.failed, 1U);
  EXPECT_EQ(result.first_failure, R"(line 6 (custom_id id5): status 400: {"text":"id5"})");
  const std::string text = merged();
  const std::string id = request_id(job_.id, "id1");
  EXPECT_NE(text.find(R"({"id":"batch_req_)" + id +
                      R"(","custom_id":"id1",)"
                      R"("response":{"status_code":200,"request_id":")" +
                      id + R"(","body":{"text":"id1"}},"error":null})"),
            std::string::npos)
      << text;
  const JobStatus status = status_of(job_);
  EXPECT_EQ(status.answered, 30U);
  EXPECT_EQ(status.failed, 1U);
  EXPECT_EQ(status.complete_shards, 4U);
  EXPECT_TRUE(status.claims.empty());
  EXPECT_EQ(work(job_, "other", answering()).answered, 0U);
}

TEST_F(BatchWork, IsSharedByThreeProcesses) {
  std::vector<std::thread> threads;
  threads.reserve(3);
  for (const char* owner : {"a", "b", "c"}) {
    threads.emplace_back(
        [this, owner] { work(job_, owner, answering(), {.in_flight = 2, .group = 3}); });
  }
  for (std::thread& thread : threads) thread.join();
  merged();
  EXPECT_EQ(asked_.size(), 30U);
}

TEST_F(BatchWork, GoesOnAfterAFailure) {
  std::atomic<int> count{0};
  const auto failing = [&](const Request& request) {
    if (++count == 12) fail(ErrorCode::Io, "no more");
    return answer(request);
  };
  EXPECT_THROW(work(job_, "first", one_by_one(failing)), Error);
  EXPECT_EQ(status_of(job_).answered, 11U);
  EXPECT_TRUE(status_of(job_).claims.empty());
  work(job_, "second", answering());
  EXPECT_EQ(asked_.size(), 30U);
  merged();
}

TEST_F(BatchWork, EndsWhenCancelled) {
  CancelToken token;
  const CancelScope scope(token);
  const auto cancelling = [&](const Request& request) {
    token.request();
    return answer(request);
  };
  EXPECT_THROW(work(job_, "first", one_by_one(cancelling)), Error);
  EXPECT_TRUE(status_of(job_).claims.empty());
}

TEST_F(BatchWork, KeepsAnAnswerThatIsCompleteWhenCancelled) {
  CancelToken token;
  const CancelScope scope(token);
  const auto cancelling = [&](const Request& request) {
    token.request();
    std::this_thread::sleep_for(std::chrono::milliseconds(300));  // the work has begun to stop
    return answer(request);
  };
  EXPECT_THROW(work(job_, "first", one_by_one(cancelling)), Error);
  EXPECT_GE(status_of(job_).answered, 1U);  // more on a machine that is slow to stop
}

// A limit on the size of files stands for a full disk.
TEST_F(BatchWork, SurvivesAFullDisk) {
  struct rlimit old {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  const auto before = ::signal(SIGXFSZ, SIG_IGN);
  struct rlimit small = old;
  small.rlim_cur = 500;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  std::string fault = "none";
  try {
    work(job_, "first", answering());
  } catch (const Error& error) {
    fault = fault_of(error, ErrorCode::Io, ".partial: writing ");
  }
  ::setrlimit(RLIMIT_FSIZE, &old);
  ::signal(SIGXFSZ, before);
  EXPECT_EQ(fault, "");
  const uint64_t kept = status_of(job_).answered;
  EXPECT_GT(kept, 0U);
  asked_.clear();
  work(job_, "second", answering());
  EXPECT_EQ(asked_.size(), 30U - kept);
  merged();
}

TEST_F(BatchWork, ComputesSuspectsAloneAndSkipsThoseThatKill) {
  const auto part = [&](const std::string& rest) { return job_.parts() / ("00000000." + rest); };
  const std::string answered =
      answer_line(job_.id, {"id0", "/v1/completions", "{}"}, {200, R"({"text":"before"})"});
  write_file(part("dead1.partial"), answered + answered.substr(0, answered.size() - 5));
  write_file(part("dead1.begun"), "0\n1\n2\n99\nx\n");
  write_file(part("dead2.partial"), answered);
  write_file(part("dead0.begun"), "1 alone\n1 alone\n1 alone\n");
  write_file(part("dead2.begun"), "2 alone\n");
  write_file(part("dead3.begun"), "2 alone\n");
  for (const char* owner : {"dead2", "dead3"}) write_file(crash_mark(job_, owner), "");
  std::atomic<int> running{0};
  int together = 0;
  const auto counting = [&](const Request& request) {
    ++running;
    std::this_thread::sleep_for(2ms);
    if (request.custom_id == "id1") together = running;
    --running;
    return answer(request);
  };
  work(job_, "me", one_by_one(counting), {.in_flight = 4});
  EXPECT_EQ(together, 1);
  EXPECT_EQ(std::count(asked_.begin(), asked_.end(), "id0"), 0);
  EXPECT_EQ(std::count(asked_.begin(), asked_.end(), "id2"), 0);
  EXPECT_EQ(asked_.size(), 28U);
  const std::string text = merged();
  EXPECT_NE(text.find(R"("text":"before")"), std::string::npos);
  EXPECT_NE(text.find(R"("custom_id":"id2","response":null,"error":{"code":"crashed",)"),
            std::string::npos)
      << text;
  EXPECT_FALSE(std::filesystem::exists(part("dead1.begun")));
}

TEST_F(BatchWork, IsMergedOnce) {
  EXPECT_THROW(merge(job_, folder_ / "early.jsonl"), Error);
  work(job_, "me", answering());
  std::vector<std::thread> threads;
  threads.reserve(3);
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([this] { merge_and_remove(job_, folder_ / "all.jsonl", 1); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(std::filesystem::exists(folder_ / "all.jsonl"));
  EXPECT_FALSE(std::filesystem::exists(job_.parts()));
  EXPECT_EQ(status_of(job_).answered, 30U);
  EXPECT_EQ(status_of(job_).failed, 1U);
  work(job_, "late", answering());  // finds nothing to do
  EXPECT_EQ(asked_.size(), 30U);
}

}  // namespace
}  // namespace pippin::batch
