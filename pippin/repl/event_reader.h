// Server-sent events (WHATWG HTML, section 9.2) out of bytes, as far as completions use them: the
// data of each event.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pippin::repl {

class EventReader {
 public:
  // Throws LimitExceeded for an event that is longer than any sensible one.
  void feed(std::string_view bytes);
  // The next event's data, its lines joined by line ends. Comments and other fields are dropped.
  std::optional<std::string> next();

 private:
  std::string bytes_;
  size_t searched_ = 0;
  std::string data_;
  bool has_data_ = false, is_begun_ = false;
};

}  // namespace pippin::repl
