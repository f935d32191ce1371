// Text tables for a terminal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pippin {

// Formats rows, one per line, in columns as wide as their widest cell, separated by two blanks.
std::string in_columns(const std::vector<std::vector<std::string>>& rows, std::string_view indent);

// Replaces control characters with blanks, as cells require.
std::string one_line(std::string text);

}  // namespace pippin
