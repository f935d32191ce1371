// Recurrent layers: lstm, gru and rnn, step by step over the products of all inputs.
#include <algorithm>
#include <cmath>

#include "pippin/engine/cpu/steps.h"
#include "pippin/engine/weights/weight_type.h"
#include "pippin/kernels/dot/dot.h"
#include "pippin/kernels/elementwise/elementwise.h"

namespace pippin::engine {
namespace {

using kernels::BinaryOp;
using kernels::UnaryOp;

constexpr int64_t kSequences = 8;  // sequences in one product
constexpr int64_t kGrain = 16;     // smallest number of hidden units for one thread

// In the working memory: h after even and odd steps, and the reset h of a gru.
constexpr int64_t kEven = 0, kOdd = 1, kGated = 2;

class RecurrentStep : public Step {
 public:
  RecurrentStep(const CpuFeatures& cpu, kernels::WeightType weights, const RecurrentNode& layer);
  std::string kernel_name() const override { return dot_.name; }
  int64_t scratch_bytes() const override;
  int64_t weight_bytes() const override;
  void run(const StepContext& context) const noexcept override;

 private:
  struct Part;  // some of the sequences and some of the hidden units
  struct Row;   // one sequence of a Part
  bool is_lstm() const { return layer_.cell == Cell::Lstm; }
  int64_t hidden() const { return views[written_ - 1].shape[3].constant(); }
  int num_phases() const { return layer_.cell == Cell::Gru ? 2 : 1; }
  void start(const StepContext& context) const noexcept;
  void end(const StepContext& context) const noexcept;
  void advance(const StepContext& context, const Part& part, int64_t step,
               int phase) const noexcept;
  void multiply(const StepContext& context, const Part& part, const float* h, int64_t first,
                int64_t count) const noexcept;
  void rnn(const Row& row) const noexcept;
  void gru_gates(const Row& row) const noexcept;
  void gru(const Row& row) const noexcept;
  void lstm(const Row& row) const noexcept;
  void apply(const RecurrentFunction& function, float* x, int64_t count) const noexcept;
  void combine(kernels::BinaryOp op, const float* a, const float* b, float* y,
               int64_t count) const noexcept;

  const kernels::DotKernel& dot_;
  const kernels::ElementwiseKernels& elementwise_;
  const RecurrentNode& layer_;
  size_t written_;
};

struct RecurrentStep::Part {
  size_t direction;
  Range rows, units;
  float* scratch;  // [rows, gates * units], then [units]
};

// `count` units from `first` on; the gates are stored one after another.
struct RecurrentStep::Row {
  int64_t first, count, hidden;
  float* gates;
  const float* inputs;  // of all units, like the others
  const float* peephole;
  const float* before;
  float *after, *gated, *c, *spare;

