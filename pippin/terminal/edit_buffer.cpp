#include "pippin/terminal/edit_buffer.h"

#include <utility>

#include "pippin/terminal/width.h"

namespace pippin::terminal {
namespace {

// Returns true for letters of all scripts, and digits.
bool is_word(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x80 || (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') ||
         (byte >= 'A' && byte <= 'Z') || byte == '_';
}

}  // namespace

void EditBuffer::set(std::string text) {
  text_ = std::move(text);
  cursor_ = text_.size();
}

void EditBuffer::insert(std::string_view text) {
  text_.insert(cursor_, text);
  cursor_ += text.size();
}

bool EditBuffer::move_to(size_t at) {
  return std::exchange(cursor_, at) != at;
}

bool EditBuffer::left() {
  return cursor_ > 0 && move_to(cluster_before(text_, cursor_));
}

bool EditBuffer::right() {
  return cursor_ < text_.size() && move_to(cursor_ + cluster_at(text_, cursor_).size);
}

bool EditBuffer::erase_before() {
  if (cursor_ == 0) return false;
  const size_t begin = cluster_before(text_, cursor_);
  text_.erase(begin, cursor_ - begin);
  cursor_ = begin;
  return true;
}

bool EditBuffer::erase_after() {
  if (cursor_ == text_.size()) return false;
  text_.erase(cursor_, cluster_at(text_, cursor_).size);
  return true;
}

bool EditBuffer::word_left() {
  size_t at = cursor_;
  while (at > 0 && !is_word(text_[at - 1])) --at;
  while (at > 0 && is_word(text_[at - 1])) --at;
  return move_to(at);
}

bool EditBuffer::word_right() {
  size_t at = cursor_;
  while (at < text_.size() && !is_word(text_[at])) ++at;
  while (at < text_.size() && is_word(text_[at])) ++at;
  return move_to(at);
}

size_t EditBuffer::line_begin(size_t at) const {
  const size_t end = at == 0 ? std::string::npos : text_.rfind('\n', at - 1);
  return end == std::string::npos ? 0 : end + 1;
}

size_t EditBuffer::line_end(size_t at) const {
  const size_t end = text_.find('\n', at);
  return end == std::string::npos ? text_.size() : end;
}

bool EditBuffer::home() {
  return move_to(line_begin(cursor_));
}

bool EditBuffer::end() {
  return move_to(line_end(cursor_));
}

size_t EditBuffer::characters_before() const {
  size_t count = 0;
  for (size_t at = line_begin(cursor_); at < cursor_; at += cluster_at(text_, at).size) ++count;
  return count;
}

bool EditBuffer::move_in_line(size_t begin, size_t end, size_t characters) {
  size_t at = begin;
  for (; characters > 0 && at < end; --characters) at += cluster_at(text_, at).size;
  return move_to(at);
}

bool EditBuffer::up() {
  const size_t begin = line_begin(cursor_);
  if (begin == 0) return false;
  return move_in_line(line_begin(begin - 1), begin - 1, characters_before());
}

bool EditBuffer::down() {
  const size_t end = line_end(cursor_);
  if (end == text_.size()) return false;
  return move_in_line(end + 1, line_end(end + 1), characters_before());
}

bool EditBuffer::transpose() {
  if (cursor_ == text_.size()) left();
  if (cursor_ == 0 || cursor_ == text_.size()) return false;
  const size_t first = cluster_before(text_, cursor_);
  const size_t size = cluster_at(text_, cursor_).size;
  const std::string second = text_.substr(cursor_, size);
  text_.erase(cursor_, size);
  text_.insert(first, second);
  cursor_ += size;
  return true;
}

void EditBuffer::cut(size_t begin, size_t end) {
  if (begin == end) return;
  cut_ = text_.substr(begin, end - begin);
  text_.erase(begin, end - begin);
  cursor_ = begin;
}

void EditBuffer::cut_word_before() {
  const size_t end = cursor_;
  word_left();
  cut(cursor_, end);
}

void EditBuffer::cut_word_after() {
  const size_t begin = cursor_;
  word_right();
  cut(begin, cursor_);
}

void EditBuffer::cut_to_end() {
  // At the end of a line, the newline.
  const size_t end = line_end(cursor_);
  cut(cursor_, end == cursor_ && end < text_.size() ? end + 1 : end);
}

void EditBuffer::cut_to_home() {
  cut(line_begin(cursor_), cursor_);
}

}  // namespace pippin::terminal
