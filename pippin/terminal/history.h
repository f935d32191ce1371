// The user's messages from all runs, in a file that only its owner can read, one message per line.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace pippin::terminal {

class History {
 public:
  History() = default;  // without a file
  // Errors of the file are reported by notice() and do not fail: a damaged file yields the readable
  // entries, and a file that cannot be written is left unchanged.
  explicit History(std::filesystem::path file);

  const std::vector<std::string>& entries() const { return entries_; }
  const std::string& notice() const { return notice_; }
  // Also appends to the file while the history is on. Ignores empty texts and repetitions.
  void add(const std::string& text);
  void set_on(bool is_on) { is_on_ = is_on; }

  // Returns PIPPIN_HISTORY (empty: none), or chat-history in pippin's state folder
  // (XDG_STATE_HOME).
  static std::filesystem::path default_file();

 private:
  void read();
  void append(const std::string& text);

  std::filesystem::path file_;  // empty: none
  std::vector<std::string> entries_;
  std::string notice_;
  bool is_on_ = true;
};

}  // namespace pippin::terminal
