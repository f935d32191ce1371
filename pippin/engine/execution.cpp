#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/engine/memory.h"
#include "pippin/engine/plan_impl.h"
#include "pippin/engine/state_buffer.h"

namespace pippin::engine {
namespace {

using mil::Dim;

// A number of an operand that changes with the shapes.
struct Patch {
  const Dim* dim;
  int64_t* target;
};

// An operand whose address or extent changes with the shapes or the state.
struct Address {
  size_t operand;
  const View* view;
  const Step* step;
};

}  // namespace

struct Execution::Impl {
  std::shared_ptr<const PlanImpl> plan;
  ThreadPool& pool;
  Memory arena;
  Memory scratch;
  std::vector<Operand> operands;  // of all steps, in order; then inputs, then outputs
  std::vector<size_t> first_operand;
  std::vector<int64_t> scalars;
  std::vector<size_t> first_scalar;
  std::vector<Patch> patches;
  std::vector<Address> addresses;
  std::vector<int64_t> offsets;  // by operand, in elements
  std::vector<std::vector<int64_t>> shapes;
  std::map<uint64_t, int64_t> symbols;
  State* state = nullptr;
  std::vector<std::byte*> bases;  // by buffer
  std::vector<int64_t> extents;   // by buffer, in elements
  bool resolved = false;          // for the values that are in `symbols`

  Impl(std::shared_ptr<const PlanImpl> made, ThreadPool& threads)
      : plan(std::move(made)),
        pool(threads),
        arena(plan->arena_bytes(), "working memory"),
        scratch(static_cast<uint64_t>(plan->scratch_size) *
                    static_cast<uint64_t>(threads.num_threads()),
                "scratch memory") {
    bases.assign(plan->buffers.size(), nullptr);
    extents.assign(plan->buffers.size(), 0);
    for (size_t i = 0; i < plan->buffers.size(); ++i) {
      const Buffer& buffer = plan->buffers[i];
      if (buffer.kind == Buffer::Kind::Constant) {
        bases[i] = const_cast<std::byte*>(buffer.data);
        extents[i] = buffer.elements.constant();
      } else if (plan->buffer_offsets[i] >= 0) {
        bases[i] = arena.data() + plan->buffer_offsets[i];
        extents[i] = buffer.elements.upper();
      }
    }
    size_t num_operands = plan->input_views.size() + plan->output_views.size(), num_scalars = 0;
    for (const auto& step : plan->steps) {
      num_operands += step->views.size();
      num_scalars += step->scalars.size();
    }
    operands.resize(num_operands);
    offsets.resize(num_operands);
    scalars.resize(num_scalars);
    size_t operand = 0, scalar = 0;
    for (const auto& step : plan->steps) {
      first_operand.push_back(operand);
      first_scalar.push_back(scalar);
      for (const View& view : step->views) add_operand(operand++, view, step.get());
      for (const Dim& dim : step->scalars) add_number(dim, scalars[scalar++]);
    }
    for (const View& view : plan->input_views) add_operand(operand++, view, nullptr);
    for (const View& view : plan->output_views) add_operand(operand++, view, nullptr);
  }

  void add_number(const Dim& dim, int64_t& target) {
    if (const auto constant = dim.try_constant()) {
      target = *constant;
    } else {
      patches.push_back({&dim, &target});
    }
  }

  void add_operand(size_t index, const View& view, const Step* step) {
    Operand& operand = operands[index];
    operand.storage = view.storage;
    operand.rank = static_cast<int>(view.rank());
    const size_t before = patches.size();
    for (size_t i = 0; i < view.shape.size(); ++i) {
      add_number(view.shape[i], operand.shape[i]);
      add_number(view.strides[i], operand.strides[i]);
    }
    add_number(view.offset, offsets[index]);
    const auto buffer = static_cast<size_t>(view.buffer);
    const bool fixed =
        patches.size() == before && plan->buffers[buffer].kind != Buffer::Kind::State;
    if (fixed) {
      operand.data = bases[buffer] + offsets[index] * element_size(view.storage);
      check_extent({index, &view, step});
    } else {
      addresses.push_back({index, &view, step});
    }
  }

