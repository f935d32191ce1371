// The messages that somebody sent, over many runs: a file for its owner alone, a message a line.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace pippin::terminal {

class History {
 public:
  History() = default;  // without a file
  // What is wrong with the file is said in notice() and costs no message: one that is damaged gives
  // what can be read, and one that cannot be written is left alone.
  explicit History(std::filesystem::path file);

  const std::vector<std::string>& entries() const { return entries_; }
  const std::string& notice() const { return notice_; }
  // Also to the file, while it is on. Empty texts and repetitions are left out.
  void add(const std::string& text);
  void set_on(bool is_on) { is_on_ = is_on; }

  // PIPPIN_HISTORY (empty: none), or chat-history in pippin's folder of state (XDG_STATE_HOME).
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
