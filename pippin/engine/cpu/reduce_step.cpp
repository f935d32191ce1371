// Reductions of rows.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "pippin/engine/cpu/row_loop.h"
#include "pippin/engine/cpu/steps.h"
#include "pippin/mil/tensor.h"

namespace pippin::engine {
namespace {

using kernels::ReduceOp;
using kernels::RowsArgs;
using kernels::RowsKernels;

class ReduceStep : public Step {
 public:
  ReduceStep(const CpuFeatures& cpu, ReduceOp op) : kernels_(kernels::choose_rows(cpu)), op_(op) {}
  void run(const StepContext& context) const noexcept override {
    run_row_shares(context, [&](const RowsArgs& args) { kernels_.reduce(op_, args); });
  }

 private:
  const RowsKernels& kernels_;
  ReduceOp op_;
};

// The position of the largest (or smallest) element of each row, the first of equals: the kernel
// finds the extreme, then a search finds its position.
class ArgStep : public Step {
 public:
  ArgStep(const CpuFeatures& cpu, ReduceOp op) : kernels_(kernels::choose_rows(cpu)), op_(op) {}
  void run(const StepContext& context) const noexcept override {
    run_row_shares(context, [&](const RowsArgs& args) {
      auto* indices = reinterpret_cast<int32_t*>(args.y);  // y has integers
      for (int64_t i = 0; i < args.m; ++i) {
        const float* x = args.x + i * args.x_stride;
        indices[i * args.y_stride] = context.operands[1].storage == Storage::F32
                                         ? index_in(x, args.n)
                                         : first_best(reinterpret_cast<const int32_t*>(x), args.n);
      }
    });
  }

 private:
  int32_t index_in(const float* x, int64_t n) const {
    float extreme = 0;
    kernels_.reduce(op_, {x, n, &extreme, 1, 1, n});
    if (!std::isnan(extreme)) return static_cast<int32_t>(std::find(x, x + n, extreme) - x);
    return first_best(x, n);
  }
  // A NaN at the front is the result; others are skipped.
  template <typename T>
  int32_t first_best(const T* x, int64_t n) const {
    int64_t best = 0;
    for (int64_t i = 1; i < n; ++i) {
      if (op_ == ReduceOp::Max ? x[i] > x[best] : x[i] < x[best]) best = i;
    }
    return static_cast<int32_t>(best);
  }

  const RowsKernels& kernels_;
  ReduceOp op_;
};

// Reductions that are one sum or product in double precision, and all reductions of integers, which
// floats would not hold.
template <typename T>
using Fold = double (*)(const T* x, int64_t n);

// Combines term(x[i]) in four independent chains.
template <typename T, typename Term, typename Combine>
double folded(const T* x, int64_t n, double start, Term term, Combine combine) {
  std::array<double, 4> chains = {start, start, start, start};
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    for (size_t k = 0; k < 4; ++k) {
      chains[k] = combine(chains[k], term(static_cast<double>(x[i + static_cast<int64_t>(k)])));
    }
  }
  for (; i < n; ++i) chains[0] = combine(chains[0], term(static_cast<double>(x[i])));
  return combine(combine(chains[0], chains[1]), combine(chains[2], chains[3]));
}

constexpr auto kItself = [](double v) { return v; };
constexpr auto kSquare = [](double v) { return v * v; };
constexpr auto kPlus = [](double a, double b) { return a + b; };

template <typename T>
double sum(const T* x, int64_t n) {
  return folded(x, n, 0, kItself, kPlus);
}
template <typename T>
double sum_of_squares(const T* x, int64_t n) {
  return folded(x, n, 0, kSquare, kPlus);
}
template <typename T>
double largest(const T* x, int64_t n) {
  return folded(x, n, -HUGE_VAL, kItself, [](double a, double b) { return std::max(a, b); });
}
template <typename T>
double smallest(const T* x, int64_t n) {
  return folded(x, n, HUGE_VAL, kItself, [](double a, double b) { return std::min(a, b); });
}

// By the op's name. Reductions that have a float kernel in kernels/rows are here for integers only.
template <typename T>
Fold<T> find_fold(std::string_view type) {
  static const std::map<std::string_view, Fold<T>> folds = [] {
    std::map<std::string_view, Fold<T>> table = {
        {"reduce_l1_norm",
         [](const T* x, int64_t n) {
           return folded(
               x, n, 0, [](double v) { return std::abs(v); }, kPlus);
         }},
        {"reduce_l2_norm", [](const T* x, int64_t n) { return std::sqrt(sum_of_squares(x, n)); }},
        {"reduce_log_sum", [](const T* x, int64_t n) { return std::log(sum(x, n)); }},
        {"reduce_prod", [](const T* x, int64_t n) {
           return folded(x, n, 1, kItself, [](double a, double b) { return a * b; });
         }}};
    if (std::is_integral_v<T>) {
      table["reduce_sum"] = sum<T>;
      table["reduce_sum_square"] = sum_of_squares<T>;
      table["reduce_max"] = largest<T>;
      table["reduce_min"] = smallest<T>;
      table["reduce_mean"] = [](const T* x, int64_t n) {
        return sum(x, n) / static_cast<double>(n);
      };
      table["reduce_log_sum_exp"] = [](const T* x, int64_t n) {
        const double most = largest(x, n);
        if (std::isinf(most)) return most;
        return most + std::log(folded(
                          x, n, 0, [most](double v) { return std::exp(v - most); }, kPlus));
      };
    }
    return table;
  }();
  const auto found = folds.find(type);
  return found == folds.end() ? nullptr : found->second;
}

template <typename T>
class FoldStep : public Step {
 public:
  explicit FoldStep(const FoldNode& node) : fold_(find_fold<T>(node.name)), type_(node.type) {}
  void run(const StepContext& context) const noexcept override {
    run_row_shares(context, [&](const RowsArgs& args) {
      for (int64_t i = 0; i < args.m; ++i) {
        const T* x = reinterpret_cast<const T*>(args.x) + i * args.x_stride;
        const double value = fold_(x, args.n);
        reinterpret_cast<T*>(args.y)[i * args.y_stride] =
            static_cast<T>(std::is_integral_v<T> ? mil::round_to_type(value, type_) : value);
      }
    });
  }

 private:
  Fold<T> fold_;
  mil::DataType type_;
};

}  // namespace

StepPointer make_step_of(const ReduceNode& node, const StepSource& source) {
  return std::make_unique<ReduceStep>(source.cpu(), node.op);
}
StepPointer make_step_of(const ArgNode& node, const StepSource& source) {
  return std::make_unique<ArgStep>(source.cpu(), node.op);
}
StepPointer make_step_of(const FoldNode& node, const StepSource& source) {
  if (source.node.views[0].storage == Storage::F32) return std::make_unique<FoldStep<float>>(node);
  return std::make_unique<FoldStep<int32_t>>(node);
}

}  // namespace pippin::engine
