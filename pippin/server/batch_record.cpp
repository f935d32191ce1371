#include "pippin/server/batch_record.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

namespace pippin::server {
namespace {

// In the order of BatchStatus.
constexpr std::array<std::string_view, 8> kStatusNames = {"validating", "failed",    "in_progress",
                                                          "finalizing", "completed", "expired",
                                                          "cancelling", "cancelled"};

struct BatchTime {
  const char* name;
  int64_t BatchRecord::*member;
};
constexpr std::array<BatchTime, 8> kTimes = {{{"expires_at", &BatchRecord::expires_at},
                                              {"in_progress_at", &BatchRecord::in_progress_at},
                                              {"finalizing_at", &BatchRecord::finalizing_at},
                                              {"completed_at", &BatchRecord::completed_at},
                                              {"failed_at", &BatchRecord::failed_at},
                                              {"expired_at", &BatchRecord::expired_at},
                                              {"cancelling_at", &BatchRecord::cancelling_at},
                                              {"cancelled_at", &BatchRecord::cancelled_at}}};

void write_text_or_null(JsonWriter& json, const char* name, const std::string& text) {
  json.key(name);
  text.empty() ? json.value(nullptr) : json.value(text);
}

void write_errors(JsonWriter& json, const std::vector<LineFault>& errors) {
  json.key("errors");
  if (errors.empty()) {
    json.value(nullptr);
    return;
  }
  json.begin_object().member("object", "list").key("data").begin_array();
  for (const LineFault& error : errors) {
    json.begin_object().member("code", error.code);
    json.key("line");
    error.line ? json.value(*error.line) : json.value(nullptr);
    json.member("message", error.message);
    write_text_or_null(json, "param", error.param);
    json.end_object();
  }
  json.end_array().end_object();
}

JsonWriter begin_batch(const BatchRecord& batch) {
  JsonWriter json;
  json.begin_object().member("id", batch.id).member("object", "batch");
  json.member("endpoint", batch.endpoint);
  write_errors(json, batch.errors);
  json.member("input_file_id", batch.input_file_id);
  json.member("completion_window", batch.completion_window);
  json.member("status", name_of(batch.status));
  write_text_or_null(json, "output_file_id", batch.output_file_id);
  write_text_or_null(json, "error_file_id", batch.error_file_id);
  json.member("created_at", batch.created_at());
  for (const BatchTime& time : kTimes) {
    json.key(time.name);
    batch.*time.member == 0 ? json.value(nullptr) : json.value(batch.*time.member);
  }
  json.key("request_counts").begin_object().member("total", batch.counts.total);
  json.member("completed", batch.counts.completed).member("failed", batch.counts.failed);
  json.end_object();
  if (batch.usage) write_batch_usage(json.key("usage"), *batch.usage);
  json.key("metadata");
  if (!batch.metadata) {
    json.value(nullptr);
    return json;
  }
  json.begin_object();
  for (const auto& [name, value] : *batch.metadata) json.member(name, value);
  json.end_object();
  return json;
}

BatchStatus parse_status(const Json& json) {
  const std::string name = json.get_string("status");
  const auto* const found = std::find(kStatusNames.begin(), kStatusNames.end(), name);
  if (found == kStatusNames.end()) json.at("status").invalid("is unknown");
  return static_cast<BatchStatus>(std::distance(kStatusNames.begin(), found));
}

std::vector<LineFault> parse_errors(const Json& json) {
  std::vector<LineFault> errors;
  const auto list = json.find("errors");
  if (!list) return errors;
  for (const Json& one : list->at("data").elements()) {
    errors.push_back({one.get_string("code"), one.get_string("message"),
                      one.get_string_or("param", ""), one.find_int("line")});
  }
  return errors;
}

}  // namespace

std::string_view name_of(BatchStatus status) {
  return kStatusNames[static_cast<size_t>(status)];
}

bool is_final(BatchStatus status) {
  return status == BatchStatus::Failed || status == BatchStatus::Completed ||
         status == BatchStatus::Expired || status == BatchStatus::Cancelled;
}

std::string batch_object(const BatchRecord& batch) {
  return begin_batch(batch).end_object().text();
}

std::string batch_text(const BatchRecord& batch) {
  JsonWriter json = begin_batch(batch);
  json.member("created_ns", batch.created_ns).member("output_seconds", batch.output_seconds);
  return fmt::format("{}\n", json.end_object().text());
}

BatchRecord parse_batch(const Json& json) {
  BatchRecord batch;
  batch.id = json.get_string("id");
  batch.endpoint = json.get_string("endpoint");
  batch.input_file_id = json.get_string("input_file_id");
  batch.completion_window = json.get_string("completion_window");
  batch.status = parse_status(json);
  batch.errors = parse_errors(json);
  batch.output_file_id = json.get_string_or("output_file_id", "");
  batch.error_file_id = json.get_string_or("error_file_id", "");
  batch.created_ns = json.get_int("created_ns");
  for (const BatchTime& time : kTimes) batch.*time.member = json.get_int_or(time.name, 0);
  batch.output_seconds = json.get_int_or("output_seconds", 0);
  const Json counts = json.at("request_counts");
  batch.counts = {counts.at("total").as_uint64(), counts.at("completed").as_uint64(),
                  counts.at("failed").as_uint64()};
  if (const auto usage = json.find("usage")) batch.usage = parse_batch_usage(*usage);
  if (const auto metadata = json.find("metadata")) {
    batch.metadata.emplace();
    for (const auto& [name, value] : metadata->members()) {
      batch.metadata->emplace_back(name, value.as_string());
    }
  }
  return batch;
}

}  // namespace pippin::server
