// Tables of named values in text: the rows that pippin predict and pippin.h read and write.
//
// A row is an object from names to values: numbers, strings, nested lists for arrays and pictures
// ([height][width][3], or [height][width] of gray), objects for dictionaries. .json has a list of
// rows, or one; .jsonl one per line; both with NaN and Infinity as Python writes them. .csv has a
// column per name, or per element: x[0], x[1], d[key]; cells without an index may hold JSON.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pippin/api/model.h"

namespace pippin::api {

enum class RowsFormat : uint8_t { Json, JsonLines, Csv };

// Reads rows for a function of these inputs. null and empty cells are missing values: NaN for a
// required number, otherwise the input is left out. `name` begins messages. Throws InvalidArgument,
// naming the row, for values that do not match the declaration; InvalidFile for damaged text.
std::vector<Values> parse_rows(std::string_view text, RowsFormat format, const std::string& name,
                               const std::vector<FeatureInfo>& inputs);

std::string rows_text(RowsFormat format, const std::vector<FeatureInfo>& outputs,
                      const std::vector<Values>& rows);
// An object, on one line.
std::string row_text(const std::vector<FeatureInfo>& outputs, const Values& row);

}  // namespace pippin::api
