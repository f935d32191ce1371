#include "pippin/server/batch_outputs.h"

#include <gtest/gtest.h>

#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/batch/shard.h"
#include "pippin/server/kept_testing.h"

namespace pippin::server {
namespace {

// As after a crash between the files and the record.
TEST(BatchOutputs, AreTheSameWhenRepeated) {
  const TempDir folder;
  write_file(folder / "in.jsonl", completion_line("a") + completion_line("b"));
  const batch::Job job = batch::open_job(folder / "job", {.input = folder / "in.jsonl"}, "me");
  {
    batch::Shard shard(job, 0, "me");
    shard.answer(0, batch::answer_line(job.id, shard.request(0), {200, "{}"}));
    shard.leave();
  }
  FileStore files(folder / "files", 1000);
  BatchRecord first, second;
  first.id = second.id = "batch_x";
  store_outputs(job, {"batch_expired", "It is late."}, files, first);
  store_outputs(job, {"batch_expired", "It is late."}, files, second);
  EXPECT_EQ(files.list().size(), 2u);
  EXPECT_EQ(first.output_file_id, second.output_file_id);
  EXPECT_EQ(first.error_file_id, second.error_file_id);
  EXPECT_NE(first.output_file_id, first.error_file_id);
  EXPECT_EQ(first.counts.total, 2u);
  EXPECT_EQ(first.counts.completed, 1u);
  EXPECT_EQ(first.counts.failed, 0u);
  const std::string errors = files.read(first.error_file_id).value();
  EXPECT_NE(errors.find(R"("error":{"code":"batch_expired","message":"It is late."})"),
            std::string::npos)
      << errors;
}

}  // namespace
}  // namespace pippin::server
