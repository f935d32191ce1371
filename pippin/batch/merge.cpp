#include "pippin/batch/merge.h"

#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "pippin/base/base64.h"
#include "pippin/base/error.h"
#include "pippin/base/files/durable.h"
#include "pippin/base/files/mapped_file.h"
#include "pippin/base/files/output.h"
#include "pippin/base/files/pending_output.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/batch/claims.h"
#include "pippin/io/json.h"
#include "pippin/io/npy.h"

namespace pippin::batch {
namespace {

namespace fs = std::filesystem;

// Returns nothing for a text that failed.
std::optional<std::vector<float>> vector_in(std::string_view line) {
  if (!is_success(line)) return std::nullopt;
  const Json data = Json::parse(line, "answer").at("response").at("body").at("data");
  const auto bytes = decode_base64(data.at(size_t{0}).at("embedding").as_string());
  if (!bytes) data.invalid("is not base64");
  std::vector<float> vector(bytes->size() / sizeof(float));
  std::memcpy(vector.data(), bytes->data(), vector.size() * sizeof(float));
  return vector;
}

void write_lines(const Job& job, FileWriter& out) {
  for (size_t shard = 0; shard < job.shards.size(); ++shard) {
    check_cancel();
    const auto part = MappedFile::open(job.part(shard), StandIns::Allow);
    out.write(part->bytes());
  }
}

template <typename Use>
void each_vector(const Job& job, const Use& use) {
  for (size_t shard = 0; shard < job.shards.size(); ++shard) {
    check_cancel();
    each_answer_of(job, shard, [&](std::string_view line) { use(vector_in(line)); });
  }
}

void write_vector_lines(const Job& job, FileWriter& out) {
  each_vector(job, [&](const std::optional<std::vector<float>>& vector) {
    JsonWriter json;
    if (!vector) {
      json.value(nullptr);
    } else {
      json.begin_array();
      for (const float x : *vector) {
        std::isfinite(x) ? json.raw(fmt::format("{}", x)) : json.value(nullptr);
      }
      json.end_array();
    }
    out.write(json.text() + "\n");
  });
}

void write_array(const Job& job, FileWriter& out) {
  size_t width = 0;
  for (size_t shard = 0; width == 0 && shard < job.shards.size(); ++shard) {
    each_answer_of(job, shard, [&](std::string_view line) {
      const auto vector = width == 0 ? vector_in(line) : std::nullopt;
      if (vector) width = vector->size();
    });
  }
  out.write(
      npy_header(NpyType::F32, {static_cast<int64_t>(job.requests), static_cast<int64_t>(width)}));
  const std::vector<float> none(width, std::numeric_limits<float>::quiet_NaN());
  each_vector(job, [&](const std::optional<std::vector<float>>& vector) {
    out.write(std::as_bytes(std::span(vector ? *vector : none)));
  });
}

}  // namespace

void each_answer_of(const Job& job, size_t shard,
                    const std::function<void(std::string_view line)>& use) {
  const auto part = MappedFile::open(job.part(shard), StandIns::Allow);
  const std::string_view text(reinterpret_cast<const char*>(part->bytes().data()),
                              part->bytes().size());
  each_line(text, true, [&](std::string_view line, size_t) { use(line); });
}

void merge(const Job& job, const fs::path& target) {
  const size_t missing = job.count_missing();
  if (missing > 0) {
    fail(ErrorCode::InvalidArgument, "{}: {} of {} shards lack answers: run pippin batch again",
         job.folder.string(), missing, job.shards.size());
  }
  PendingOutput output(target);
  FileWriter writer(output.path());
  if (job.kind == InputKind::Requests) {
    write_lines(job, writer);
  } else if (target.extension() == ".npy") {
    write_array(job, writer);
  } else {
    write_vector_lines(job, writer);
  }
  writer.close();
  output.commit();
}

void merge_and_remove(const Job& job, const fs::path& target, uint64_t failed) {
  Claims claims(job.claims());
  const size_t number = job.shards.size();  // after those of the shards
  while (!fs::exists(job.merged())) {
    check_cancel();
    if (!claims.take_one({number})) {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      continue;
    }
    if (!fs::exists(job.merged())) {
      try {
        merge(job, target);
      } catch (const Error&) {
        // After a long pause, another process may have taken over, and removed the parts.
        if (!fs::exists(job.merged())) throw;
        break;
      }
      sync_to_disk(target);
      publish_file(job.merged(), job.folder / ("merged." + Claims::new_owner()),
                   std::to_string(failed));
      std::error_code ignored;
      fs::remove_all(job.parts(), ignored);
    }
    claims.finish(number);
  }
}

}  // namespace pippin::batch
