// JSON from front to back, for the large tables of tokenizer.json. Json would make a value of each
// of their entries; here no tree is made, and no text is copied that has no escapes.
//
// What a function takes is valid JSON, but for skip_value(). Each returns false for anything else;
// then the text is for Json::parse, which says what is wrong with it, and the scanner is of no use
// any more.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pippin::tokenizers {

class TableScanner {
 public:
  explicit TableScanner(std::string_view text)
      : at_(text.data()), end_(text.data() + text.size()) {}

  const char* place() const { return at_; }
  size_t left() const { return static_cast<size_t>(end_ - at_); }

  // Each goes over spaces first.
  bool is_next(char c);
  bool take(char c);                       // a bracket, comma or colon
  bool take_text(std::string_view& text);  // which holds until the next call
  bool take_id(int64_t max, int32_t& id);  // digits only
  bool take_number(double& number);
  // To the end of a value: its content is skipped, except to find where strings end.
  bool skip_value();

  // All of an object or array; `member` takes the value of the key that it is called with, and
  // `element` an element.
  template <typename Member>
  bool take_object(Member&& member) {
    if (!take('{')) return false;
    if (take('}')) return true;
    std::string_view key;
    do {
      if (!take_text(key) || !take(':') || !member(key)) return false;
    } while (take(','));
    return take('}');
  }
  template <typename Element>
  bool take_array(Element&& element) {
    if (!take('[')) return false;
    if (take(']')) return true;
    do {
      if (!element()) return false;
    } while (take(','));
    return take(']');
  }

 private:
  bool escaped_text(const char* from, std::string_view& text);
  bool escape();

  const char* at_;
  const char* end_;
  std::string scratch_;  // a text that has escapes
};

}  // namespace pippin::tokenizers
