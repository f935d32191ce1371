// Batches without a model: each answer is the prompt.
#include "pippin/server/batch_runner.h"

#include <atomic>
#include <csignal>
#include <filesystem>
#include <memory>
#include <thread>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "pippin/base/testing.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/server/batch_creation.h"
#include "pippin/server/kept_testing.h"

namespace pippin::server {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

class Batches : public testing::Test {
 protected:
  void SetUp() override { restart(); }
  void TearDown() override { end(); }

  // Ends the server, if there is one, and begins another one with the same folder.
  void restart() {
    end();
    kept_ = std::make_unique<KeptFiles>(FilesOptions{.folder = folder_ / "kept"});
    BatchRunnerOptions options;
    options.texts = 4;
    options.try_again = 20ms;
    options.has_model = [](const std::string&) { return true; };
    options.call = [this](const http::Request& request, const std::string&) {
      return call(request);
    };
    runner_ = std::make_unique<BatchRunner>(*kept_, std::move(options));
  }
  void end() {
    runner_.reset();
    kept_.reset();
  }

  http::Response call(const http::Request& request) {
    const std::string prompt = Json::parse(request.body, "body").get_string("prompt");
    ++calls_;
    while (holds_ && prompt.starts_with("held")) {
      check_cancel();
      std::this_thread::sleep_for(1ms);
    }
    if (prompt.starts_with("busy") && busy_-- > 0) return {.status = 503, .body = "{}"};
    if (prompt.starts_with("bad")) return {.status = 400, .body = R"({"error":{"message":"no"}})"};
    return {.body = fmt::format("{{\"text\":\"{}\"}}", prompt)};
  }