  int64_t evaluate(const Dim& dim) const {
    return dim.evaluate([this](const Dim::Atom& symbol) {
      const auto found = symbols.find(symbol.id);
      return found == symbols.end() ? int64_t{0} : found->second;
    });
  }

  void set_symbols(const std::vector<std::vector<int64_t>>& given) {
    if (given.size() != plan->input_ports.size()) {
      fail(ErrorCode::InvalidArgument, "{} input shapes were given, the function has {} inputs",
           given.size(), plan->input_ports.size());
    }
    std::vector<size_t> ranks(given.size(), 0);
    for (const auto& axis : plan->axes) ++ranks[axis.input];
    for (size_t i = 0; i < given.size(); ++i) {
      if (given[i].size() != ranks[i]) {
        fail(ErrorCode::InvalidArgument, "input '{}' has rank {}, not {}",
             plan->input_ports[i].name, ranks[i], given[i].size());
      }
    }
    for (const auto& axis : plan->axes) {
      const int64_t value = given[axis.input][axis.axis];
      if (value < axis.range.lower || value > axis.range.upper) {
        fail(ErrorCode::InvalidArgument, "input '{}': axis {} takes {} to {}, not {}",
             plan->input_ports[axis.input].name, axis.axis, axis.range.lower, axis.range.upper,
             value);
      }
      if (axis.dim.is_constant()) continue;
      symbols[axis.dim.symbols().front()->id] = value;
    }
  }

  void check_constraints() const {
    for (const mil::Constraint& constraint : plan->constraints) {
      const int64_t a = evaluate(constraint.a), b = evaluate(constraint.b);
      const bool holds = constraint.kind == mil::Constraint::Kind::Equal ? a == b : a >= b;
      if (!holds) {
        fail(ErrorCode::InvalidArgument, "{}: {} is {}, {} is {}", constraint.what,
             constraint.a.to_string(), a, constraint.b.to_string(), b);
      }
    }
  }

  // No operand leaves its buffer, whatever the shape rules promised.
  void check_extent(const Address& address) const {
    const Operand& operand = operands[address.operand];
    const auto buffer = static_cast<size_t>(address.view->buffer);
    if (lies_inside(operand, offsets[address.operand], extents[buffer])) return;
    fail(ErrorCode::InvalidArgument, "{}: {} at {} leaves a value of {} elements",
         address.step != nullptr ? address.step->name() : "an output",
         mil::to_string(address.view->shape), offsets[address.operand], extents[buffer]);
  }

  void resolve() {
    for (const Patch& patch : patches) *patch.target = evaluate(*patch.dim);
    for (const Address& address : addresses) {
      Operand& operand = operands[address.operand];
      operand.data = bases[static_cast<size_t>(address.view->buffer)] +
                     offsets[address.operand] * element_size(operand.storage);
    }
  }
  void check_extents() const {
    for (const Address& address : addresses) check_extent(address);
  }

  size_t first_input() const {
    return operands.size() - plan->output_views.size() - plan->input_views.size();
  }

