#include "pippin/mil/package/summary_parts.h"

#include <utility>

#include <fmt/format.h>

#include "pippin/base/columns.h"
#include "pippin/tabular/stage.h"

namespace pippin::mil {
namespace {

std::vector<std::string> label_texts(const tabular::Labels& labels) {
  std::vector<std::string> texts;
  if (const auto* strings = std::get_if<std::vector<std::string>>(&labels)) {
    texts.reserve(strings->size());
    for (const std::string& label : *strings) texts.push_back(one_line(label));
    return texts;
  }
  for (const int64_t label : std::get<std::vector<int64_t>>(labels)) {
    texts.push_back(fmt::format("{}", label));
  }
  return texts;
}

std::string labels_text(std::string_view title, std::vector<std::string> labels) {
  constexpr size_t kMaxLabels = 40;
  const size_t count = labels.size();
  if (count > kMaxLabels) {
    labels.resize(kMaxLabels);
    labels.emplace_back("...");
  }
  return fmt::format("  {} ({})\n{}", title, count, wrapped(labels));
}

void write_labels(JsonWriter& json, std::string_view key, const tabular::Labels* labels) {
  if (labels == nullptr) return;
  std::visit([&](const auto& list) { json.member(key, list); }, *labels);
}

}  // namespace

std::string wrapped(const std::vector<std::string>& parts) {
  std::string result, line;
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::string part = parts[i] + (i + 1 < parts.size() ? "," : "");
    if (line.size() + part.size() > 92) result += "    " + std::exchange(line, "") + '\n';
    line += (line.empty() ? "" : " ") + part;
  }
  return result + (line.empty() ? "" : "    " + line + '\n');
}

std::string class_lines(const std::vector<std::string>& labels) {
  return labels_text("classes", labels);
}

std::string tabular_text(const Model& model) {
  const tabular::Stage& stage = *model.tabular;
  std::string result;
  if (stage.labels() != nullptr) result += class_lines(label_texts(*stage.labels()));
  if (stage.categories() != nullptr) {
    result += labels_text("categories", label_texts(*stage.categories()));
  }
  std::vector<std::vector<std::string>> rows;
  for (const auto& [name, value] : stage.parameters()) {
    rows.push_back({one_line(name), one_line(value)});
  }
  if (!rows.empty()) result += "  parameters\n" + in_columns(rows, "    ");
  const std::string refusal = stage.refusal();
  if (!refusal.empty()) result += fmt::format("  no predictions\n    {}\n", one_line(refusal));
  return result;
}

void write_tabular(JsonWriter& json, const Model& model) {
  const tabular::Stage& stage = *model.tabular;
  write_labels(json, "classes", stage.labels());
  write_labels(json, "categories", stage.categories());
  json.key("parameters").begin_object();
  for (const auto& [name, value] : stage.parameters()) json.member(name, value);
  json.end_object();
  const std::string refusal = stage.refusal();
  if (!refusal.empty()) json.member("refusal", refusal);
}

}  // namespace pippin::mil
