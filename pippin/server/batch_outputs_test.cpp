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
    const char* const body =
        R"({"usage":{"prompt_tokens":3,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":1}}})";
    shard.answer(0, batch::answer_line(job.id, shard.request(0), {200, body}));
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
  ASSERT_TRUE(first.usage.has_value());
  EXPECT_EQ(first.usage->input_tokens, 3);
  EXPECT_EQ(first.usage->cached_tokens, 1);
  EXPECT_EQ(first.usage->output_tokens, 2);
  // The record is read as it was stored.
  first.endpoint = first.input_file_id = first.completion_window = "x";
  first.errors.push_back({.code = "a", .message = "b", .line = 3});
  first.metadata.emplace({std::pair(std::string("key"), std::string("value"))});
  const std::string text = batch_text(first);
  EXPECT_EQ(batch_text(parse_batch(Json::parse(text, "batch"))), text);
  const std::string errors = files.read(first.error_file_id).value();
  EXPECT_NE(errors.find(R"("error":{"code":"batch_expired","message":"It is late."})"),
            std::string::npos)
      << errors;
}

}  // namespace
}  // namespace pippin::server
