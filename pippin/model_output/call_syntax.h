// The syntax of a model's tool calls. Its chat template shows it, because it writes calls of
// earlier turns as the model did: see read_syntax.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pippin::model_output {

struct CallPiece {
  enum class Kind : uint8_t {
    Text,
    Name,       // the tool's name
    Id,         // the call's id
    Number,     // the call's index in its answer, from 0
    Arguments,  // a JSON object, or as in CallSyntax::arguments
  };
  Kind kind = Kind::Text;
  std::string text = {};  // for Text
  friend bool operator==(const CallPiece&, const CallPiece&) = default;
};

// An answer is
//   content, section_begin, call, separator, call, ..., section_end
// and a call is
//   call_begin, pieces, call_end.
// Marks are as in the template, including blanks; any of them may be empty.
struct CallSyntax {
  enum class Shape : uint8_t {
    Object,    // the pieces are a JSON object: {"name": F, "arguments": {...}}, {F: {...}}
    Function,  // the name, then the arguments
    Channels,  // messages with a header (gpt-oss); of the fields, only arguments_are_text is used,
               // too
  };
  enum class Arguments : uint8_t {
    Json,
    Tagged,  // each argument between marks: <parameter=k>v</parameter>
    Python,  // (k=v, ...)
    Quoted,  // {k:v, ...}, texts enclosed in `quote`
  };
  Shape shape = Shape::Object;
  Arguments arguments = Arguments::Json;

  std::string section_begin, call_begin;
  std::vector<CallPiece> pieces;
  std::string call_end, separator, section_end;

  // For Shape::Object. name_key is empty if the name itself is the key of the arguments.
  // wrapper_key is the key of the object that holds both; empty if they are in the outer object.
  std::string name_key, arguments_key, id_key, wrapper_key;

  // For Arguments::Tagged: key_begin key key_end value value_end. Values that are not texts may be
  // preceded by key_end_other instead, and are JSON.
  std::string key_begin, key_end, key_end_other, value_end;
  std::string quote;  // for Arguments::Quoted

  // A mark that models write before calls although the template does not.
  std::string loose_begin;
  // Marks that some models write around the content itself.
  std::string content_begin, content_end;

  bool has_one_call = false;        // the template allows one call per answer
  bool arguments_are_text = false;  // the template expects arguments of earlier calls as JSON text
  bool is_written = false;          // the template writes calls of earlier turns
  friend bool operator==(const CallSyntax&, const CallSyntax&) = default;
};

}  // namespace pippin::model_output
