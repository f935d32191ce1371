#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "pippin/api/rows.h"
#include "pippin/base/error.h"
#include "pippin/base/numbers/number.h"
#include "pippin/base/shortened.h"
#include "pippin/io/csv.h"
#include "pippin/io/json.h"

namespace pippin::api {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
constexpr JsonLimits kRowLimits{.python_numbers = true};

const FeatureInfo* find_feature(const std::vector<FeatureInfo>& features, std::string_view name) {
  const auto found = std::find_if(features.begin(), features.end(),
                                  [&](const FeatureInfo& feature) { return feature.name == name; });
  return found == features.end() ? nullptr : &*found;
}

// The elements of nested lists, row-major.
class NestedLists {
 public:
  explicit NestedLists(const Json& json) { add(json, 0); }

  std::vector<int64_t> shape;
  std::vector<double> values;

 private:
  void add(const Json& json, size_t depth) {
    if (!json.is_array()) {
      if (depth != shape.size()) json.invalid("lists of different depths");
      closed_ = true;
      values.push_back(json.is_null() ? kMissing : json.as_float());
      return;
    }
    const auto size = static_cast<int64_t>(json.size());
    if (depth == shape.size()) {
      if (closed_) json.invalid("lists of different depths");
      shape.push_back(size);
    } else if (shape[depth] != size) {
      json.invalid(fmt::format("a list of {} elements, the first has {}", size, shape[depth]));
    }
    for (const Json& element : json.elements()) add(element, depth + 1);
  }

  bool closed_ = false;  // a number was read: the depth is known
};

Value picture_of(const NestedLists& lists) {
  const bool color = lists.shape.size() == 3 && lists.shape[2] == 3;
  if (lists.shape.size() != 2 && !color) {
    fail(ErrorCode::InvalidArgument, "a picture is a list [height][width] or [height][width][3]");
  }
  Image image;
  image.height = lists.shape[0];
  image.width = lists.shape[1];
  image.channels = color ? 3 : 1;
  image.pixels.reserve(lists.values.size());
  for (const double level : lists.values) {
    if (!(level >= 0 && level <= 255 && std::trunc(level) == level)) {
      fail(ErrorCode::InvalidArgument, "a pixel of {}, not a whole number from 0 to 255", level);
    }
    image.pixels.push_back(static_cast<std::byte>(level));
  }
  return image;
}

Value dictionary_of(const FeatureInfo& feature,
                    const std::vector<std::pair<std::string, double>>& entries) {
  const auto size = static_cast<int64_t>(entries.size());
  std::vector<std::string> texts;
  std::vector<int64_t> numbers;
  std::vector<double> values;
  for (const auto& [key, value] : entries) {
    values.push_back(value);
    int64_t number = 0;
    if (feature.type == DataType::String) {
      texts.push_back(key);
    } else if (parse_number(key, number)) {
      numbers.push_back(number);
    } else {
      fail(ErrorCode::InvalidArgument, "the key '{}' is not a whole number", key);
    }
  }
  return Dictionary{feature.type == DataType::String ? Tensor::from_strings(texts, {size})
                                                     : Tensor::from(numbers, {size}),
                    Tensor::from(values, {size})};
}

Value number_tensor(double number) {
  return Tensor::from(std::vector<double>{number}, {1});
}

Value value_of(const FeatureInfo& feature, const Json& json) {
  switch (feature.kind) {
    case FeatureInfo::Kind::String:
      return Tensor::from_strings({std::string(json.as_string())}, {1});
    case FeatureInfo::Kind::Int64:
      if (json.is_integer()) return Tensor::from(std::vector<int64_t>{json.as_int()}, {1});
      return number_tensor(json.as_float());
    case FeatureInfo::Kind::Dictionary: {
      std::vector<std::pair<std::string, double>> entries;
      for (const auto& [key, value] : json.members()) {
        entries.emplace_back(key, value.as_float());
      }
      return with_context(json.where(), [&] { return dictionary_of(feature, entries); });
    }
    case FeatureInfo::Kind::Image: {
      const NestedLists lists(json);
      return with_context(json.where(), [&] { return picture_of(lists); });
    }
    default: {
      NestedLists lists(json);
      if (lists.shape.empty()) return number_tensor(lists.values.front());
      return Tensor::from(lists.values, std::move(lists.shape));
    }
  }
}

// Adds a missing value, unless it is left out.
void add_missing(const FeatureInfo& feature, Values& values) {
  const bool number = feature.kind == FeatureInfo::Kind::Double;
  if (number && !feature.optional) values.emplace(feature.name, number_tensor(kMissing));
}

Values row_of(const Json& json, const std::vector<FeatureInfo>& inputs) {
  Values values;
  for (const auto& [name, value] : json.members()) {
    const FeatureInfo* feature = find_feature(inputs, name);
    if (feature == nullptr) value.invalid("the model has no input of this name");
    if (value.is_null()) {
      add_missing(*feature, values);
    } else {
      values.emplace(feature->name, value_of(*feature, value));
    }
  }
  return values;
}

// A column of a table: an input, or an element of one.
struct Column {
  const FeatureInfo* feature;
  std::string key;  // of an element
  bool is_element = false;
};

Column column_of(const std::string& name, const std::vector<FeatureInfo>& inputs) {
  if (const FeatureInfo* feature = find_feature(inputs, name)) return {feature, ""};
  const size_t open = name.find('[');
  if (open != name.npos && name.ends_with(']')) {
    const FeatureInfo* feature = find_feature(inputs, std::string_view(name).substr(0, open));
    const bool has_elements =
        feature != nullptr && (feature->kind == FeatureInfo::Kind::MultiArray ||
                               feature->kind == FeatureInfo::Kind::Dictionary);
    if (has_elements) return {feature, name.substr(open + 1, name.size() - open - 2), true};
  }
  fail(ErrorCode::InvalidArgument, "the column '{}' is not an input of the model", name);
}

class TableRow {
 public:
  void add(const Column& column, const std::string& cell) {
    const FeatureInfo& feature = *column.feature;
    if (column.is_element) {
      if (!cell.empty()) elements_[&feature].emplace_back(column.key, number_in(cell));
      if (cell.empty() && feature.kind == FeatureInfo::Kind::MultiArray) {
        elements_[&feature].emplace_back(column.key, kMissing);
      }
    } else if (cell.empty() && !(feature.kind == FeatureInfo::Kind::String && !feature.optional)) {
      add_missing(feature, values_);
    } else {
      values_.emplace(feature.name, cell_value(feature, cell));
    }
  }

