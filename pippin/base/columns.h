// Tables of text for a terminal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pippin {

// Columns as wide as their widest cell, two blanks apart, a row a line.
std::string in_columns(const std::vector<std::vector<std::string>>& rows, std::string_view indent);

// With blanks for control characters, as a cell has to be.
std::string one_line(std::string text);

}  // namespace pippin
