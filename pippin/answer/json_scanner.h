// Reads a JSON value out of a text that comes in pieces, as models write it: where it ends is found
// while it is read, and what is not quite JSON but clear is mended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pippin::answer {

// Mended: line breaks and other control characters within strings, escapes that JSON does not have
// ("\d" is a backslash and a d), and Python's True, False and None.
class JsonScanner {
 public:
  enum class Status : uint8_t { More, Done, Broken };

  // Reads on from text[position], appends the value as valid JSON to `json`, and moves `position`
  // behind what was read: behind the value if that is Done, before what is wrong if it is Broken.
  Status push(std::string_view text, size_t& position, std::string& json);
  // The end of the text: a number at the outermost level ends there.
  Status finish(std::string& json);

 private:
  enum class State : uint8_t {
    Value,        // a value has to come
    FirstValue,   // a value, or the end of the list
    FirstKey,     // a key, or the end of the object
    Key,          // a key has to come
    Colon,        // behind a key
    Behind,       // a value: a comma or the end comes
    String,       // within a string
    Escape,       // behind a backslash
    Hexadecimal,  // within \uXXXX
    Word,         // within a number, true, false or null
    Done,
    Broken,
  };
  bool take(char c, std::string& json);  // false: `c` is not part of the value
  bool take_structure(char c, std::string& json);
  void take_string(char c, std::string& json);
  void take_escape(char c, std::string& json);
  bool begin_value(char c, std::string& json);
  bool end_word(std::string& json);
  bool close(char c, std::string& json);
  void end_value();

  State state_ = State::Value;
  std::vector<char> open_;  // '{' and '['
  bool is_key_ = false;     // the string
  int digits_ = 0;          // of \uXXXX
  std::string word_;        // or the escape
};

}  // namespace pippin::answer
