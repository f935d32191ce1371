#include "pippin/engine/lowering/builder.h"

#include <algorithm>
#include <cstring>

#include "pippin/base/error.h"
#include "pippin/base/log.h"
#include "pippin/base/numbers/checked.h"
#include "pippin/engine/lowering/expand_constexpr.h"
#include "pippin/engine/lowering/read_quantized.h"
#include "pippin/engine/weights/copy_operand.h"
#include "pippin/mil/check/evaluate.h"
#include "pippin/mil/ops/op.h"

namespace pippin::engine {

using mil::Dim;
using mil::Shape;

namespace {

constexpr int64_t kSmall = 4096;  // elements; more is folded only if nothing else can compute it

// A weight that is rearranged or converted while it is read.
bool is_computed(const mil::Value& value) {
  return native_storage(value.type.data_type) && value.source != nullptr &&
         value.source->view().empty() && value.type.num_elements() > kSmall;
}

bool feeds_constexpr(const Region& region, const mil::Var* var) {
  return std::any_of(region.operations.begin(), region.operations.end(),
                     [&](const mil::Operation* operation) {
                       if (!mil::has_trait(*operation, mil::Trait::Compressed)) return false;
                       const auto& inputs = operation->inputs();
                       return std::any_of(inputs.begin(), inputs.end(), [&](const auto& input) {
                         return operation->input_var(input.first) == var;
                       });
                     });
}

template <typename T>
std::vector<std::byte> to_packed(const std::vector<double>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  for (size_t i = 0; i < values.size(); ++i) {
    const T value = static_cast<T>(values[i]);
    std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
  }
  return bytes;
}

}  // namespace

Builder::Builder(const Region& region, const mil::Inference& inference,
                 const std::set<const mil::Operation*>& copied_reads)
    : region_(region), inference_(inference), copied_reads_(copied_reads), common_(inference) {
  for (const mil::Operation* operation : region.operations) {
    for (const auto& [name, argument] : operation->inputs()) {
      for (const mil::Binding& binding : argument) {
        if (const auto* var = std::get_if<mil::Var*>(&binding)) ++reads_[*var];
      }
    }
  }
  // Readers of a result of the region are outside its operations.
  for (const mil::Var* var : region.outputs) reads_[var] += 2;
}

std::string Builder::where(const mil::Operation& operation) const {
  const auto name = operation.attributes().find("name");
  std::string label;
  if (name != operation.attributes().end() && !name->second.strings.empty()) {
    label = name->second.strings[0];
  } else if (!operation.outputs().empty()) {
    label = operation.output()->name;
  }
  return fmt::format("{} '{}'", operation.type(), label);
}

const mil::ValueInfo& Builder::info(const mil::Var* var) const {
  const auto found = inference_.values.find(var);
  if (found == inference_.values.end()) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("'{}' belongs to an earlier region", var->name));
  }
  return found->second;
}

int Builder::add_buffer(Buffer buffer) {
  buffers_.push_back(std::move(buffer));
  return static_cast<int>(buffers_.size()) - 1;
}

View Builder::allocate(Storage storage, const Shape& shape) {
  View view;
  view.storage = storage;
  view.shape = shape;
  view.strides = contiguous_strides(shape);
  Buffer buffer;
  buffer.storage = storage;
  buffer.elements = mil::num_elements(shape);
  view.buffer = add_buffer(std::move(buffer));
  return view;
}

View Builder::allocate_like(Storage storage, const View& like) {
  const std::vector<int64_t> order = memory_order(like);
  std::vector<int64_t> back(order.size());
  Shape shape;
  for (size_t i = 0; i < order.size(); ++i) {
    shape.push_back(like.shape[static_cast<size_t>(order[i])]);
    back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  }
  return transpose_view(allocate(storage, shape), back);
}

View Builder::constant(Storage storage, const Shape& shape, std::vector<std::byte> bytes) {
  View view;
  view.storage = storage;
  view.shape = shape;
  view.strides = contiguous_strides(shape);
  constants_.push_back(std::move(bytes));
  Buffer buffer;
  buffer.kind = Buffer::Kind::Constant;
  buffer.storage = storage;
  buffer.elements = static_cast<int64_t>(constants_.back().size()) / element_size(storage);
  buffer.data = constants_.back().data();
  view.buffer = add_buffer(std::move(buffer));
  return view;
}