  // Elements of inputs that positions and sizes depend on: known only when they have been written.
  void take_values() {
    for (const PlanImpl::InputValue& value : plan->values) {
      const int32_t number = operands[first_input() + value.input].ints()[value.element];
      if (number < 0) {
        fail(ErrorCode::InvalidArgument, "element {} of input '{}' is {}; it takes 0 or more",
             value.element, plan->input_ports[value.input].name, number);
      }
      const auto [symbol, fresh] = symbols.try_emplace(value.symbol, number);
      resolved = resolved && !fresh && symbol->second == number;
      symbol->second = number;
    }
    if (resolved) return;
    check_constraints();
    resolve();
    check_extents();
    resolved = true;
  }
};

Execution::Execution(std::shared_ptr<const Plan> plan, ThreadPool& pool)
    : impl_(std::make_unique<Impl>(std::static_pointer_cast<const PlanImpl>(std::move(plan)),
                                   pool)) {}
Execution::Execution(Execution&&) noexcept = default;
Execution::~Execution() = default;

const Plan& Execution::plan() const {
  return *impl_->plan;
}

void Execution::bind(const std::vector<std::vector<int64_t>>& shapes, State& state) {
  Impl& impl = *impl_;
  if (impl.state == &state && impl.shapes == shapes) return;
  impl.shapes.clear();  // bound again only if all below succeeds
  impl.set_symbols(shapes);
  const bool waits_for_values = !impl.plan->values.empty();
  if (!waits_for_values) impl.check_constraints();
  for (size_t i = 0; i < impl.plan->buffers.size(); ++i) {
    const Buffer& buffer = impl.plan->buffers[i];
    if (buffer.kind != Buffer::Kind::State) continue;
    const auto found = state.buffers_.find(buffer.name);
    if (found == state.buffers_.end())
      fail(ErrorCode::InvalidArgument, "there is no state '{}'", buffer.name);
    const int64_t bytes = buffer.elements.constant() * element_size(buffer.storage);
    if (static_cast<int64_t>(found->second->memory.size()) != bytes) {
      fail(ErrorCode::InvalidArgument, "state '{}' has {} bytes, the function needs {}",
           buffer.name, found->second->memory.size(), bytes);
    }
    impl.bases[i] = found->second->memory.data();
    impl.extents[i] = buffer.elements.constant();
  }
  impl.resolve();
  if (!waits_for_values) impl.check_extents();
  impl.resolved = !waits_for_values;
  impl.state = &state;
  impl.shapes = shapes;
}

std::span<float> Execution::float_input(size_t index) {
  const Operand& operand = impl_->operands.at(impl_->first_input() + index);
  return {operand.floats(), static_cast<size_t>(operand.size())};
}

MutableByteSpan Execution::input_bytes(size_t index) {
  const Operand& operand = impl_->operands.at(impl_->first_input() + index);
  return {operand.data, static_cast<size_t>(operand.size() * element_size(operand.storage))};
}

std::span<int32_t> Execution::int_input(size_t index) {
  const auto floats = float_input(index);  // both have 4 bytes
  return {reinterpret_cast<int32_t*>(floats.data()), floats.size()};
}

void Execution::run() {
  Impl& impl = *impl_;
  impl.take_values();
  std::exception_ptr error;
  const auto& steps = impl.plan->steps;
  for (size_t i = 0; i < steps.size(); ++i) {
    const std::span<const Operand> operands(impl.operands.data() + impl.first_operand[i],
                                            steps[i]->views.size());
    const std::span<const int64_t> scalars(impl.scalars.data() + impl.first_scalar[i],
                                           steps[i]->scalars.size());
    steps[i]->run({operands, scalars, impl.pool, impl.scratch.data(), &error});
  }
  if (error) std::rethrow_exception(error);
}

std::span<const float> Execution::float_output(size_t index) const {
  const Operand& operand =
      impl_->operands.at(impl_->operands.size() - impl_->plan->output_views.size() + index);
  return {operand.floats(), static_cast<size_t>(operand.size())};
}

std::span<const int32_t> Execution::int_output(size_t index) const {
  const auto floats = float_output(index);
  return {reinterpret_cast<const int32_t*>(floats.data()), floats.size()};
}

std::vector<int64_t> Execution::output_shape(size_t index) const {
  const Operand& operand =
      impl_->operands.at(impl_->operands.size() - impl_->plan->output_views.size() + index);
  return {operand.shape, operand.shape + operand.rank};
}

}  // namespace pippin::engine
