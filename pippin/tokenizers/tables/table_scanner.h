// Sequential JSON scanner for the large tables of tokenizer.json. Json would make a value of each
// entry; this makes no tree, and copies only texts with escapes.
//
// Functions accept only valid JSON, except skip_value(). Each returns false for anything else; the
// caller then passes the text to Json::parse, which reports the error, and must not use the scanner
// again.
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

  // Each function skips spaces first.
  bool is_next(char c);
  bool take(char c);                       // a bracket, comma or colon
  bool take_text(std::string_view& text);  // valid until the next call
  bool take_id(int64_t max, int32_t& id);  // digits only
  bool take_number(double& number);
  // Skips a value. Its content is not validated, except to find the ends of strings.
  bool skip_value();

  // Take a whole object or array. `member` must take the value of the key that it is called with,
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
