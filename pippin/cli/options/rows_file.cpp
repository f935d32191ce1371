#include "pippin/cli/options/rows_file.h"

#include "pippin/base/files/file.h"
#include "pippin/cli/options/named_arrays.h"

namespace pippin::cli {

bool is_rows_name(const std::filesystem::path& path) {
  const std::string ending = extension_of(path);
  return ending == ".json" || ending == ".jsonl" || ending == ".csv";
}

api::RowsFormat rows_format(const std::filesystem::path& path) {
  const std::string ending = extension_of(path);
  if (ending == ".csv") return api::RowsFormat::Csv;
  return ending == ".jsonl" ? api::RowsFormat::JsonLines : api::RowsFormat::Json;
}

std::vector<Values> read_rows(const std::filesystem::path& path,
                              const std::vector<FeatureInfo>& inputs) {
  return api::parse_rows(read_file(path), rows_format(path), path.filename().string(), inputs);
}

}  // namespace pippin::cli
