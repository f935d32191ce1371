#include "pippin/repl/event_reader.h"

#include <utility>

#include "pippin/base/error.h"

namespace pippin::repl {
namespace {

constexpr size_t kLongest = size_t{32} << 20;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace

void EventReader::feed(std::string_view bytes) {
  if (bytes_.size() + data_.size() + bytes.size() > kLongest) {
    fail(ErrorCode::LimitExceeded, "the server sends an event of more than {} bytes", kLongest);
  }
  bytes_ += bytes;
}

std::optional<std::string> EventReader::next() {
  if (!is_begun_ && bytes_.size() >= kByteOrderMark.size()) {
    if (bytes_.starts_with(kByteOrderMark)) bytes_.erase(0, kByteOrderMark.size());
    is_begun_ = true;
  }
  size_t begin = 0;
  std::optional<std::string> event;
  while (!event) {
    const size_t end = bytes_.find_first_of("\r\n", std::max(begin, searched_));
    // A "
    // " may follow the "\r".
    if (end == std::string::npos || (bytes_[end] == '\r' && end + 1 == bytes_.size())) {
      searched_ = end == std::string::npos ? bytes_.size() : end;
      break;
    }
    const std::string_view line = std::string_view(bytes_).substr(begin, end - begin);
    if (line.empty()) {
      if (has_data_) event = std::exchange(data_, {});
      has_data_ = false;
    } else if (line == "data" || line.starts_with("data:")) {
      std::string_view value = line.substr(std::min<size_t>(5, line.size()));
      if (value.starts_with(' ')) value.remove_prefix(1);
      if (has_data_) data_ += '\n';
      data_ += value;
      has_data_ = true;
    }
    begin = end + (bytes_.substr(end, 2) == "\r\n" ? 2 : 1);
    searched_ = begin;
  }
  bytes_.erase(0, begin);
  searched_ -= begin;
  return event;
}

}  // namespace pippin::repl
