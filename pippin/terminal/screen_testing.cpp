#include "pippin/terminal/screen_testing.h"

#include <algorithm>

#include "pippin/base/numbers/number.h"
#include "pippin/terminal/width.h"

namespace pippin::terminal {

void Screen::new_line() {
  ++row_;
  if (row_ == rows_.size()) rows_.emplace_back();
  top_ =
      std::max(top_ + static_cast<size_t>(size_.rows), row_ + 1) - static_cast<size_t>(size_.rows);
}

void Screen::put(std::string_view cluster, int columns) {
  if (column_ + columns > size_.columns && column_ > 0) {  // the terminal wraps the line
    new_line();
    column_ = 0;
  }
  auto& row = rows_[row_];
  const auto end = static_cast<size_t>(column_ + std::max(columns, 1));
  if (row.size() < end) row.resize(end);
  row[static_cast<size_t>(column_)] = {std::string(cluster)};
  for (size_t i = static_cast<size_t>(column_) + 1; i < end; ++i) row[i] = {};
  column_ += columns;
}

void Screen::escape(std::string_view parameters, char command) {
  int64_t number = 1;
  if (!parameters.empty() && !parse_number(std::string(parameters), number)) number = -1;
  const int count = static_cast<int>(number);
  if (!goes_past_edge) column_ = std::min(column_, size_.columns - 1);
  switch (command) {
    case 'A':
      row_ -= std::min(row_ - top_, static_cast<size_t>(count));
      break;
    case 'B':
      row_ = std::min(row_ + static_cast<size_t>(count), rows_.size() - 1);
      break;
    case 'C':
      column_ = std::min(column_ + count, size_.columns - 1);
      break;
    case 'D':
      column_ = std::max(column_ - count, 0);
      break;
    case 'J':
      rows_.resize(row_ + 1);
      [[fallthrough]];
    case 'K': {
      auto& row = rows_[row_];
      row.resize(std::min(row.size(), static_cast<size_t>(column_)));
      break;
    }
    case 'm':
      break;
    default:
      unknown += std::string(parameters) + command + " ";
  }
}

void Screen::write(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    if (text[at] == '\x1B') {
      const size_t end = text.find_first_not_of("[0123456789;?", at + 1);
      escape(text.substr(at + 2, end - at - 2), text[end]);
      at = end + 1;
    } else if (text[at] == '\r') {
      column_ = 0;
      ++at;
    } else if (text[at] == '\n') {  // as terminals of the system do
      new_line();
      column_ = 0;
      ++at;
    } else {
      const Cluster cluster = cluster_at(text, at);
      if (cluster.is_control) unknown += "control ";
      put(text.substr(at, cluster.size), cluster.columns);
      at += cluster.size;
    }
  }
}

std::vector<std::string> Screen::lines() const {
  std::vector<std::string> lines;
  for (const auto& row : rows_) {
    std::string line;
    for (size_t i = 0; i < row.size();) {
      const std::string& text = row[i].text;
      line += text.empty() ? " " : text;
      i += text.empty() ? 1 : static_cast<size_t>(std::max(cluster_at(text, 0).columns, 1));
    }
    line.resize(line.find_last_not_of(' ') + 1);
    lines.push_back(line);
  }
  return lines;
}

}  // namespace pippin::terminal
