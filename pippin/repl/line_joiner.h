// Lines to messages: one each, or those between """ and """ together.
#pragma once

#include <optional>
#include <string>

namespace pippin::repl {

class LineJoiner {
 public:
  // The message that is complete with this line.
  std::optional<std::string> add(std::string line);
  // Whether it waits for the end of one.
  bool is_open() const { return is_open_; }
  size_t size() const { return text_.size(); }

 private:
  std::string text_;
  bool is_open_ = false;
};

}  // namespace pippin::repl
