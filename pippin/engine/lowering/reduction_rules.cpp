// Reductions over axes.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

#include "pippin/base/error.h"
#include "pippin/engine/cpu/places_step.h"
#include "pippin/engine/cpu/row_loop.h"
#include "pippin/engine/lowering/axes.h"
#include "pippin/engine/lowering/planes.h"
#include "pippin/engine/lowering/rules.h"
#include "pippin/mil/tensor.h"

namespace pippin::engine {
namespace {

using kernels::ReduceOp;
using kernels::RowsArgs;
using kernels::RowsKernels;
using mil::Dim;

constexpr int64_t kMostPlaces = 1 << 12;  // along an axis, of which a window points at all

class ReduceStep : public Step {
 public:
  ReduceStep(const CpuFeatures& cpu, std::string name, ReduceOp op)
      : kernels_(kernels::choose_rows(cpu)), name_(std::move(name)), op_(op) {}
  std::string name() const override { return name_; }
  void run(const StepContext& context) const noexcept override {
    run_row_shares(context, [&](const RowsArgs& args) { kernels_.reduce(op_, args); });
  }

 private:
  const RowsKernels& kernels_;
  std::string name_;
  ReduceOp op_;
};

// Where the largest (or smallest) element of each row is, the first of equals: the extreme is found
// by the kernel for it, and then looked for.
class ArgStep : public Step {
 public:
  ArgStep(const CpuFeatures& cpu, std::string name, ReduceOp op)
      : kernels_(kernels::choose_rows(cpu)), name_(std::move(name)), op_(op) {}
  std::string name() const override { return name_; }
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
  // Nothing is larger than a NaN at the front; others are passed over.
  template <typename T>
  int32_t first_best(const T* x, int64_t n) const {
    int64_t best = 0;
    for (int64_t i = 1; i < n; ++i) {
      if (op_ == ReduceOp::Max ? x[i] > x[best] : x[i] < x[best]) best = i;
    }
    return static_cast<int32_t>(best);
  }