  float* gate(int64_t index) const { return gates + index * count; }
  const float* input(int64_t index) const { return inputs + index * hidden + first; }
};

RecurrentStep::RecurrentStep(const CpuFeatures& cpu, kernels::WeightType weights,
                             const RecurrentNode& layer)
    : dot_(kernels::choose_dot(weights, cpu)),
      elementwise_(kernels::choose_elementwise(cpu)),
      layer_(layer),
      written_(layer.num_written()) {}

int64_t RecurrentStep::scratch_bytes() const {
  const int64_t floats = (kSequences * num_gates(layer_.cell) + 1) * hidden();
  return (floats * element_size(Storage::F32) + 63) / 64 * 64;
}

int64_t RecurrentStep::weight_bytes() const {
  int64_t bytes = 0;
  for (const RecurrentNode::Direction& direction : layer_.directions) {
    const View& weight = views[direction.weight];
    bytes += mil::num_elements(weight.shape).upper() * element_size(weight.storage);
  }
  return bytes;
}

void RecurrentStep::apply(const RecurrentFunction& function, float* x,
                          int64_t count) const noexcept {
  elementwise_.unary(function.op, x, x, count, function.alpha, function.beta);
}
void RecurrentStep::combine(BinaryOp op, const float* a, const float* b, float* y,
                            int64_t count) const noexcept {
  elementwise_.binary(op, a, 1, b, 1, y, count);
}

// Copies the initial states, or writes zeros.
void RecurrentStep::start(const StepContext& context) const noexcept {
  const auto& operands = context.operands;
  const Operand &y = operands[0], &h = operands[written_];
  const Operand& work = operands[written_ - 1];
  const int64_t batch = work.shape[2], units = work.shape[3], width = h.shape[1];
  std::fill_n(y.floats(), y.size(), 0.0F);
  for (size_t d = 0; d < layer_.directions.size(); ++d) {
    float* to = work.floats() + static_cast<int64_t>(d) * work.strides[0];
    for (int64_t n = 0; n < batch; ++n) {
      std::copy_n(h.floats() + n * width + static_cast<int64_t>(d) * units, units, to + n * units);
    }
  }
  if (is_lstm()) {
    std::copy_n(operands[written_ + 1].floats(), batch * width, operands[2].floats());
  }
}

void RecurrentStep::end(const StepContext& context) const noexcept {
  const auto& operands = context.operands;
  const Operand &h = operands[1], &work = operands[written_ - 1];
  const int64_t batch = work.shape[2], units = work.shape[3], width = h.shape[1];
  for (size_t d = 0; d < layer_.directions.size(); ++d) {
    const Operand& gates = operands[layer_.directions[d].gates];
    const int64_t steps = batch == 0 ? 0 : gates.shape[0] / batch;
    const float* from = work.floats() + static_cast<int64_t>(d) * work.strides[0] +
                        (steps % 2 == 0 ? kEven : kOdd) * work.strides[1];
    for (int64_t n = 0; n < batch; ++n) {
      std::copy_n(from + n * units, units,
                  h.floats() + n * width + static_cast<int64_t>(d) * units);
    }
  }
}

void RecurrentStep::run(const StepContext& context) const noexcept {
  start(context);
  const Operand& work = context.operands[written_ - 1];
  const int64_t batch = work.shape[2], units = work.shape[3];
  const auto directions = static_cast<int64_t>(layer_.directions.size());
  const int64_t steps =
      batch == 0 ? 0 : context.operands[layer_.directions[0].gates].shape[0] / batch;
  const int threads = context.pool.num_threads();
  const int64_t rows = std::clamp<int64_t>((batch + threads - 1) / threads, 1, kSequences);
  const int64_t blocks = (batch + rows - 1) / rows, jobs = directions * blocks;
  const auto part_of = [&](int64_t job, int thread) {
    const int64_t first = job % blocks * rows;
    auto* scratch = reinterpret_cast<float*>(context.scratch + thread * scratch_bytes());
    return Part{static_cast<size_t>(job / blocks),
                {first, std::min(batch, first + rows)},
                {0, units},
                scratch};
  };
  const auto run_jobs = [&](Range range, int thread) {
    for (int64_t job = range.begin; job < range.end; ++job) {
      const Part part = part_of(job, thread);
      for (int64_t step = 0; step < steps; ++step) {
        for (int phase = 0; phase < num_phases(); ++phase) advance(context, part, step, phase);
      }
    }
  };
  const int64_t products = num_gates(layer_.cell) * units * units;  // of a sequence and a step
  constexpr int64_t kWorthMeeting = int64_t{1} << 16;
  constexpr double kWorthSharing = int64_t{1} << 18;
  const bool together = jobs >= threads;
  const double all = static_cast<double>(products * rows) * static_cast<double>(steps * jobs);
  if (threads == 1 || all < kWorthSharing || (!together && products * rows < kWorthMeeting)) {
    run_jobs(Range{0, jobs}, 0);
  } else if (together) {  // one barrier, at the end
    context.pool.run([&](int part, int parts) { run_jobs(split_range(jobs, part, parts), part); });
  } else {  // a barrier at every step
    for (int64_t job = 0; job < jobs; ++job) {
      for (int64_t step = 0; step < steps; ++step) {
        for (int phase = 0; phase < num_phases(); ++phase) {
          context.pool.run([&](int thread, int parts) {
            Part part = part_of(job, thread);
            part.units = split_range(units, thread, parts, kGrain);
            if (part.units.begin < part.units.end) advance(context, part, step, phase);
          });
        }
      }
    }
  }
  end(context);
}

// The part's rows of the weights' gates [first, first + count), times h.
void RecurrentStep::multiply(const StepContext& context, const Part& part, const float* h,
                             int64_t first, int64_t count) const noexcept {
  const RecurrentNode::Direction& direction = layer_.directions[part.direction];
  const Operand& weight = context.operands[direction.weight];
  const int64_t all = weight.shape[1], units = part.units.end - part.units.begin;
  const int64_t stride = num_gates(layer_.cell) * units;
  const bool whole = units == all;
  for (int64_t gate = first; gate < first + count; gate += whole ? count : 1) {
    const int64_t row = gate * all + part.units.begin;
    kernels::DotArgs args{};
    args.x = h;
    args.x_stride = all;
    args.w = weight.data + row * weight.strides[0] * element_size(weight.storage);
    args.w_stride = weight.strides[0];
    args.bias = direction.bias ? context.operands[*direction.bias].floats() + row : nullptr;
    args.y = part.scratch + gate * units;
    args.y_stride = stride;
    args.m = part.rows.end - part.rows.begin;
    args.n = whole ? count * all : units;
    args.k = all;
    dot_.function(args);
  }
}

void RecurrentStep::advance(const StepContext& context, const Part& part, int64_t step,
                            int phase) const noexcept {
  const RecurrentNode::Direction& direction = layer_.directions[part.direction];
  const Operand &y = context.operands[0], &work = context.operands[written_ - 1];
  const int64_t batch = work.shape[2], hidden = work.shape[3], width = y.shape[2];
  const int64_t gates = num_gates(layer_.cell), units = part.units.end - part.units.begin;
  const int64_t steps = context.operands[direction.gates].shape[0] / batch;
  const int64_t at = direction.reverse ? steps - 1 - step : step;
  const int64_t to = !layer_.sequence ? 0 : direction.in_order_of_sequence ? at : step;
  const int64_t column = static_cast<int64_t>(part.direction) * hidden;
  float* states = work.floats() + static_cast<int64_t>(part.direction) * work.strides[0];
  const float* before = states + (step % 2 == 0 ? kEven : kOdd) * work.strides[1];
  float* after = states + (step % 2 == 0 ? kOdd : kEven) * work.strides[1];
  float* gated = states + kGated * work.strides[1];
  const int64_t first_row = part.rows.begin * hidden;
  if (layer_.cell != Cell::Gru) {
    multiply(context, part, before + first_row, 0, gates);
  } else if (phase == 0) {
    multiply(context, part, before + first_row, 0, 1);
    multiply(context, part, before + first_row, 2, 1);
  } else {
    multiply(context, part, gated + first_row, 1, 1);
  }
  for (int64_t n = part.rows.begin; n < part.rows.end; ++n) {
    Row row{};
    row.first = part.units.begin;
    row.count = units;
    row.hidden = hidden;
    row.gates = part.scratch + (n - part.rows.begin) * gates * units;
    row.inputs = context.operands[direction.gates].floats() + (at * batch + n) * gates * hidden;
    row.peephole = direction.peephole ? context.operands[*direction.peephole].floats() : nullptr;
    row.before = before + n * hidden + row.first;
    row.after = after + n * hidden + row.first;
    row.gated = gated + n * hidden + row.first;
    row.spare = part.scratch + kSequences * gates * units;
    if (is_lstm()) {
      row.c = context.operands[2].floats() + n * width + column + row.first;
      lstm(row);
    } else if (layer_.cell == Cell::Rnn) {
      rnn(row);
    } else if (layer_.cell == Cell::Gru && phase == 0) {
      gru_gates(row);
      continue;
    } else {
      gru(row);
    }
    std::copy_n(row.after, units, y.floats() + (to * batch + n) * width + column + row.first);
  }
}

void RecurrentStep::rnn(const Row& row) const noexcept {
  combine(BinaryOp::Add, row.gates, row.input(0), row.after, row.count);
  apply(layer_.activation, row.after, row.count);
}

// Gates: reset, output, update. Includes the reset h of a gru that resets before the product.
void RecurrentStep::gru_gates(const Row& row) const noexcept {
  float* reset = row.gate(0);
  combine(BinaryOp::Add, reset, row.input(0), reset, row.count);
  apply(layer_.gate, reset, row.count);
  combine(BinaryOp::Mul, reset, row.before, row.gated, row.count);
}

void RecurrentStep::gru(const Row& row) const noexcept {
  float *output = row.gate(1), *update = row.gate(2);
  if (layer_.cell == Cell::GruResetAfter) {
    float* reset = row.gate(0);
    combine(BinaryOp::Add, reset, row.input(0), reset, row.count);
    apply(layer_.gate, reset, row.count);
    combine(BinaryOp::Mul, output, reset, output, row.count);
  }
  combine(BinaryOp::Add, output, row.input(1), output, row.count);
  apply(layer_.activation, output, row.count);
  combine(BinaryOp::Add, update, row.input(2), update, row.count);
  apply(layer_.gate, update, row.count);
  // (1 - update) * output + update * h
  elementwise_.unary(UnaryOp::Linear, update, row.spare, row.count, -1, 1);
  combine(BinaryOp::Mul, row.spare, output, output, row.count);
  combine(BinaryOp::Mul, update, row.before, update, row.count);
  combine(BinaryOp::Add, output, update, row.after, row.count);
}

// Gates: input, forget, output, cell.
void RecurrentStep::lstm(const Row& row) const noexcept {
  const int64_t count = row.count;
  float *input = row.gate(0), *forget = row.gate(1), *output = row.gate(2), *cell = row.gate(3);
  for (int64_t gate = 0; gate < 4; ++gate) {
    combine(BinaryOp::Add, row.gate(gate), row.input(gate), row.gate(gate), count);
  }
  const auto peek = [&](int64_t index, float* gate) {
    if (row.peephole == nullptr) return;
    combine(BinaryOp::Mul, row.peephole + index * row.hidden + row.first, row.c, row.spare, count);
    combine(BinaryOp::Add, gate, row.spare, gate, count);
  };
  peek(0, input);
  peek(1, forget);
  apply(layer_.gate, input, 2 * count);  // and forget
  apply(layer_.of_cell, cell, count);
  combine(BinaryOp::Mul, input, cell, cell, count);
  combine(BinaryOp::Mul, forget, row.c, row.c, count);
  combine(BinaryOp::Add, row.c, cell, row.c, count);
  if (std::isfinite(layer_.clip)) {
    elementwise_.unary(UnaryOp::Clip, row.c, row.c, count, -layer_.clip, layer_.clip);
  }
  peek(2, output);
  apply(layer_.gate, output, count);
  std::copy_n(row.c, count, row.spare);
  apply(layer_.activation, row.spare, count);
  combine(BinaryOp::Mul, output, row.spare, row.after, count);
}

}  // namespace

StepPointer make_step_of(const RecurrentNode& node, const StepSource& source) {
  const Storage weights = source.node.views[node.directions[0].weight].storage;
  return std::make_unique<RecurrentStep>(source.cpu(), weight_type(weights), node);
}

}  // namespace pippin::engine
