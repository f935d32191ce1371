// Files of rows (api/rows.h), by their extension.
#pragma once

#include <filesystem>

#include "pippin/api/rows.h"

namespace pippin::cli {

bool is_rows_name(const std::filesystem::path& path);
api::RowsFormat rows_format(const std::filesystem::path& path);

// Reads rows for a function of these inputs. Throws as api::parse_rows(); NotFound, Io.
std::vector<Values> read_rows(const std::filesystem::path& path,
                              const std::vector<FeatureInfo>& inputs);

}  // namespace pippin::cli
