// Scans a JSON value in a model's output, which arrives in pieces: finds the end of the value, and
// repairs unambiguous errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pippin::model_output {

// Repairs line breaks and other control characters in strings, escapes that JSON lacks ("\d" is a
// backslash and a d), and Python's True, False and None.
class JsonScanner {
 public:
  enum class Status : uint8_t { More, Done, Broken };

  // Continues at text[position], appends the value as valid JSON to `json`, and moves `position`
  // after the bytes read: after the value if Done, before the error if Broken.
  Status push(std::string_view text, size_t& position, std::string& json);
  // Ends the text, which completes a number at the outermost level.
  Status finish(std::string& json);

 private:
  enum class State : uint8_t {
    Value,        // before a value
    FirstValue,   // before a value or the end of the list
    FirstKey,     // before a key or the end of the object
    Key,          // before a key
    Colon,        // after a key
    Behind,       // after a value: before a comma or the end
    String,       // in a string
    Escape,       // after a backslash
    Hexadecimal,  // in \uXXXX
    Word,         // in a number, true, false or null
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
  bool is_key_ = false;     // the string is a key
  int digits_ = 0;          // in \uXXXX
  std::string word_;        // or escape
};

}  // namespace pippin::model_output
