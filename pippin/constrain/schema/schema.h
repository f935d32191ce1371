// JSON Schema (2020-12, and the spellings of older drafts) as a part of a grammar: the texts of the
// JSON values that it describes.
//
// Every keyword is honoured or refused by name, with its place; none is dropped. Annotations and
// keywords that JSON Schema does not know are no assertions, as it says. Nothing is loaded from
// elsewhere. docs/constraints.md lists what is refused.
#pragma once

#include <cstddef>
#include <cstdint>

#include "pippin/constrain/grammar.h"
#include "pippin/io/json.h"

namespace pippin::constrain {

enum class PropertyOrder : uint8_t {
  Schema,  // properties that the schema names in its order, then others
  Any,     // to judge texts that others wrote; nothing is forced then
};
enum class Whitespace : uint8_t {
  Compact,   // {"a":1,"b":2}
  Spaced,    // {"a": 1, "b": 2}
  Flexible,  // up to a line break and some blanks where JSON allows blanks
};

struct SchemaOptions {
  PropertyOrder order = PropertyOrder::Schema;
  Whitespace whitespace = Whitespace::Compact;
  // Numbers as 20, 2.50 and 2e1, to judge texts that others wrote. Else only as programs write
  // them: integers without a fraction, no zeros at the end of one, and where nothing else is said
  // of them at most 20 digits on each side of the point.
  bool every_spelling = false;
  bool format_asserts = true;  // else it is an annotation, as in 2020-12 without its vocabulary
  size_t max_values = 20'000;  // different sets of statements of values within the value
  size_t max_branches = 4'000;
  size_t max_steps = 400'000;
};

// The value's symbol; the caller puts it into a rule and finishes the grammar. Throws, with the
// place in the schema in front: Unsupported, InvalidArgument for what is no schema and for a schema
// of which there is no value, LimitExceeded.
Symbol add_schema(Grammar& grammar, const Json& schema, const SchemaOptions& options = {});

// Any value, and any object.
Symbol add_json_value(Grammar& grammar, const SchemaOptions& options = {});
Symbol add_json_object(Grammar& grammar, const SchemaOptions& options = {});

}  // namespace pippin::constrain