  std::string upload(const std::string& text) {
    StoredFile file;
    file.purpose = "batch";
    return kept_->files.upload(file, text).id;
  }
  std::string create(const std::string& text, const std::string& more = "") {
    return create_from(upload(text), more);
  }
  std::string create_from(const std::string& file, const std::string& more = "") {
    BatchRecord batch = read_batch(fmt::format(
        R"({{"input_file_id":"{}","endpoint":"/v1/completions","completion_window":"24h"{}}})",
        file, more));
    return kept_->batches
        .add(std::move(batch), [&](const fs::path& path) { kept_->files.link(file, path); })
        .id;
  }
  BatchRecord get(const std::string& id) { return kept_->batches.find(id).value(); }
  BatchRecord wait_for(const std::string& id, BatchStatus status) {
    for (int i = 0; i < 30'000 && get(id).status != status; ++i) std::this_thread::sleep_for(1ms);
    EXPECT_EQ(name_of(get(id).status), name_of(status));
    return get(id);
  }
  void set_status(const std::string& id, BatchStatus status, int64_t expires_at = INT64_MAX) {
    kept_->batches.update(id, [&](BatchRecord& batch) {
      batch.status = status;
      batch.expires_at = expires_at;
      return true;
    });
  }

  // "a+ b! c-batch_expired " of a file of answers: successes, failures, errors.
  std::string answers(const std::string& file) {
    std::string result;
    batch::each_line(kept_->files.read(file).value(), true, [&](std::string_view line, size_t) {
      const Json json = Json::parse(line, "line");
      const auto error = json.find("error");
      result += json.get_string("custom_id");
      result += error ? "-" + error->get_string("code") : batch::is_success(line) ? "+" : "!";
      result += ' ';
    });
    return result;
  }

  TempDir folder_;
  std::atomic<int> calls_{0}, busy_{0};
  std::atomic<bool> holds_{true};
  std::unique_ptr<KeptFiles> kept_;
  std::unique_ptr<BatchRunner> runner_;
};

TEST_F(Batches, AnswersAndFailuresHaveFiles) {
  const std::string id =
      create(completion_line("a") + completion_line("bad") + completion_line("c"),
             R"(,"output_expires_after":{"anchor":"created_at","seconds":3600})");
  const BatchRecord batch = wait_for(id, BatchStatus::Completed);
  EXPECT_EQ(answers(batch.output_file_id), "a+ c+ ");
  EXPECT_EQ(answers(batch.error_file_id), "bad! ");
  EXPECT_EQ(batch.counts.total, 3u);
  EXPECT_EQ(batch.counts.completed, 2u);
  EXPECT_EQ(batch.counts.failed, 1u);
  for (const int64_t time : {batch.in_progress_at, batch.finalizing_at, batch.completed_at}) {
    EXPECT_GE(time, batch.created_at());
  }
  EXPECT_EQ(batch.cancelled_at + batch.expired_at + batch.failed_at, 0);
  const StoredFile file = kept_->files.find(batch.output_file_id).value();
  EXPECT_EQ(file.purpose, "batch_output");
  EXPECT_EQ(file.expires_at, file.created_at() + 3600);
  runner_.reset();  // ends the step
  EXPECT_FALSE(fs::exists(kept_->batches.job_of(id)));
  EXPECT_FALSE(fs::exists(kept_->batches.input_of(id)));
}

TEST_F(Batches, ARequestWaitsWhileTheServerIsBusy) {
  busy_ = 2;
  const BatchRecord batch = wait_for(create(completion_line("busy")), BatchStatus::Completed);
  EXPECT_EQ(answers(batch.output_file_id), "busy+ ");
  EXPECT_EQ(batch.error_file_id, "");
  EXPECT_EQ(calls_, 3);
}

TEST_F(Batches, AFileWithFaultsFails) {
  const BatchRecord batch = wait_for(create("x\n" + completion_line("a")), BatchStatus::Failed);
  ASSERT_EQ(batch.errors.size(), 1u);
  EXPECT_EQ(batch.errors[0].code, "invalid_json_line");
  EXPECT_EQ(calls_, 0);
  // The record survives.
  restart();
  EXPECT_EQ(batch_object(get(batch.id)), batch_object(batch));
}

TEST_F(Batches, GoOnAfterARestart) {
  std::string text;
  for (int i = 0; i < 40; ++i) text += completion_line(fmt::format("q{}", i));
  text += completion_line("held");
  const std::string id = create(text);
  const std::string later = create(completion_line("z"));
  for (int i = 0; i < 30'000 && calls_ < 20; ++i) std::this_thread::sleep_for(1ms);
  restart();
  EXPECT_EQ(get(id).status, BatchStatus::InProgress);
  holds_ = false;
  const BatchRecord batch = wait_for(id, BatchStatus::Completed);
  std::string expected;
  for (int i = 0; i < 40; ++i) expected += fmt::format("q{}+ ", i);
  EXPECT_EQ(answers(batch.output_file_id), expected + "held+ ");
  EXPECT_LE(calls_, 47);  // at most those under way were repeated
  EXPECT_EQ(answers(wait_for(later, BatchStatus::Completed).output_file_id), "z+ ");
}

TEST_F(Batches, ACancelledOneKeepsItsAnswers) {
  const std::string id =
      create(completion_line("a") + completion_line("b") + completion_line("held"));
  for (int i = 0; i < 30'000 && calls_ < 3; ++i) std::this_thread::sleep_for(1ms);
  while (get(id).counts.completed < 2) std::this_thread::sleep_for(1ms);
  set_status(id, BatchStatus::Cancelling);
  const BatchRecord batch = wait_for(id, BatchStatus::Cancelled);
  EXPECT_EQ(answers(batch.output_file_id), "a+ b+ ");
  EXPECT_EQ(answers(batch.error_file_id), "held-batch_cancelled ");
  EXPECT_EQ(batch.counts.completed, 2u);
  EXPECT_EQ(batch.counts.failed, 0u);
  EXPECT_GT(batch.cancelled_at, 0);
}

TEST_F(Batches, ALateOneExpires) {
  const std::string id = create(completion_line("a") + completion_line("held"));
  wait_for(id, BatchStatus::InProgress);
  while (get(id).counts.completed < 1) std::this_thread::sleep_for(1ms);
  set_status(id, BatchStatus::InProgress, 1);
  const BatchRecord batch = wait_for(id, BatchStatus::Expired);
  EXPECT_EQ(answers(batch.output_file_id), "a+ ");
  EXPECT_EQ(answers(batch.error_file_id), "held-batch_expired ");
}

TEST_F(Batches, NeedTheirFileOnlyAtTheirCreation) {
  const std::string first = create(completion_line("held"));  // others wait for it
  const std::string file = upload(completion_line("b"));
  const std::string id = create_from(file);
  kept_->files.remove(file);
  holds_ = false;
  EXPECT_EQ(answers(wait_for(id, BatchStatus::Completed).output_file_id), "b+ ");
  EXPECT_EQ(answers(wait_for(first, BatchStatus::Completed).output_file_id), "held+ ");
}

// A limit on the size of files stands for a full disk.
TEST_F(Batches, WaitForRoomOnTheDisk) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += completion_line(fmt::format("q{}", i));
  const std::string file = upload(text);
  struct rlimit old {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  const auto before = ::signal(SIGXFSZ, SIG_IGN);
  struct rlimit small = old;
  small.rlim_cur = 2000;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string id = create_from(file);
  while (calls_ < 12) std::this_thread::sleep_for(1ms);  // their answers are above the limit
  std::this_thread::sleep_for(50ms);
  const BatchStatus status = get(id).status;
  ::setrlimit(RLIMIT_FSIZE, &old);
  ::signal(SIGXFSZ, before);
  EXPECT_NE(status, BatchStatus::Failed);
  const BatchRecord batch = wait_for(id, BatchStatus::Completed);
  std::string expected;
  for (int i = 0; i < 200; ++i) expected += fmt::format("q{}+ ", i);
  EXPECT_EQ(answers(batch.output_file_id), expected);
}

TEST_F(Batches, AnUnreadableOneFailsAlone) {
  const std::string held = create(completion_line("held"));
  const std::string id = create(completion_line("b"));
  wait_for(id, BatchStatus::InProgress);
  fs::remove(kept_->batches.input_of(id));
  holds_ = false;
  const BatchRecord batch = wait_for(id, BatchStatus::Failed);
  EXPECT_EQ(batch.errors.at(0).code, "server_error");
  wait_for(held, BatchStatus::Completed);
}

}  // namespace
}  // namespace pippin::server
