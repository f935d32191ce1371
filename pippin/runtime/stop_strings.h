// Where a text that comes in pieces has to end: before the first of some strings.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pippin::runtime {

class StopStrings {
 public:
  // Empty strings stop nothing.
  explicit StopStrings(std::vector<std::string> strings);

  // The text that is sure not to begin one of the strings: a string may come in several pieces, so
  // what could be its beginning is held back. Nothing after a string was found.
  std::string push(std::string_view piece);
  // What was held back, at the end of the text.
  std::string finish();
  bool found() const { return found_; }
  const std::string& which() const { return which_; }  // was found; empty: none

 private:
  std::vector<std::string> strings_;
  std::string held_, which_;
  bool found_ = false;
};

}  // namespace pippin::runtime