  const RowsKernels& kernels_;
  std::string name_;
  ReduceOp op_;
};

// The reductions that are one sum or product in double precision, and all of them for integers,
// which floats would not hold.
template <typename T>
using Fold = double (*)(const T* x, int64_t n);

// Combines term(x[i]) in four chains.
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

// By the op's name. Those that the kernels of rows have for floats are here for integers alone.
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

// views: y [m, 1], x [m, n], both of T.
template <typename T>
class FoldStep : public Step {
 public:
  FoldStep(std::string name, Fold<T> fold, mil::DataType type)
      : name_(std::move(name)), fold_(fold), type_(type) {}
  std::string name() const override { return name_; }
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
  std::string name_;
  Fold<T> fold_;
  mil::DataType type_;
};

// [m] as [m, 1], so that every result has a row stride.
View column(const View& view) {
  View result = view;
  result.shape = {mil::num_elements(view.shape), Dim(1)};
  result.strides = {Dim(1), Dim(1)};
  return result;
}

// The rows that an operation reduces.
View reduced_rows(Builder& builder, const View& x, const std::set<int64_t>& axes) {
  return builder.matrix(transpose_view(x, axes_last(axes, x.rank())),
                        static_cast<int64_t>(axes.size()));
}

template <typename T>
void fold_rows(Builder& builder, const mil::Operation& operation) {
  const mil::ValueInfo& output = builder.info(operation.output());
  const Storage storage = run_storage(output.type);
  const View x = builder.view_as(builder.view(operation, "x"), storage);
  const View rows = reduced_rows(builder, x, axes_param(builder, operation, x.rank()));
  const View y = builder.allocate(storage, output.shape);
  builder.emit_step<FoldStep<T>>({column(y), rows}, operation.type(),
                                 find_fold<T>(operation.type()), output.type);
  builder.define_output(operation, y);
}

void fold(Builder& builder, const mil::Operation& operation) {
  if (run_storage(builder.info(operation.output()).type) == Storage::F32) {
    fold_rows<float>(builder, operation);
  } else {
    fold_rows<int32_t>(builder, operation);
  }
}

// The mean over all places of maps with channels last is one window of each channel.
bool reduce_places(Builder& builder, const mil::Operation& operation, const View& x,
                   const std::set<int64_t>& axes) {
  const bool spatial = x.rank() > 3 && x.rank() <= kPlaneRank && has_channels_last(x) &&
                       static_cast<int64_t>(axes.size()) == x.rank() - 2 && *axes.begin() == 2;
  const View planes = spatial ? as_planes(x) : x;
  if (!spatial || x.shape[1].lower() < kLeastChannels) return false;
  Windows windows;
  for (size_t i = 0; i < kSpatialAxes; ++i) {
    const auto size = planes.shape[i + 2].try_constant();
    if (!size || *size < 1 || *size > kMostPlaces) return false;
    windows[i].taps.resize(static_cast<size_t>(*size));
    std::iota(windows[i].taps.begin(), windows[i].taps.end(), 0);
  }
  if (!has_few_taps(windows)) return false;
  const View y = builder.allocate(Storage::F32, builder.info(operation.output()).shape);
  const View place = *reshape_view(y, {x.shape[0], x.shape[1], Dim(1), Dim(1), Dim(1)});
  builder.emit_step<ChannelsWindowStep>({place, planes}, builder.cpu(), operation.type(),
                                        WindowOp::Average, windows,
                                        std::array<int64_t, kSpatialAxes>{}, false);
  builder.define_output(operation, y);
  return true;
}

template <ReduceOp op>
void reduce(Builder& builder, const mil::Operation& operation) {
  const mil::ValueInfo& output = builder.info(operation.output());
  if (!mil::is_float(output.type)) return fold(builder, operation);
  const View x = builder.floats(operation, "x");
  const std::set<int64_t> axes = axes_param(builder, operation, x.rank());
  if (op == ReduceOp::Mean && reduce_places(builder, operation, x, axes)) return;
  const View rows = reduced_rows(builder, x, axes);
  const View y = builder.allocate(Storage::F32, output.shape);
  builder.emit_step<ReduceStep>({column(y), rows}, builder.cpu(), operation.type(), op);
  builder.define_output(operation, y);
}

template <ReduceOp op>
void arg_reduce(Builder& builder, const mil::Operation& operation) {
  const mil::ValueInfo& output = builder.info(operation.output());
  const View given = builder.view(operation, "x");
  const int64_t axis = normalize_axis(int_param(builder, operation, "axis"), given.rank());
  const Dim length = given.shape[static_cast<size_t>(axis)];
  if (!length.is_constant() || length.constant() < 1) {  // an empty axis is an error
    fail(ErrorCode::Unsupported, "{}: no kernel for its input", builder.where(operation));
  }
  const View x = is_float(given.storage) ? builder.view_as(given, Storage::F32) : given;
  const View rows = reduced_rows(builder, x, {axis});
  const View y = builder.allocate(Storage::I32, output.shape);
  builder.emit_step<ArgStep>({column(y), rows}, builder.cpu(), operation.type(), op);
  builder.define_output(operation, y);
}

}  // namespace

void add_reduction_rules(Rules& rules) {
  rules["reduce_sum"] = reduce<ReduceOp::Sum>;
  rules["reduce_mean"] = reduce<ReduceOp::Mean>;
  rules["reduce_max"] = reduce<ReduceOp::Max>;
  rules["reduce_min"] = reduce<ReduceOp::Min>;
  rules["reduce_sum_square"] = reduce<ReduceOp::SumOfSquares>;
  rules["reduce_log_sum_exp"] = reduce<ReduceOp::LogSumExp>;
  rules["reduce_argmax"] = arg_reduce<ReduceOp::Max>;
  rules["reduce_argmin"] = arg_reduce<ReduceOp::Min>;
  for (const std::string_view op :
       {"reduce_l1_norm", "reduce_l2_norm", "reduce_log_sum", "reduce_prod"}) {
    rules[op] = fold;
  }
}

}  // namespace pippin::engine
