#include "pippin/cli/predict_rows.h"

#include <algorithm>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/base/files/output.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/cli/options/rows_file.h"

namespace pippin::cli {

std::optional<InputFile> take_rows_file(std::vector<InputFile>& files) {
  const auto is_rows = [](const InputFile& file) {
    return file.name.empty() && is_rows_name(file.path);
  };
  const auto found = std::find_if(files.begin(), files.end(), is_rows);
  if (found == files.end()) return std::nullopt;
  InputFile rows = std::move(*found);
  files.erase(found);
  if (std::any_of(files.begin(), files.end(), is_rows)) {
    fail(ErrorCode::InvalidArgument, "--input: more than one file of rows");
  }
  return rows;
}

std::vector<Values> predict_rows(const Function& function, const std::vector<Values>& rows,
                                 const Values& common) {
  std::vector<Values> results;
  results.reserve(rows.size());
  for (const Values& row : rows) {
    check_cancel();
    with_context(fmt::format("row {}", results.size()), [&] {
      if (common.empty()) {
        results.push_back(function.predict(row));
        return;
      }
      Values values = row;
      for (const auto& [name, value] : common) {
        if (values.emplace(name, value).second) continue;
        fail(ErrorCode::InvalidArgument, "input '{}' is given twice", name);
      }
      results.push_back(function.predict(values));
    });
  }
  return results;
}

void check_rows_outputs(const std::vector<OutputFile>& files) {
  for (const OutputFile& file : files) {
    if (file.name.empty() && is_rows_name(file.path)) continue;
    fail(ErrorCode::InvalidArgument, "--output {}: cannot hold rows (.json, .jsonl and .csv can)",
         file.path.string());
  }
}

void write_rows(const std::vector<OutputFile>& files, const std::vector<FeatureInfo>& outputs,
                const std::vector<Values>& rows) {
  for (const OutputFile& file : files) {
    write_file(file.path, api::rows_text(rows_format(file.path), outputs, rows));
  }
}

}  // namespace pippin::cli
