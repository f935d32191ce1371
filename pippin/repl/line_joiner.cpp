#include "pippin/repl/line_joiner.h"

#include <string_view>
#include <utility>

namespace pippin::repl {
namespace {

constexpr std::string_view kQuotes = "\"\"\"";

}  // namespace

std::optional<std::string> LineJoiner::add(std::string line) {
  if (!line.empty() && line.back() == '\r') line.pop_back();
  if (!is_open_) {
    if (!line.starts_with(kQuotes)) return line;
    is_open_ = true;
    line.erase(0, kQuotes.size());
  }
  text_ += line;
  if (!text_.ends_with(kQuotes)) {
    text_ += '\n';
    return std::nullopt;
  }
  is_open_ = false;
  std::string text = std::exchange(text_, {});
  text.resize(text.size() - kQuotes.size());
  if (text.starts_with('\n')) text.erase(0, 1);  // the opening quotes are on a separate line
  return text;
}

}  // namespace pippin::repl
