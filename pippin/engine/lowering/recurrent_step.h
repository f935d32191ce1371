// Recurrent layers: lstm, gru and rnn, step by step over the products of all inputs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pippin/engine/run/step.h"
#include "pippin/kernels/dot/dot.h"
#include "pippin/kernels/elementwise/elementwise.h"

namespace pippin::engine {

enum class Cell { Rnn, Gru, GruResetAfter, Lstm };

// How many gates the weights have rows for.
constexpr int64_t num_gates(Cell cell) {
  return cell == Cell::Lstm ? 4 : cell == Cell::Rnn ? 1 : 3;
}

struct RecurrentFunction {
  kernels::UnaryOp op = kernels::UnaryOp::Tanh;
  float alpha = 0, beta = 0;
};

// views: y [T or 1, N, width], the last h [N, width], the last c of an lstm like it, and working
// memory [directions, 3, N, hidden], all written; the first h and c; then what `directions` name.
// All but the weights are fp32, all without gaps.
class RecurrentStep : public Step {
 public:
  struct Direction {
    size_t gates;                          // [T * N, gates * hidden]: the inputs' part of them
    size_t weight;                         // [gates * hidden, hidden], fp32, fp16 or bf16
    std::optional<size_t> bias, peephole;  // [gates * hidden], [3 * hidden]
    bool reverse;
    bool in_order_of_sequence;  // else y has the order of processing
  };
  struct Layer {
    Cell cell = Cell::Rnn;
    RecurrentFunction activation, gate, of_cell;
    float clip = 0;  // of c; infinite: no limit
    bool sequence = false;
    std::vector<Direction> directions;
  };

  RecurrentStep(const CpuFeatures& cpu, std::string name, kernels::WeightType weights, Layer layer);
  std::string name() const override { return name_ + " (" + dot_.name + ")"; }
  int64_t scratch_bytes() const override;
  int64_t weight_bytes() const override;
  void run(const StepContext& context) const noexcept override;

 private:
  struct Part;  // some sequences and some of the hidden units
  struct Row;   // one sequence of them
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
  std::string name_;
  Layer layer_;
  size_t written_;
};

}  // namespace pippin::engine
