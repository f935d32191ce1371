// Rows of named values. The first byte chooses the format, .json, .jsonl or .csv.
#include <cstdint>
#include <string_view>

#include "pippin/api/rows.h"
#include "pippin/base/error.h"
#include "pippin/io/csv.h"

namespace {

using namespace pippin;

std::vector<FeatureInfo> features() {
  std::vector<FeatureInfo> features(6);
  const char* const names[] = {"number", "count", "text", "words", "x", "picture"};
  using Kind = FeatureInfo::Kind;
  const Kind kinds[] = {Kind::Double,     Kind::Int64,      Kind::String,
                        Kind::Dictionary, Kind::MultiArray, Kind::Image};
  for (size_t i = 0; i < features.size(); ++i) {
    features[i].name = names[i];
    features[i].kind = kinds[i];
  }
  features[3].type = DataType::String;
  features[4].shape = {2, 2};
  return features;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto format = static_cast<api::RowsFormat>(data[0] % 3);
  try {
    api::parse_rows(text, format, "rows", features());
  } catch (const Error&) {
  }
  if (format != api::RowsFormat::Csv) return 0;
  try {
    // Writing a table and reading it again yields the same rows.
    const CsvTable table = parse_csv(text, "table");
    std::string written = csv_line(table.columns);
    for (const auto& row : table.rows) written += csv_line(row);
    const CsvTable again = parse_csv(written, "again");
    if (again.columns != table.columns || again.rows != table.rows) __builtin_trap();
  } catch (const Error& error) {
    if (std::string_view(error.what()).starts_with("again")) __builtin_trap();
  }
  return 0;
}
