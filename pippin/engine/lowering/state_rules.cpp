// Slices and states: views of memory, and writes to it.
#include "pippin/base/error.h"
#include "pippin/engine/lowering/rules.h"

namespace pippin::engine {
namespace {

using mil::Dim;
using mil::Shape;

std::vector<Dim> known_dims(const Builder& builder, const mil::Operation& operation,
                            std::string_view name) {
  if (const mil::Value* value = operation.constant_input(name)) {
    const auto ints = value->to_ints();
    return {ints.begin(), ints.end()};
  }
  if (const mil::Var* var = operation.input_var(name)) {
    if (const auto& elements = builder.info(var).elements) return *elements;
  }
  fail(ErrorCode::Unsupported, "{}: '{}' depends on data, which the engine cannot plan yet",
       builder.where(operation), name);
}

std::vector<bool> mask_param(const mil::Operation& operation, std::string_view name, size_t rank) {
  std::vector<bool> mask(rank, false);
  if (const mil::Value* value = operation.constant_input(name)) {
    const auto numbers = value->to_doubles();
    for (size_t i = 0; i < rank && i < numbers.size(); ++i) mask[i] = numbers[i] != 0;
  }
  return mask;
}

void slice_by_index(Builder& builder, const mil::Operation& operation) {
  const View x = builder.view(operation, "x");
  builder.define_output(operation,
                        slice_view(builder, operation, x, builder.info(operation.output()).shape));
}

void slice_by_size(Builder& builder, const mil::Operation& operation) {
  const View x = builder.view(operation, "x");
  const auto begin = known_dims(builder, operation, "begin");
  View part = x;
  part.shape = builder.info(operation.output()).shape;
  for (size_t i = 0; i < x.shape.size(); ++i) {
    const Dim& b = begin.at(i);
    part.offset =
        part.offset + (b.is_constant() && b.constant() < 0 ? b + x.shape[i] : b) * x.strides[i];
  }
  builder.define_output(operation, part);
}

void slice_update(Builder& builder, const mil::Operation& operation) {
  const View update = builder.view(operation, "update");
  if (auto state = builder.update_in_place(operation)) {
    builder.emit_copy(slice_view(builder, operation, *state, update.shape), update);
    builder.define_output(operation, *state);
    return;
  }
  const View x = builder.view(operation, "x");
  const View out = builder.allocate(run_storage(builder.info(operation.output()).type), x.shape);
  builder.emit_copy(out, x);
  builder.emit_copy(slice_view(builder, operation, out, update.shape), update);
  builder.define_output(operation, out);
}

void read_state(Builder& builder, const mil::Operation& operation) {
  builder.define_output(operation, builder.read_state(operation));
}

void write_state(Builder& builder, const mil::Operation& operation) {
  builder.write_state(operation);
}

}  // namespace

View slice_view(const Builder& builder, const mil::Operation& operation, const View& x,
                const Shape& shape) {
  const auto begin = known_dims(builder, operation, "begin");
  const size_t rank = x.shape.size();
  std::vector<int64_t> stride(rank, 1);
  if (operation.find_input("stride") != nullptr) {
    const auto values = known_dims(builder, operation, "stride");
    for (size_t i = 0; i < rank; ++i) {
      if (!values.at(i).is_constant()) {
        fail(ErrorCode::Unsupported, "{}: 'stride' must be constant", builder.where(operation));
      }
      stride[i] = values[i].constant();
    }
  }
  const auto begin_mask = mask_param(operation, "begin_mask", rank);
  const auto squeeze_mask = mask_param(operation, "squeeze_mask", rank);
  View part = x;
  part.shape.clear();
  part.strides.clear();
  size_t next = 0;  // axis of `shape`
  for (size_t i = 0; i < rank; ++i) {
    Dim start = begin.at(i);
    if (begin_mask[i] && !squeeze_mask[i]) {
      start = stride[i] > 0 ? Dim(0) : x.shape[i] - 1;
    } else if (start.is_constant() && start.constant() < 0) {
      start = start + x.shape[i];
    }
    if (squeeze_mask[i]) {
      part.offset = part.offset + start * x.strides[i];
      continue;
    }
    if (next >= shape.size()) {
      fail(ErrorCode::InvalidFile, "{}: the slice's rank is not that of its result",
           builder.where(operation));
    }
    const Dim& count = shape[next++];
    if (!(count == Dim(0))) part.offset = part.offset + start * x.strides[i];
    part.shape.push_back(count);
    part.strides.push_back(x.strides[i] * Dim(stride[i]));
  }
  return part;
}

void add_state_rules(Rules& rules) {
  rules["slice_by_index"] = slice_by_index;
  rules["slice_by_size"] = slice_by_size;
  rules["slice_update"] = slice_update;
  rules["read_state"] = read_state;
  rules["write_state"] = write_state;
}

}  // namespace pippin::engine
