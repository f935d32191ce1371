// Adds a JSON Schema (2020-12, and the spellings of older drafts) to a grammar: the texts of the
// JSON values that it allows.
//
// Every keyword is enforced, or rejected by name with its location; none is dropped. Annotations
// and unknown keywords are not assertions, as the specification says. Nothing is loaded from
// elsewhere. docs/constraints.md lists the rejected keywords.
#pragma once

#include <cstddef>
#include <cstdint>

#include "pippin/constrain/grammar.h"
#include "pippin/io/json.h"

namespace pippin::constrain {

enum class PropertyOrder : uint8_t {
  Schema,  // named properties in the schema's order, then others
  Any,     // to validate existing texts; forces nothing
};
enum class Whitespace : uint8_t {
  Compact,   // {"a":1,"b":2}
  Spaced,    // {"a": 1, "b": 2}
  Flexible,  // optional line breaks and blanks wherever JSON allows them
};

struct SchemaOptions {
  PropertyOrder order = PropertyOrder::Schema;
  Whitespace whitespace = Whitespace::Compact;
  // Accepts numbers such as 20, 2.50 and 2e1, to validate existing texts. Otherwise numbers are
  // written as programs do: integers without a fraction, no trailing zeros in a fraction, and at
  // most 20 digits on each side of the point unless the schema says more.
  bool every_spelling = false;
  bool format_asserts = true;  // false: an annotation, as in 2020-12 without its vocabulary
  size_t max_values = 20'000;  // different sets of literals for inner values
  size_t max_branches = 4'000;
  size_t max_steps = 400'000;
};

// Returns the value's symbol; the caller puts it into a rule and finishes the grammar. Throws,
// starting with the location in the schema: Unsupported; InvalidArgument if it is not a schema or
// allows no value; LimitExceeded.
Symbol add_schema(Grammar& grammar, const Json& schema, const SchemaOptions& options = {});

// Any JSON value, and any JSON object.
Symbol add_json_value(Grammar& grammar, const SchemaOptions& options = {});
Symbol add_json_object(Grammar& grammar, const SchemaOptions& options = {});

}  // namespace pippin::constrain
