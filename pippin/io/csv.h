// Tables as comma-separated values (RFC 4180).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pippin {

struct CsvTable {
  std::vector<std::string> columns;            // the first line
  std::vector<std::vector<std::string>> rows;  // each with one cell per column
};

// Lines end with LF or CRLF; a byte order mark is skipped, as are empty lines at the end. `name`
// begins messages. Throws InvalidFile: repeated or no columns, a row of another length (with its
// line), an open quote, bytes that are not UTF-8; LimitExceeded above `max_cells`.
CsvTable parse_csv(std::string_view text, const std::string& name,
                   size_t max_cells = size_t{10} << 20);

// Returns a line of a table, with cells in quotes where they need them.
std::string csv_line(std::span<const std::string> cells);

}  // namespace pippin