View Builder::constant(const mil::Value& value) {
  const Shape shape = mil::to_shape(value.type.dims);
  const auto native = native_storage(value.type.data_type);
  View view;
  if (native && value.source != nullptr && !value.source->view().empty()) {
    view.storage = *native;  // used in place, in the mapped file
    view.shape = shape;
    view.strides = contiguous_strides(shape);
    Buffer buffer;
    buffer.kind = Buffer::Kind::Constant;
    buffer.storage = *native;
    buffer.elements = static_cast<int64_t>(value.source->view().size()) / element_size(*native);
    buffer.data = value.source->view().data();
    view.buffer = add_buffer(std::move(buffer));
  } else if (native) {
    view = constant(*native, shape, value.read_bytes());
  } else {
    const std::vector<double> numbers = value.to_doubles();
    const Storage storage = run_storage(value.type.data_type);
    view =
        constant(storage, shape,
                 storage == Storage::F32 ? to_packed<float>(numbers) : to_packed<int32_t>(numbers));
  }
  return view;
}

View Builder::view(const mil::Var* var) {
  const auto found = views_.find(var);
  if (found != views_.end()) {
    const View& view = found->second;
    if (view.state_read != nullptr) {
      for (const auto& [state, info] : states_) {
        if (info.buffer == view.buffer && info.version != view.state_version) {
          stale_reads_.insert(view.state_read);
        }
      }
    }
    return view;
  }
  if (auto deferred = deferred_.extract(var)) {
    deferred.mapped()();
    return view(var);
  }
  if (const auto quantized = quantized_.find(var); quantized != quantized_.end()) {
    View view = expand(var, *quantized->second);
    views_.emplace(var, view);
    return view;
  }
  if (const mil::Value* value = mil::constant_of(var)) {
    View view = is_computed(*value) ? cached_constant(var, *native_storage(value->type.data_type),
                                                      value->source->size(),
                                                      [&] { return read_on_all_threads(*value); })
                                    : constant(*value);
    views_.emplace(var, view);
    return view;
  }
  const mil::ValueInfo& known = info(var);
  if (known.elements) {
    // Shape arithmetic that is read at run time: each run fills in its numbers.
    View view = allocate(run_storage(known.type), known.shape);
    emit(DimsNode{}, {view}).scalars = *known.elements;
    views_.emplace(var, view);
    return view;
  }
  fail(ErrorCode::Internal, "'{}' has no value yet", var->name);
}

View Builder::view(const mil::Binding& binding) {
  const mil::Value* literal = std::get_if<mil::Value>(&binding);
  if (literal == nullptr) return view(std::get<mil::Var*>(binding));
  const auto known = literals_.find(literal);
  if (known != literals_.end()) return known->second;
  return literals_.emplace(literal, constant(*literal)).first->second;
}

View Builder::view(const mil::Operation& operation, std::string_view parameter) {
  const mil::Argument* argument = operation.find_input(parameter);
  if (argument == nullptr || argument->size() != 1) {
    fail(ErrorCode::InvalidFile, "{}: parameter '{}' is missing", where(operation), parameter);
  }
  return view(argument->front());
}

Shape Builder::shape(const mil::Operation& operation, std::string_view parameter) const {
  if (const mil::Var* var = operation.input_var(parameter)) return info(var).shape;
  const mil::Value* literal = operation.constant_input(parameter);
  if (literal == nullptr) {
    fail(ErrorCode::InvalidFile, "{}: parameter '{}' is missing", where(operation), parameter);
  }
  return mil::to_shape(literal->type.dims);
}

View Builder::view_as(const View& view, Storage storage) {
  return view.storage == storage ? view : copied(view, storage);
}

// The elements of a constant in another storage or order, converted now: by a step that runs on
// this thread. Nothing if a part of it depends on the run (rows of a table).
std::optional<View> Builder::copied_constant(const View& view, Storage storage) {
  const auto shape = mil::constant_shape(view.shape);
  const auto strides = mil::constant_shape(view.strides);
  if (!is_constant(view) || !shape || !strides || !view.offset.is_constant()) return std::nullopt;
  const Buffer& source = buffers_[static_cast<size_t>(view.buffer)];
  Operand from{
      const_cast<std::byte*>(source.data) + view.offset.constant() * element_size(view.storage),
      view.storage, static_cast<int>(view.rank())};
  std::copy(shape->begin(), shape->end(), from.shape);
  std::copy(strides->begin(), strides->end(), from.strides);
  if (!lies_inside(from, view.offset.constant(), source.elements.constant())) {
    fail(ErrorCode::InvalidFile, "{} at {} leaves a constant of {} elements",
         mil::to_string(view.shape), view.offset.constant(), source.elements.constant());
  }
  std::vector<std::byte> bytes(static_cast<size_t>(from.size() * element_size(storage)));
  Operand to = from;
  to.data = bytes.data();
  to.storage = storage;
  const auto dense = mil::constant_shape(contiguous_strides(view.shape));
  std::copy(dense->begin(), dense->end(), to.strides);
  copy_operand(to, from, cpu());
  return constant(storage, view.shape, std::move(bytes));
}

