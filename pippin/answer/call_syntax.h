// How a model writes calls of tools. Its chat template tells, since it writes the calls of earlier
// turns as the model did: see read_syntax.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pippin::answer {

struct CallPiece {
  enum class Kind : uint8_t {
    Text,
    Name,       // of the tool
    Id,         // of the call
    Number,     // of the call in its answer, from 0
    Arguments,  // a JSON object, or what CallSyntax::arguments says
  };
  Kind kind = Kind::Text;
  std::string text = {};  // of Text
  friend bool operator==(const CallPiece&, const CallPiece&) = default;
};

// An answer is
//   content, section_begin, call, separator, call, ..., section_end
// and a call is
//   call_begin, pieces, call_end.
// Marks are as the template writes them, with their blanks; any of them may be empty.
struct CallSyntax {
  enum class Shape : uint8_t {
    Object,    // the pieces are a JSON object: {"name": F, "arguments": {...}}, {F: {...}}
    Function,  // the name, then the arguments
    Channels,  // messages with a header (gpt-oss); only this and arguments_are_text count
  };
  enum class Arguments : uint8_t {
    Json,
    Tagged,  // each between marks: <parameter=k>v</parameter>
    Python,  // (k=v, ...)
    Quoted,  // {k:v, ...}, texts between `quote`
  };
  Shape shape = Shape::Object;
  Arguments arguments = Arguments::Json;

  std::string section_begin, call_begin;
  std::vector<CallPiece> pieces;
  std::string call_end, separator, section_end;

  // Of Shape::Object. Empty name_key: the name is the key of the arguments. wrapper_key: of the
  // object with both; empty: they are in the outer one.
  std::string name_key, arguments_key, id_key, wrapper_key;

  // Of Arguments::Tagged: key_begin key key_end value value_end. Values that are no texts may have
  // another mark before them, and are JSON.
  std::string key_begin, key_end, key_end_other, value_end;
  std::string quote;  // of Arguments::Quoted

  // What models write before calls although the template does not.
  std::string loose_begin;
  // What some models write around the content itself.
  std::string content_begin, content_end;

  bool has_one_call = false;        // the template takes one call in an answer
  bool arguments_are_text = false;  // the template takes arguments of earlier calls as JSON text
  bool is_written = false;          // the template writes calls of earlier turns
  friend bool operator==(const CallSyntax&, const CallSyntax&) = default;
};

}  // namespace pippin::answer
