#include "pippin/batch/outcomes.h"

#include <string>

#include <gtest/gtest.h>

#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/batch/shard.h"
#include "pippin/batch/testing.h"

namespace pippin::batch {
namespace {

TEST(BatchOutcomes, AreThoseOfCompleteAndOpenShards) {
  const TempDir folder;
  write_file(folder / "in.jsonl",
             request_line("a") + request_line("b") + request_line("c") + request_line("d"));
  const Job job =
      open_job(folder / "out", {.input = folder / "in.jsonl", .shard_requests = 2}, "me");
  for (const size_t number : {size_t{0}, size_t{1}}) {
    Shard shard(job, number, "me");
    for (const size_t i : {size_t{0}, size_t{1}}) {
      if (number == 1 && i == 0) continue;  // c has no answer
      shard.answer(i, answer_line(job.id, shard.request(i), {i == 0 ? 200 : 400, "{}"}));
    }
    if (shard.is_complete()) shard.commit();
  }
  std::string found;
  for (const size_t number : {size_t{0}, size_t{1}}) {
    each_outcome(job, number, [&](const Request& request, std::string_view line) {
      found += request.custom_id;
      found += line.empty() ? "- " : is_success(line) ? "+ " : "! ";
    });
  }
  EXPECT_EQ(found, "a+ b! c- d! ");
}

}  // namespace
}  // namespace pippin::batch