View Builder::copied(const View& view, Storage storage) {
  // The contents of a state change, all other buffers are written once.
  const bool changes = buffers_[static_cast<size_t>(view.buffer)].kind == Buffer::Kind::State;
  std::vector<Copy>& known = copies_[view.buffer];
  for (const Copy& copy : known) {
    if (!changes && copy.to.storage == storage && same_elements(copy.from, view)) return copy.to;
  }
  View result;
  if (auto constant = copied_constant(view, storage)) {
    result = *constant;
  } else {
    result = allocate(storage, view.shape);
    emit_copy(result, view);
  }
  copies_[view.buffer].push_back({view, result});
  return result;
}

View Builder::floats(const mil::Operation& operation, std::string_view parameter) {
  return view_as(view(operation, parameter), Storage::F32);
}

View Builder::ints(const mil::Operation& operation, std::string_view parameter) {
  return view_as(view(operation, parameter), Storage::I32);
}

View Builder::contiguous(const View& view) {
  if (is_contiguous(view)) {
    View result = view;
    result.strides = contiguous_strides(view.shape);
    return result;
  }
  return copied(view, view.storage);
}

View Builder::matrix(const View& view, int64_t column_axes) {
  if (auto rows = matrix_view(view, column_axes)) return *rows;
  return *matrix_view(contiguous(view), column_axes);
}

void Builder::check_planned_sizes(const mil::Operation& operation) const {
  for (const auto& output : operation.outputs()) {
    for (const Dim& dim : info(output.get()).shape) {
      for (const Dim::AtomPtr& symbol : dim.symbols()) {
        if (region_.symbols.contains(symbol->id)) continue;
        fail(ErrorCode::Unsupported,
             "{}: the size of '{}' depends on data, which cannot be planned yet", where(operation),
             output->name);
      }
    }
  }
}

// The numbers of a compressed weight that another form of compression needs.
bool Builder::fold_kept(const mil::Var* var) {
  if (!quantized_.contains(var) && !views_.contains(var) && !is_deferred(var)) return false;
  const View stored = view(var);
  const auto shape = mil::constant_shape(stored.shape);
  if (!is_constant(stored) || !is_float(stored.storage) || !shape || !is_contiguous(stored) ||
      !(stored.offset == Dim(0))) {
    return false;
  }
  const mil::DataType type = stored.storage == Storage::F16   ? mil::DataType::Float16
                             : stored.storage == Storage::F32 ? mil::DataType::Float32
                                                              : mil::DataType::BFloat16;
  const ByteSpan bytes(buffers_[static_cast<size_t>(stored.buffer)].data,
                       mil::packed_size(type, mil::num_elements(*shape)));
  folded_.insert_or_assign(var, mil::tensor_from_bytes(type, *shape, bytes));
  return true;
}

