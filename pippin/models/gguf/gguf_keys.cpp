#include "pippin/models/gguf/gguf_keys.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace pippin::models {

std::string GgufKeys::full(std::string_view name) const {
  return fmt::format("{}.{}", architecture_, name);
}

int64_t GgufKeys::required_size(std::string_view name) const {
  const std::string key = full(name);
  if (metadata_.is_array(key)) {
    const std::vector<double> all = metadata_.numbers(key);
    const bool alike = !all.empty() && std::all_of(all.begin(), all.end(),
                                                   [&](double one) { return one == all[0]; });
    if (!alike) metadata_.unsupported(key, "layers of different sizes are not supported");
    return metadata_.checked_size(key, all[0]);
  }
  const auto value = metadata_.size(key);
  if (!value) metadata_.invalid(key, "missing");
  return *value;
}

double GgufKeys::required_number(std::string_view name) const {
  const auto value = number(name);
  if (!value) metadata_.invalid(full(name), "missing");
  return *value;
}

int64_t GgufKeys::rows(std::string_view name) const {
  const GgufTensor* tensor = metadata_.tensor(name);
  if (tensor == nullptr || tensor->shape.size() != 2) metadata_.invalid(name, "no such matrix");
  return tensor->shape[0];
}

GgufPooling gguf_pooling(const GgufKeys& keys) {
  const int64_t kind = keys.size("pooling_type").value_or(0);
  if (kind > static_cast<int64_t>(GgufPooling::Rank)) {
    keys.unsupported(
        "pooling_type",
        fmt::format("{} is not known (known: 0 none, 1 mean, 2 cls, 3 last, 4 rank)", kind));
  }
  return static_cast<GgufPooling>(kind);
}

int64_t gguf_score_rows(const GgufKeys& keys) {
  const std::string head = fmt::format("{}.weight", kGgufScoreHead);
  const int64_t rows = keys.rows(head);
  if (rows < 1 || rows > 2) {
    keys.metadata().unsupported(head, fmt::format("{} labels: 1 or 2 (yes, no) can score", rows));
  }
  return rows;
}

}  // namespace pippin::models