  Values take() {
    for (const auto& [feature, elements] : elements_) {
      with_context(fmt::format("input '{}'", feature->name), [&, &to = *feature, &of = elements] {
        const bool added =
            values_
                .emplace(to.name, to.kind == FeatureInfo::Kind::Dictionary ? dictionary_of(to, of)
                                                                           : array_of(to, of))
                .second;
        if (!added) fail(ErrorCode::InvalidArgument, "given as a whole and by element");
      });
    }
    return std::move(values_);
  }

 private:
  using CellElements = std::vector<std::pair<std::string, double>>;

  static Json json_in(const std::string& cell) {
    const bool has_parts = cell.starts_with('[') || cell.starts_with('{');
    try {
      return Json::parse(cell, "the cell", kRowLimits);
    } catch (const Error&) {
      if (has_parts) throw;  // names the place
    }
    constexpr size_t kShown = 40;
    fail(ErrorCode::InvalidArgument, "\"{}\" is neither a number nor JSON",
         shortened(cell, kShown));
  }

  static double number_in(const std::string& cell) {
    double number = 0;
    if (parse_number(cell, number)) return number;
    return json_in(cell).as_float();
  }

  static Value cell_value(const FeatureInfo& feature, const std::string& cell) {
    if (feature.kind == FeatureInfo::Kind::String) return Tensor::from_strings({cell}, {1});
    int64_t whole = 0;
    if (feature.kind == FeatureInfo::Kind::Int64 && parse_number(cell, whole)) {
      return Tensor::from(std::vector<int64_t>{whole}, {1});
    }
    double number = 0;
    if (parse_number(cell, number)) return number_tensor(number);
    return value_of(feature, json_in(cell));
  }

  // Positions must be 0 to n - 1, in any order.
  static Value array_of(const FeatureInfo& feature, const CellElements& elements) {
    const auto size = static_cast<int64_t>(elements.size());
    std::vector<double> values(elements.size());
    for (const auto& [key, value] : elements) {
      int64_t position = 0;
      if (!parse_number(key, position) || position < 0 || position >= size) {
        fail(ErrorCode::InvalidArgument, "a column for position '{}', there are {}", key, size);
      }
      values[static_cast<size_t>(position)] = value;
    }
    double declared = 1;
    for (const int64_t length : feature.shape) declared *= static_cast<double>(length);
    const bool fits = !feature.shape.empty() && declared == static_cast<double>(size);
    return Tensor::from(values, fits ? feature.shape : std::vector<int64_t>{size});
  }

  Values values_;
  std::map<const FeatureInfo*, CellElements> elements_;
};

std::vector<Values> rows_of_table(const CsvTable& table, const std::vector<FeatureInfo>& inputs) {
  std::vector<Column> columns;
  columns.reserve(table.columns.size());
  for (const std::string& name : table.columns) columns.push_back(column_of(name, inputs));
  std::vector<Values> rows;
  rows.reserve(table.rows.size());
  for (const std::vector<std::string>& cells : table.rows) {
    with_context(fmt::format("row {}", rows.size()), [&] {
      TableRow row;
      for (size_t i = 0; i < cells.size(); ++i) {
        with_context(fmt::format("column '{}'", table.columns[i]),
                     [&] { row.add(columns[i], cells[i]); });
      }
      rows.push_back(row.take());
    });
  }
  return rows;
}

std::vector<Values> rows_of_lines(std::string_view text, const std::string& name,
                                  const std::vector<FeatureInfo>& inputs) {
  std::vector<Values> rows;
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    const Json json = Json::parse(line, fmt::format("{}: line {}", name, number), kRowLimits);
    rows.push_back(row_of(json, inputs));
  }
  return rows;
}

std::vector<Values> rows_of_json(const Json& json, const std::vector<FeatureInfo>& inputs) {
  if (json.is_object()) return {row_of(json, inputs)};
  std::vector<Values> rows;
  rows.reserve(json.size());
  for (const Json& row : json.elements()) rows.push_back(row_of(row, inputs));
  return rows;
}

}  // namespace

std::vector<Values> parse_rows(std::string_view text, RowsFormat format, const std::string& name,
                               const std::vector<FeatureInfo>& inputs) {
  switch (format) {
    case RowsFormat::Csv: {
      const CsvTable table = parse_csv(text, name);
      return with_context(name, [&] { return rows_of_table(table, inputs); });
    }
    case RowsFormat::JsonLines:
      return rows_of_lines(text, name, inputs);
    case RowsFormat::Json:
      break;
  }
  return rows_of_json(Json::parse(text, name, kRowLimits), inputs);
}

}  // namespace pippin::api