bool Builder::fold(const mil::Operation& operation) {
  const mil::OpDef* op = mil::find_op(operation.type(), opset());
  // A cast is free, and a weight is best left as it is stored.
  const auto is = [&](mil::Trait trait) { return op != nullptr && op->traits.has(trait); };
  const bool casts = is(mil::Trait::Converts) && !is(mil::Trait::View);
  if (op == nullptr || !op->pure || casts || !operation.blocks().empty()) return false;
  const bool compressed = is(mil::Trait::Compressed);
  for (const auto& output : operation.outputs()) {
    const mil::ValueInfo& result = info(output.get());
    const Dim count = mil::num_elements(result.shape);
    if (result.type == mil::DataType::String || (!compressed && count.upper() > kSmall))
      return false;
  }
  for (const auto& [name, argument] : operation.inputs()) {
    for (const mil::Binding& binding : argument) {
      const auto* var = std::get_if<mil::Var*>(&binding);
      if (var == nullptr || folded_.contains(*var)) continue;
      if (compressed && fold_kept(*var)) continue;
      const mil::Value* value = mil::constant_of(*var);
      if (value == nullptr || (!compressed && value->type.num_elements() > kSmall)) return false;
    }
  }
  class Constants : public mil::Environment {
   public:
    explicit Constants(const std::unordered_map<const mil::Var*, mil::Tensor>& folded)
        : folded_(folded) {}
    const mil::Tensor& tensor_of(const mil::Var* var) override {
      const auto found = folded_.find(var);
      if (found != folded_.end()) return found->second;
      return loaded_.try_emplace(var, mil::to_tensor(*mil::constant_of(var))).first->second;
    }

   private:
    const std::unordered_map<const mil::Var*, mil::Tensor>& folded_;
    std::unordered_map<const mil::Var*, mil::Tensor> loaded_;
  } constants(folded_);
  // Forms of compression without a kernel: computed once for all plans and loads.
  const mil::Var* first = operation.output();
  const auto storage = native_storage(info(first).type);
  const auto shape = mil::constant_shape(info(first).shape);
  if (compressed && storage && shape && operation.outputs().size() == 1 &&
      mil::num_elements(*shape) > kSmall && !feeds_constexpr(region_, first)) {
    const uint64_t size = mil::packed_size(info(first).type, mil::num_elements(*shape));
    define(first, cached_constant(first, *storage, size, [&] {
             return mil::to_bytes(mil::evaluate_operation(operation, opset(), constants).at(0));
           }));
    return true;
  }
  std::vector<mil::Tensor> results = mil::evaluate_operation(operation, opset(), constants);
  for (size_t i = 0; i < results.size(); ++i) {
    const mil::Var* output = operation.output(i);
    define(output, constant(mil::to_value(results[i])));
    // Large results are kept as doubles only if the next form of compression needs them.
    if (results[i].size() <= kSmall || feeds_constexpr(region_, output)) {
      folded_.insert_or_assign(output, std::move(results[i]));
    }
  }
  return true;
}

std::optional<std::vector<float>> Builder::constant_floats(const View& view, int64_t limit) {
  const auto shape = mil::constant_shape(view.shape);
  if (!shape || !is_constant(view) || mil::num_elements(*shape) > limit) return std::nullopt;
  const View floats = contiguous(view_as(view, Storage::F32));
  if (!is_constant(floats) || !floats.offset.is_constant()) return std::nullopt;
  std::vector<float> values(static_cast<size_t>(mil::num_elements(*shape)));
  const std::byte* data = buffers_[static_cast<size_t>(floats.buffer)].data;
  std::memcpy(values.data(), data + floats.offset.constant() * element_size(Storage::F32),
              values.size() * sizeof(float));
  return values;
}

std::optional<double> Builder::number(const mil::Operation& operation, std::string_view parameter) {
  const mil::Argument* argument = operation.find_input(parameter);
  if (argument == nullptr || argument->size() != 1) return std::nullopt;
  if (!(mil::num_elements(shape(operation, parameter)) == Dim(1))) return std::nullopt;
  const auto* var = std::get_if<mil::Var*>(&argument->front());
  if (var != nullptr && !views_.contains(*var) && mil::constant_of(*var) == nullptr) {
    return std::nullopt;  // of another region, or shape arithmetic
  }
  const auto values = constant_floats(view(argument->front()), 1);
  return values ? std::optional<double>(values->front()) : std::nullopt;
}

const std::byte* Builder::keep(std::vector<std::byte> bytes) {
  constants_.push_back(std::move(bytes));
  return constants_.back().data();
}

const std::byte* Builder::computed_bytes(const mil::Var* var, const mil::Value& value) {
  const ArrayRequest request{var, value.source->size(), opset(), {}, cache()};
  shared_constants_.push_back(shared_array(request, [&] { return read_on_all_threads(value); }));
  return shared_constants_.back().get();
}

std::shared_ptr<const QuantizedWeight> Builder::quantized(const mil::Operation& operation,
                                                          std::string_view parameter) const {
  return quantized(operation.input_var(parameter));
}

std::shared_ptr<const QuantizedWeight> Builder::quantized(const mil::Var* var) const {
  const auto found = quantized_.find(var);
  return found == quantized_.end() ? nullptr : found->second;
}

bool Builder::keep_quantized(const mil::Operation& operation) {
  auto weight = read_quantized_weight(*this, operation);
  const auto& takes = target().takes_quantized;
  if (weight == nullptr || !takes || !takes(*weight)) return false;
  const bool large = weight->matrix.n * weight->matrix.k > kSmall;
  quantized_.insert_or_assign(operation.output(), std::move(weight));
  return large;
}

