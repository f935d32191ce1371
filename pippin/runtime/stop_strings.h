// Finds the end of a text that comes in pieces: before the first of several stop strings.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pippin::runtime {

class StopStrings {
 public:
  // Empty strings are ignored.
  explicit StopStrings(std::vector<std::string> strings);

  // Returns the text that cannot be the beginning of a stop string; a possible beginning is held
  // back, since a stop string may span pieces. Returns nothing after a stop string was found.
  std::string push(std::string_view piece);
  // Returns the text held back, at the end of the text.
  std::string finish();
  bool found() const { return found_; }
  const std::string& which() const { return which_; }  // the string found; empty: none

 private:
  std::vector<std::string> strings_;
  std::string held_, which_;
  bool found_ = false;
};

}  // namespace pippin::runtime
