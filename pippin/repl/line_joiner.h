// Joins input lines to messages: one message per line, or the lines enclosed in """.
#pragma once

#include <optional>
#include <string>

namespace pippin::repl {

class LineJoiner {
 public:
  // Returns the message that this line completes, if any.
  std::optional<std::string> add(std::string line);
  // Returns whether a message is incomplete.
  bool is_open() const { return is_open_; }
  size_t size() const { return text_.size(); }

 private:
  std::string text_;
  bool is_open_ = false;
};

}  // namespace pippin::repl
