// Tables of named values: the rows that pippin predict reads and writes.
//
// A row is an object from names to values: numbers, strings, nested lists for arrays and pictures
// ([height][width][3], or [height][width] of gray), objects for dictionaries. .json has a list of
// rows, or one; .jsonl one per line; both with NaN and Infinity as Python writes them. .csv has a
// column per name, or per element: x[0], x[1], d[key]; cells without an index may hold JSON.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/api/model.h"

namespace pippin::cli {

bool is_rows_name(const std::filesystem::path& path);
enum class RowsFormat : uint8_t { Json, JsonLines, Csv };
RowsFormat rows_format(const std::filesystem::path& path);

// Reads rows for a function of these inputs. null and empty cells are missing values: NaN for a
// required number, otherwise the input is left out. Throws InvalidArgument, naming the row, for
// values that do not match the declaration; NotFound, InvalidFile, Io.
std::vector<Values> read_rows(const std::filesystem::path& path,
                              const std::vector<FeatureInfo>& inputs);
// The same for the content of a file; `name` begins messages.
std::vector<Values> parse_rows(std::string_view text, RowsFormat format, const std::string& name,
                               const std::vector<FeatureInfo>& inputs);

std::string rows_text(RowsFormat format, const std::vector<FeatureInfo>& outputs,
                      const std::vector<Values>& rows);

}  // namespace pippin::cli
