// The large tables of tokenizer.json, as their writers write them: entry after entry of the same
// few characters. JsonFile's reader asks here first, and has its JSON parser read what this leaves.
//
// Each function reads one step and is all or nothing. False means that the text is not in the plain
// form, or not JSON at all: then nothing was read, and the parser says which.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pippin::tokenizers {

class TableScanner {
 public:
  explicit TableScanner(std::string_view text)
      : begin_(text.data()), at_(begin_), end_(begin_ + text.size()) {}

  // The parser reads here too, character by character.
  bool at_end() const { return at_ == end_; }
  const char* place() const { return at_; }
  void advance() { ++at_; }
  // The character before place(): a parser that read no further than its token ends with that.
  bool is_after(char c) const { return at_ != begin_ && at_[-1] == c; }
  size_t left() const { return static_cast<size_t>(end_ - at_); }
  // How much was read by the functions below.
  size_t skipped() const { return skipped_; }

  // After a key: `: id, "key"`, with an id up to `max_id`. Texts hold until the next call.
  bool id_and_key(int64_t max_id, int32_t& id, std::string_view& key);
  // After an element: `, "text"`.
  bool next_text(std::string_view& text);
  // After an element: `, ["left", "right"]`.
  bool next_pair(std::string_view& left, std::string_view& right);
  // After an element: `, ["token", score]`.
  bool next_scored(std::string_view& token, double& score);

 private:
  bool spaced(char c);  // spaces, c, spaces
  bool closing();       // spaces, ]
  bool text(std::string& scratch, std::string_view& result);
  bool escaped_text(const char* from, std::string& scratch, std::string_view& result);
  bool number(double& value);
  // Keeps what was read where `whole` says that a step is complete, else goes back.
  bool step(const char* from, bool whole);

  const char* begin_;
  const char* at_;
  const char* end_;
  size_t skipped_ = 0;
  std::string first_, second_;  // texts with escapes
};

}  // namespace pippin::tokenizers
