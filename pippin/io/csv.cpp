#include "pippin/io/csv.h"

#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/base/text.h"

namespace pippin {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

class CsvParser {
 public:
  CsvParser(std::string_view text, const std::string& name, size_t max_cells)
      : text_(text), name_(name), max_cells_(max_cells) {}

  CsvTable parse() {
    if (!is_valid_utf8(text_)) fail(ErrorCode::InvalidFile, "{}: not UTF-8", name_);
    if (text_.starts_with(kByteOrderMark)) text_.remove_prefix(kByteOrderMark.size());
    while (!text_.empty() && (text_.back() == '\n' || text_.back() == '\r')) text_.remove_suffix(1);
    CsvTable table;
    if (text_.empty()) fail(ErrorCode::InvalidFile, "{}: no header line with the columns", name_);
    table.columns = read_row();
    check_columns(table.columns);
    while (position_ < text_.size()) {
      const size_t line = line_;
      table.rows.push_back(read_row());
      const size_t cells = table.rows.back().size();
      if (cells != table.columns.size()) {
        fail(ErrorCode::InvalidFile, "{}: line {} has {} cells, the first has {}", name_, line,
             cells, table.columns.size());
      }
    }
    return table;
  }

 private:
  void check_columns(std::vector<std::string> columns) const {
    std::sort(columns.begin(), columns.end());
    const auto twice = std::adjacent_find(columns.begin(), columns.end());
    if (twice == columns.end()) return;
    fail(ErrorCode::InvalidFile, "{}: the column '{}' is repeated", name_, *twice);
  }

  bool at(char c) const { return position_ < text_.size() && text_[position_] == c; }

  // Reads to the end of the line, and past it.
  std::vector<std::string> read_row() {
    std::vector<std::string> cells;
    for (;;) {
      if (++cells_ > max_cells_) {
        fail(ErrorCode::LimitExceeded, "{}: more than {} cells", name_, max_cells_);
      }
      cells.push_back(at('"') ? read_quoted() : read_plain());
      if (at(',')) {
        ++position_;
        continue;
      }
      if (at('\r')) ++position_;
      if (position_ < text_.size() && !at('\n')) {
        fail(ErrorCode::InvalidFile, "{}: line {}: text after a quoted cell", name_, line_);
      }
      ++position_;
      ++line_;
      return cells;
    }
  }

  std::string read_plain() {
    const size_t end = std::min(text_.find_first_of(",\n", position_), text_.size());
    std::string_view cell = text_.substr(position_, end - position_);
    position_ = end;
    if (cell.ends_with('\r') && !at(',')) cell.remove_suffix(1);
    return std::string(cell);
  }

  std::string read_quoted() {
    const size_t line = line_;
    std::string cell;
    for (++position_; position_ < text_.size(); ++position_) {
      if (at('"')) {
        ++position_;
        if (!at('"')) return cell;
      }
      if (at('\n')) ++line_;
      cell += text_[position_];
    }
    fail(ErrorCode::InvalidFile, "{}: line {}: a quoted cell without a closing quote", name_, line);
  }

  std::string_view text_;
  const std::string& name_;
  const size_t max_cells_;
  size_t position_ = 0, line_ = 1, cells_ = 0;
};

void append_cell(std::string& line, std::string_view text) {
  // At the start of the table, a byte order mark in quotes is text.
  if (text.find_first_of(",\"\r\n") == text.npos && !text.starts_with(kByteOrderMark)) {
    line += text;
    return;
  }
  line += '"';
  for (const char c : text) {
    if (c == '"') line += '"';
    line += c;
  }
  line += '"';
}

}  // namespace

CsvTable parse_csv(std::string_view text, const std::string& name, size_t max_cells) {
  return CsvParser(text, name, max_cells).parse();
}

std::string csv_line(std::span<const std::string> cells) {
  // An empty line would be no row.
  if (cells.size() == 1 && cells[0].empty()) return "\"\"\n";
  std::string line;
  for (const std::string& cell : cells) {
    if (&cell != cells.data()) line += ',';
    append_cell(line, cell);
  }
  line += '\n';
  return line;
}

}  // namespace pippin
