// Dimensions as values: a symbolic size becomes shape arithmetic in the program.
#include <algorithm>

#include "pippin/array/builder.h"
#include "pippin/array/node.h"
#include "pippin/array/ops.h"
#include "pippin/base/error.h"

namespace pippin::array {

Array Builder::dim_array(const mil::Dim& dim) {
  if (const auto number = dim.try_constant()) return constant(static_cast<int32_t>(*number));
  for (const auto& [known, value] : dims_) {
    if (known == dim) return value;
  }
  const Scope global("");  // shared by the whole function, so no module's name
  Array value = lower(dim);
  dims_.emplace_back(dim, value);
  return value;
}

// Positive terms come first: "end - q" is one subtraction.
Array Builder::lower(const mil::Dim& dim) {
  const auto product = [&](const mil::Dim::Term& term, int64_t coefficient) {
    Array value = lower_atom(*term.atoms.front());
    for (size_t i = 1; i < term.atoms.size(); ++i) value = value * lower_atom(*term.atoms[i]);
    if (coefficient == 1) return value;
    return value * constant(static_cast<int32_t>(coefficient));
  };
  std::optional<Array> sum;
  for (const auto& term : dim.terms()) {
    if (term.coefficient < 0) continue;
    const Array part = product(term, term.coefficient);
    sum = sum ? *sum + part : part;
  }
  if (dim.offset() != 0 || !sum) {
    const Array offset = constant(static_cast<int32_t>(dim.offset()));
    sum = sum ? *sum + offset : offset;
  }
  for (const auto& term : dim.terms()) {
    if (term.coefficient < 0) sum = *sum - product(term, -term.coefficient);
  }
  return *sum;
}

Array Builder::lower_atom(const mil::Dim::Atom& atom) {
  using Kind = mil::Dim::Atom::Kind;
  if (atom.kind != Kind::Symbol) {
    const Array a = dim_array(atom.a), b = dim_array(atom.b);
    if (atom.kind == Kind::FloorDiv) return floor_divide(a, b);
    if (atom.kind == Kind::Mod) return array::mod(a, b);
    return atom.kind == Kind::Minimum ? array::minimum(a, b) : array::maximum(a, b);
  }
  // Find an input axis whose size is exactly this symbol.
  for (const NodePtr& input : inputs_) {
    const mil::Shape& shape = input->infos[0].shape;
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      const auto symbols = shape[axis].symbols();
      if (symbols.size() != 1 || symbols[0]->id != atom.id) continue;
      const mil::Dim& symbol = shape[axis];
      const bool alone = symbol.offset() == 0 && symbol.terms().size() == 1 &&
                         symbol.terms()[0].coefficient == 1 &&
                         symbol.terms()[0].atoms.size() == 1 &&
                         symbol.terms()[0].atoms[0]->kind == Kind::Symbol;
      if (alone) return size_of(input, axis, symbol);
    }
  }
  fail(ErrorCode::InvalidArgument, "no input has an axis of size '{}'", atom.name);
}

Array Builder::size_of(const NodePtr& input, size_t axis, const mil::Dim& symbol) {
  for (const auto& [known, value] : dims_) {
    if (known == symbol) return value;
  }
  auto found = std::find_if(shapes_.begin(), shapes_.end(),
                            [&](const auto& entry) { return entry.first == input; });
  if (found == shapes_.end()) {
    const Array shape = named(shape_of(Array(input, 0)), input->name + "_shape");
    found = shapes_.emplace(shapes_.end(), input, shape);
  }
  const Array& shape = found->second;
  Array value = named(gather(shape, constant(static_cast<int32_t>(axis))), symbol.to_string());
  dims_.emplace_back(symbol, value);
  return value;
}

Array Builder::dims_array(const mil::Shape& dims) {
  if (const auto numbers = mil::constant_shape(dims)) return constant(*numbers);
  for (const auto& [known, value] : vectors_) {
    if (known == dims) return value;
  }
  const Scope global("");
  std::vector<Array> parts;
  std::vector<int64_t> numbers;  // consecutive constants become one part
  const auto flush = [&] {
    if (!numbers.empty()) parts.push_back(constant(numbers));
    numbers.clear();
  };
  for (const mil::Dim& dim : dims) {
    if (const auto number = dim.try_constant()) {
      numbers.push_back(*number);
      continue;
    }
    flush();
    parts.push_back(vector_of(dim));
  }
  flush();
  Array value = parts.size() == 1 ? parts[0] : named(concat(parts, 0), "dims");
  vectors_.emplace_back(dims, value);
  return value;
}

Array Builder::vector_of(const mil::Dim& dim) {
  const mil::Shape key{dim};
  for (const auto& [known, value] : vectors_) {
    if (known == key) return value;
  }
  const Array scalar = dim_array(dim);
  Array value = named(expand_dims(scalar, {0}), scalar.node()->name + "_1d");
  vectors_.emplace_back(key, value);
  return value;
}

}  // namespace pippin::array