View Builder::expand(const mil::Var* var, const QuantizedWeight& weight) {
  log_debug("'{}' is expanded: {}", var->name, weight.form);
  const Storage storage = weight.type == mil::DataType::Float16 ? Storage::F16 : Storage::F32;
  const auto count = static_cast<uint64_t>(weight.matrix.n * weight.matrix.k);
  return cached_constant(
      var, storage, count * static_cast<uint64_t>(element_size(storage)),
      [&] { return expand_weight(weight, cpu()); }, kernels::choose_quantized_dot(cpu()).name);
}

void Builder::defer(const mil::Var* var, std::function<void()> define) {
  deferred_.insert_or_assign(var, std::move(define));
}

bool Builder::expand_large(const mil::Operation& operation) {
  const bool large =
      std::any_of(operation.outputs().begin(), operation.outputs().end(), [&](const auto& output) {
        return mil::num_elements(info(output.get()).shape).upper() > kSmall;
      });
  return large && expand_constexpr(*this, operation);
}

View Builder::shared_constant(Storage storage, const Shape& shape, SharedBytes bytes) {
  shared_constants_.push_back(std::move(bytes));
  return borrowed_constant(storage, shape, shared_constants_.back().get());
}

View Builder::cached_constant(const mil::Var* var, Storage storage, uint64_t size,
                              const std::function<std::vector<std::byte>()>& make,
                              std::string_view variant) {
  const ArrayRequest request{var, size, opset(), variant, cache()};
  return shared_constant(storage, info(var).shape, shared_array(request, make));
}

View Builder::borrowed_constant(Storage storage, const Shape& shape, const std::byte* data) {
  View view;
  view.storage = storage;
  view.shape = shape;
  view.strides = contiguous_strides(shape);
  Buffer buffer;
  buffer.kind = Buffer::Kind::Constant;
  buffer.storage = storage;
  buffer.elements = mil::num_elements(shape);
  buffer.data = data;
  view.buffer = add_buffer(std::move(buffer));
  return view;
}

bool Builder::all_users(const mil::Operation& operation,
                        const std::function<bool(const mil::Operation&)>& is_kind) const {
  const auto is_result = [&](const mil::Var* var) {
    return var != nullptr && var->producer == &operation;
  };
  if (std::any_of(region_.outputs.begin(), region_.outputs.end(), is_result)) return false;
  return std::all_of(region_.operations.begin(), region_.operations.end(),
                     [&](const mil::Operation* user) {
                       for (const auto& [name, argument] : user->inputs()) {
                         for (const mil::Binding& binding : argument) {
                           const auto* var = std::get_if<mil::Var*>(&binding);
                           if (var != nullptr && is_result(*var)) return is_kind(*user);
                         }
                       }
                       return true;
                     });
}

bool Builder::reuse(const mil::Operation& operation) {
  const mil::OpDef* op = mil::find_op(operation.type(), opset());
  if (op == nullptr || !op->pure || !operation.blocks().empty() || operation.outputs().empty() ||
      op->traits.has(mil::Trait::Compressed)) {
    return false;
  }
  const mil::Operation* earlier = common_.find_or_add(operation);
  if (earlier == nullptr) return false;
  for (const auto& output : earlier->outputs()) {
    if (!is_lowered(output.get())) return false;
  }
  for (size_t i = 0; i < operation.outputs().size(); ++i) {
    define(operation.output(i), view(earlier->output(i)));
  }
  return true;
}

bool Builder::read_once(const mil::Var* var) const {
  const auto found = reads_.find(var);
  return found != reads_.end() && found->second == 1;
}

std::vector<const mil::Operation*> Builder::users(const mil::Var* var) const {
  std::vector<const mil::Operation*> result;
  for (const mil::Operation* operation : region_.operations) {
    const auto& inputs = operation->inputs();
    const bool reads = std::any_of(inputs.begin(), inputs.end(), [&](const auto& input) {
      return std::any_of(input.second.begin(), input.second.end(), [&](const auto& binding) {
        const auto* read = std::get_if<mil::Var*>(&binding);
        return read != nullptr && *read == var;
      });
    });
    if (reads) result.push_back(operation);
  }
  return result;
}

void Builder::define(const mil::Var* var, View view) {
  views_.insert_or_assign(var, std::move(view));
}

Node& Builder::add(Node node) {
  for (const View& view : node.views) {
    if (view.rank() > kMaxRank) {
      fail(ErrorCode::Unsupported, "{}: rank {} is more than {}", node_name(node), view.rank(),
           kMaxRank);
    }
  }
  nodes_.push_back(std::move(node));
  return nodes_.back();
}

void Builder::emit_copy(const View& to, const View& from) {
  emit(CopyNode{}, in_memory_order({to, broadcast_view(from, to.shape)}));
}

}  // namespace pippin::engine
