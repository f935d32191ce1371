// A batch: OpenAI's Batch object, as it is answered and stored.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pippin/io/json.h"
#include "pippin/server/batch_usage.h"

namespace pippin::server {

enum class BatchStatus : uint8_t {
  Validating,
  Failed,  // the file is not valid
  InProgress,
  Finalizing,  // all requests have answers
  Completed,
  Expired,
  Cancelling,
  Cancelled,
};

std::string_view name_of(BatchStatus status);
// Returns whether nothing of it will change.
bool is_final(BatchStatus status);

// A fault of the file of requests.
struct LineFault {
  std::string code, message;
  std::string param;              // empty: none
  std::optional<int64_t> line{};  // from 1; nothing: the whole file
};

struct BatchCounts {
  uint64_t total = 0, completed = 0, failed = 0;
};

struct BatchRecord {
  std::string id, endpoint, input_file_id, completion_window;
  BatchStatus status = BatchStatus::Validating;
  std::vector<LineFault> errors;
  std::string output_file_id, error_file_id;  // empty: none
  int64_t created_ns = 0;                     // since 1970
  // Seconds since 1970; 0: it has not happened.
  int64_t expires_at = 0, in_progress_at = 0, finalizing_at = 0, completed_at = 0, failed_at = 0,
          expired_at = 0, cancelling_at = 0, cancelled_at = 0;
  int64_t output_seconds = 0;  // until its output files expire; 0: never
  BatchCounts counts;
  std::optional<BatchUsage> usage;  // once its files are stored
  std::optional<std::vector<std::pair<std::string, std::string>>> metadata;

  int64_t created_at() const { return created_ns / 1'000'000'000; }
};

// Returns OpenAI's object.
std::string batch_object(const BatchRecord& batch);

// The text that is stored, and its reader, which throws InvalidFile.
std::string batch_text(const BatchRecord& batch);
BatchRecord parse_batch(const Json& json);

}  // namespace pippin::server
