#include "pippin/pipeline/stage_run.h"

#include <cstring>
#include <exception>
#include <limits>
#include <utility>

#include "pippin/pipeline/pipeline.h"
#include "pippin/pipeline/wire.h"

namespace pippin::pipeline {

StageRun::StageRun(const PipelinePlan& plan, ThreadPool& pool)
    : plan_(plan), index_(plan.own_stage().value()), execution_(plan.own()->make_execution(pool)) {}

void StageRun::put(size_t input, ByteSpan bytes, size_t lane) {
  const MutableByteSpan target = execution_->input_bytes(input, lane);
  if (bytes.size() != target.size()) {
    fail(ErrorCode::Internal, "{} has {} bytes for value {}, {} are expected", plan_.name(),
         bytes.size(), input, target.size());
  }
  if (!bytes.empty()) std::memcpy(target.data(), bytes.data(), bytes.size());
}

void StageRun::put_causal_mask(size_t input, const std::vector<int64_t>& shape, int64_t past,
                               size_t lane) {
  if (execution_->put_causal_mask(input, past, lane)) return;
  const int64_t keys = shape.empty() ? 1 : shape.back();
  const int64_t rows = shape.size() > 1 ? shape[shape.size() - 2] : 1;
  const MutableByteSpan bytes = execution_->input_bytes(input, lane);
  auto* const mask = reinterpret_cast<float*>(bytes.data());
  const auto count = static_cast<int64_t>(bytes.size() / sizeof(float));
  for (int64_t i = 0; i < count; ++i) {
    const bool is_seen = i % keys <= past + i / keys % rows;
    mask[i] = is_seen ? 0.0F : -std::numeric_limits<float>::infinity();
  }
}

std::optional<Error> StageRun::run(std::span<const size_t> lanes,
                                   const std::optional<engine::WantedRows>& rows) {
  std::optional<Error> failure;
  if (index_ > 0) failure = take_values(lanes);
  if (!failure) {
    try {
      if (lanes.size() == 1) {
        execution_->run(lanes[0], is_last() ? rows : std::nullopt);
      } else {
        execution_->run_together(lanes);
      }
    } catch (const Error& error) {
      failure = error;
    } catch (const std::exception& error) {  // memory; the next rank waits for a message
      failure = Error(ErrorCode::Internal, error.what());
    }
  }
  if (is_last()) return failure;
  send_values(lanes, failure);
  return std::nullopt;
}

std::optional<Error> StageRun::take_values(std::span<const size_t> lanes) {
  const Message message = plan_.pipeline().values_of(plan_.stages()[index_ - 1].group);
  ByteReader reader(message, "values of the rank before");
  if (auto error = read_error(reader)) return error;
  const size_t first = plan_.inputs().size();
  for (const size_t lane : lanes) {
    for (size_t i = 0; i < stage().received.size(); ++i) put(first + i, read_bytes(reader), lane);
  }
  return std::nullopt;
}

void StageRun::send_values(std::span<const size_t> lanes, const std::optional<Error>& failure) {
  Writer message;
  put_error(message, failure);
  if (!failure) {
    for (const size_t lane : lanes) {
      for (size_t i = 0; i < stage().sent.size(); ++i) {
        message.put_bytes(execution_->output_bytes(i, lane));
      }
    }
  }
  plan_.pipeline().pass(plan_.stages()[index_ + 1].group, message.take());
}

}  // namespace pippin::pipeline
