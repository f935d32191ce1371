#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "pippin/api/picture.h"
#include "pippin/api/rows.h"
#include "pippin/io/csv.h"
#include "pippin/io/json.h"

namespace pippin::api {
namespace {

// A number in JSON; NaN and infinities as Python writes them.
std::string number_text(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number > 0 ? "Infinity" : "-Infinity";
  return fmt::format("{}", number);
}

// The elements of a tensor, or the pixels of an image [height, width, channels], as texts of JSON.
struct ElementTexts {
  std::vector<int64_t> shape;
  std::vector<std::string> texts;
};

std::string quoted_text(const std::string& text) {
  return JsonWriter().value(text).text();
}

ElementTexts element_texts(const FeatureInfo& feature, const Tensor& tensor) {
  ElementTexts elements;
  if (feature.kind == FeatureInfo::Kind::Image) {
    const Picture picture = to_picture(feature, tensor);
    elements.shape = {picture.height, picture.width};
    if (picture.channels == 3) elements.shape.push_back(3);
    for (const uint8_t level : picture.pixels) elements.texts.push_back(fmt::format("{}", level));
    return elements;
  }
  elements.shape = tensor.shape();
  elements.texts.reserve(static_cast<size_t>(tensor.size()));
  if (tensor.type() == DataType::String) {
    for (const std::string& text : tensor.strings()) elements.texts.push_back(quoted_text(text));
  } else if (tensor.type() == DataType::Int64) {
    for (const int64_t number : tensor.data<int64_t>()) {
      elements.texts.push_back(fmt::format("{}", number));
    }
  } else {
    for (const double number : tensor.to_doubles()) elements.texts.push_back(number_text(number));
  }
  return elements;
}

void append_list(const ElementTexts& elements, size_t axis, size_t& next, std::string& out) {
  if (axis == elements.shape.size()) {
    out += elements.texts[next++];
    return;
  }
  out += '[';
  for (int64_t i = 0; i < elements.shape[axis]; ++i) {
    if (i > 0) out += ", ";
    append_list(elements, axis + 1, next, out);
  }
  out += ']';
}

std::vector<std::string> key_texts(const Dictionary& dictionary) {
  if (dictionary.keys.type() == DataType::String) return dictionary.keys.strings();
  std::vector<std::string> texts;
  for (const int64_t key : dictionary.keys.data<int64_t>()) {
    texts.push_back(fmt::format("{}", key));
  }
  return texts;
}

bool is_scalar(const FeatureInfo& feature) {
  return feature.kind == FeatureInfo::Kind::Double || feature.kind == FeatureInfo::Kind::Int64 ||
         feature.kind == FeatureInfo::Kind::String;
}

std::string json_value(const FeatureInfo& feature, const Value& value) {
  std::string out;
  if (const auto* dictionary = std::get_if<Dictionary>(&value)) {
    const std::vector<std::string> keys = key_texts(*dictionary);
    const auto values = dictionary->values.data<double>();
    for (size_t i = 0; i < keys.size(); ++i) {
      out +=
          fmt::format("{}{}: {}", i > 0 ? ", " : "", quoted_text(keys[i]), number_text(values[i]));
    }
    return fmt::format("{{{}}}", out);
  }
  const ElementTexts elements = element_texts(feature, std::get<Tensor>(value));
  if (is_scalar(feature) && elements.texts.size() == 1) return elements.texts.front();
  size_t next = 0;
  append_list(elements, 0, next, out);
  return out;
}

// The elements of an output in a table, by the names of their columns.
std::vector<std::pair<std::string, std::string>> cells_of(const FeatureInfo& feature,
                                                          const Value& value) {
  std::vector<std::pair<std::string, std::string>> cells;
  if (const auto* dictionary = std::get_if<Dictionary>(&value)) {
    const auto values = dictionary->values.data<double>();
    for (const std::string& key : key_texts(*dictionary)) {
      cells.emplace_back(fmt::format("{}[{}]", feature.name, key),
                         number_text(values[cells.size()]));
    }
    return cells;
  }
  const Tensor& tensor = std::get<Tensor>(value);
  const bool texts = tensor.type() == DataType::String;
  std::vector<std::string> elements =
      texts ? tensor.strings() : element_texts(feature, tensor).texts;
  if (is_scalar(feature) && elements.size() == 1) return {{feature.name, elements.front()}};
  for (std::string& element : elements) {
    cells.emplace_back(fmt::format("{}[{}]", feature.name, cells.size()), std::move(element));
  }
  return cells;
}

// Columns in the order of the outputs; those of an output in the order of their first row.
std::string table_text(const std::vector<FeatureInfo>& outputs, const std::vector<Values>& rows) {
  std::vector<std::string> columns;
  std::vector<std::map<std::string, std::string>> lines(rows.size());
  for (const FeatureInfo& feature : outputs) {
    std::map<std::string, bool> known;
    for (size_t i = 0; i < rows.size(); ++i) {
      for (auto& [column, cell] : cells_of(feature, rows[i].at(feature.name))) {
        if (!std::exchange(known[column], true)) columns.push_back(column);
        lines[i][column] = std::move(cell);
      }
    }
  }
  std::string out = csv_line(columns);
  std::vector<std::string> cells(columns.size());
  for (auto& line : lines) {
    for (size_t i = 0; i < columns.size(); ++i) cells[i] = std::move(line[columns[i]]);
    out += csv_line(cells);
  }
  return out;
}

}  // namespace

std::string row_text(const std::vector<FeatureInfo>& outputs, const Values& row) {
  std::string out;
  for (const FeatureInfo& feature : outputs) {
    out += fmt::format("{}{}: {}", out.empty() ? "" : ", ", quoted_text(feature.name),
                       json_value(feature, row.at(feature.name)));
  }
  return fmt::format("{{{}}}", out);
}

std::string rows_text(RowsFormat format, const std::vector<FeatureInfo>& outputs,
                      const std::vector<Values>& rows) {
  if (format == RowsFormat::Csv) return table_text(outputs, rows);
  const bool list = format == RowsFormat::Json;
  std::string out = list ? "[" : "";
  for (size_t i = 0; i < rows.size(); ++i) {
    if (list) out += i > 0 ? ",\n " : "";
    out += row_text(outputs, rows[i]);
    if (!list) out += '\n';
  }
  return list ? out + "]\n" : out;
}

}  // namespace pippin::api
