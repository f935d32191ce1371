// A model that computes its outputs from rows of features: numbers, strings, arrays, dictionaries.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "pippin/base/bytes.h"
#include "pippin/tabular/interface.h"
#include "pippin/tabular/value.h"

namespace pippin::tabular {

using Labels = std::variant<std::vector<std::string>, std::vector<int64_t>>;

// Immutable: any number of threads may use it.
class Stage {
 public:
  virtual ~Stage() = default;

  // One row: `inputs` in the order of the interface; returns the outputs in its order. Throws
  // InvalidArgument for values that the model does not support (an unknown category).
  virtual std::vector<Value> run(std::span<const Value> inputs) const = 0;

  // The reason if it cannot be computed, else empty. run() then throws Unsupported.
  virtual std::string refusal() const { return {}; }
  // The classes, or null.
  virtual const Labels* labels() const { return nullptr; }
  // The values, or the keys of a dictionary, that the only input may have, if there is a list of
  // them; null otherwise.
  virtual const Labels* categories() const { return nullptr; }
  // Names and values for people: ("trees", "100").
  using Parameters = std::vector<std::pair<std::string, std::string>>;
  virtual Parameters parameters() const { return {}; }
};

// Whether read_stage() knows the kind: the number of its field in Core ML's Model message.
bool is_tabular_kind(int64_t field);
// Reads the content of that field and checks it: sizes, indices and names agree with each other and
// with the interface. Memory is in proportion to the content. Throws InvalidFile.
std::unique_ptr<const Stage> read_stage(int64_t field, ByteSpan content,
                                        const Interface& interface);

}  // namespace pippin::tabular
