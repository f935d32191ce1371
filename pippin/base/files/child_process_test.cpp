#include "pippin/base/files/child_process.h"

#include <csignal>
#include <thread>

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/files/file.h"
#include "pippin/base/files/temporary_folder.h"
#include "pippin/base/stopwatch.h"
#include "pippin/base/testing.h"
#include "pippin/base/threads/cancel.h"

namespace pippin {
namespace {

using End = ChildResult::End;

ChildResult shell(const std::string& script, int limit_ms = 60'000) {
  return run_child({"/bin/sh", "-c", script}, std::chrono::milliseconds(limit_ms));
}

TEST(ChildProcess, SaysHowItEnded) {
  EXPECT_EQ(shell("exit 0").status, 0);
  const ChildResult failed = shell("echo first >&2; echo; echo last >&2; echo >&2; exit 7");
  EXPECT_EQ(failed.end, End::Exited);
  EXPECT_EQ(failed.status, 7);
  EXPECT_EQ(failed.last_line, "last");
  const ChildResult killed = shell("kill -9 $$");
  EXPECT_EQ(killed.end, End::Signalled);
  EXPECT_EQ(killed.status, SIGKILL);
  EXPECT_EQ(killed.last_line, "");
}

TEST(ChildProcess, TakesMuchText) {
  const ChildResult result =
      shell("i=0; while [ $i -lt 5000 ]; do echo line $i >&2; i=$((i+1)); done");
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.last_line, "line 4999");
}

TEST(ChildProcess, StreamsGoWhereTheyAreWanted) {
  const TemporaryFolder folder("child");
  std::string errors;
  const ChildResult result = run_child(
      {"/bin/sh", "-c", "echo out; echo one >&2; echo two >&2; exit 3"}, std::chrono::minutes(1),
      {folder / "out.txt", [&](std::string_view piece) { errors += piece; }});
  EXPECT_EQ(result.status, 3);
  EXPECT_EQ(result.last_line, "two");
  EXPECT_EQ(errors, "one\ntwo\n");
  EXPECT_EQ(read_file(folder / "out.txt"), "out\n");
}

TEST(ChildProcess, KillsWhatTakesTooLong) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(shell("exec sleep 60", 200).end, End::TimedOut);
  // A program that writes nothing more, and one that never stops writing.
  EXPECT_EQ(shell("exec 2>&-; exec sleep 60", 200).end, End::TimedOut);
  EXPECT_EQ(shell("while :; do echo more >&2; done", 200).end, End::TimedOut);
  EXPECT_LT(seconds_since(start), 30);
}

TEST(ChildProcess, IsCancelled) {
  CancelToken token;
  const CancelScope scope(token);
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    token.request();
  });
  EXPECT_ERROR(shell("exec sleep 60"), ErrorCode::Cancelled, "cancelled");
  other.join();
}

TEST(ChildProcess, HasToBeThere) {
  EXPECT_ERROR(run_child({"/no/such/program"}, std::chrono::seconds(1)), ErrorCode::NotFound,
               "/no/such/program: cannot be started: ");
}

}  // namespace
}  // namespace pippin
