#include "pippin/server/batch_creation.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "pippin/base/numbers/number.h"
#include "pippin/server/batch_calls.h"
#include "pippin/server/file_upload.h"
#include "pippin/server/message_fields.h"
#include "pippin/server/request_json.h"
#include "pippin/server/stored_file.h"

namespace pippin::server {
namespace {

using Metadata = std::vector<std::pair<std::string, std::string>>;

constexpr int64_t kHour = 3600;

std::string read_required(const RequestFields& fields, const char* name) {
  auto text = find_string(fields, name);
  if (!text || text->empty()) refuse_at(name, "is missing");
  return std::move(*text);
}

std::string read_endpoint(const RequestFields& fields) {
  std::string endpoint = read_required(fields, "endpoint");
  const auto known = batch_endpoints();
  const bool is_known = std::any_of(known.begin(), known.end(),
                                    [&](const BatchEndpoint& one) { return one.url == endpoint; });
  if (!is_known) {
    refuse_at("endpoint", fmt::format("{} is not one of {}", shown(endpoint), batch_urls()));
  }
  return endpoint;
}

// Returns the seconds of "24h", or of another number of hours or days.
int64_t read_window(const std::string& window) {
  constexpr int64_t kDay = 24 * kHour, kMost = 366;
  int64_t number = 0;
  const std::string_view digits(window.data(), window.size() - 1);
  const bool is_days = window.back() == 'd';
  if ((!is_days && window.back() != 'h') || !parse_number(digits, number) || number < 1 ||
      number > kMost * (is_days ? 1 : kDay / kHour)) {
    refuse_at(
        "completion_window",
        fmt::format("{} is not 24h, or another number of hours (h) or days (d)", shown(window)));
  }
  return number * (is_days ? kDay : kHour);
}

std::optional<Metadata> read_metadata(const RequestFields& fields) {
  constexpr size_t kMostPairs = 16, kLongestKey = 64, kLongestValue = 512;
  const auto given = fields.find("metadata");
  if (!given) return std::nullopt;
  if (!given->is_object()) refuse_at("metadata", "expected an object");
  if (given->size() > kMostPairs) {
    refuse_at("metadata", fmt::format("has {} pairs, at most {}", given->size(), kMostPairs));
  }
  Metadata metadata;
  metadata.reserve(given->size());
  for (const auto& [key, value] : given->members()) {
    const std::string place = fmt::format("metadata.{}", key);
    if (!value.is_string()) refuse_at(place, "expected a string");
    if (key.size() > kLongestKey || value.as_string().size() > kLongestValue) {
      refuse_at(place,
                fmt::format("a key has at most {} bytes, a value {}", kLongestKey, kLongestValue));
    }
    metadata.emplace_back(key, value.as_string());
  }
  return metadata;
}

}  // namespace

BatchRecord read_batch(std::string_view body) {
  const RequestFields fields(parse_body(body), kBatches);
  BatchRecord batch;
  batch.input_file_id = read_required(fields, "input_file_id");
  batch.endpoint = read_endpoint(fields);
  batch.completion_window = read_required(fields, "completion_window");
  batch.metadata = read_metadata(fields);
  if (const auto expiry = fields.find("output_expires_after")) {
    batch.output_seconds = read_expiry(*expiry, "output_expires_after");
  }
  batch.created_ns = time_ns();
  batch.expires_at = batch.created_at() + read_window(batch.completion_window);
  return batch;
}

}  // namespace pippin::server
