// Parses server-sent events (WHATWG HTML, section 9.2), as far as completions use them: the data of
// each event.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pippin::repl {

class EventReader {
 public:
  // Throws LimitExceeded for an event above the size limit.
  void feed(std::string_view bytes);
  // Returns the next event's data, with its lines joined by newlines. Drops comments and other
  // fields.
  std::optional<std::string> next();

 private:
  std::string bytes_;
  size_t searched_ = 0;
  std::string data_;
  bool has_data_ = false, is_begun_ = false;
};

}  // namespace pippin::repl
