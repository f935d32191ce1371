#include "pippin/server/batch_outputs.h"

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "pippin/base/threads/cancel.h"
#include "pippin/batch/outcomes.h"
#include "pippin/batch/request.h"
#include "pippin/server/random_id.h"

namespace pippin::server {
namespace {

// Calls for each line of one of the two files.
template <typename Use>
void each_output_line(const batch::Job& job, const MissingAnswer& missing, const Use& use) {
  for (size_t shard = 0; shard < job.shards.size(); ++shard) {
    check_cancel();
    batch::each_outcome(job, shard, [&](const batch::Request& request, std::string_view line) {
      if (!line.empty()) return use(fmt::format("{}\n", line), batch::is_success(line), true);
      use(batch::error_line(job.id, request, missing.code, missing.message), false, false);
    });
  }
}

std::string store_output(const batch::Job& job, const MissingAnswer& missing, bool successes,
                         FileStore& files, const BatchRecord& batch) {
  const char* const kind = successes ? "output" : "error";
  StoredFile file;
  file.id = std::string(FileStore::kPrefix) + derived_digits(batch.id, kind);
  file.name = fmt::format("{}_{}.jsonl", batch.id, kind);
  file.purpose = "batch_output";
  file.created_ns = time_ns();
  if (batch.output_seconds > 0) file.expires_at = file.created_at() + batch.output_seconds;
  return files
      .add(std::move(file),
           [&](FileWriter& out) {
             each_output_line(job, missing, [&](const std::string& line, bool is_success, bool) {
               if (is_success == successes) out.write(line);
             });
           })
      .id;
}

}  // namespace

void store_outputs(const batch::Job& job, const MissingAnswer& missing, FileStore& files,
                   BatchRecord& batch) {
  BatchCounts counts{.total = job.requests};
  BatchUsage usage;
  each_output_line(job, missing, [&](const std::string& line, bool is_success, bool is_answer) {
    if (is_success) ++counts.completed;
    if (!is_success && is_answer) ++counts.failed;
    if (is_success) add_usage(usage, line);
  });
  batch.counts = counts;
  batch.usage = usage;
  if (counts.completed > 0) batch.output_file_id = store_output(job, missing, true, files, batch);
  if (counts.completed < counts.total) {
    batch.error_file_id = store_output(job, missing, false, files, batch);
  }
}

}  // namespace pippin::server
