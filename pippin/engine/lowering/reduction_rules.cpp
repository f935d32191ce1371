// Reductions over axes.
#include <algorithm>
#include <numeric>

#include "pippin/base/error.h"
#include "pippin/engine/lowering/axes.h"
#include "pippin/engine/lowering/planes.h"
#include "pippin/engine/lowering/rules.h"

namespace pippin::engine {
namespace {

using kernels::ReduceOp;
using mil::Dim;

constexpr int64_t kMostPlaces = 1 << 12;  // along an axis; a window keeps pointers to all of them

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

void fold(Builder& builder, const mil::Operation& operation) {
  const mil::ValueInfo& output = builder.info(operation.output());
  const Storage storage = run_storage(output.type);
  const View x = builder.view_as(builder.view(operation, "x"), storage);
  const View rows = reduced_rows(builder, x, axes_param(builder, operation, x.rank()));
  const View y = builder.allocate(storage, output.shape);
  builder.emit(FoldNode{operation.type(), output.type}, {column(y), rows});
  builder.define_output(operation, y);
}

// The mean over all places of maps with channels last is one window of each channel.
bool reduce_channels_last(Builder& builder, const mil::Operation& operation, const View& x,
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
  builder.emit(PlaneNode{ChannelsLastWindowNode{operation.type(), WindowOp::Average, windows}, {}},
               {place, planes});
  builder.define_output(operation, y);
  return true;
}

template <ReduceOp op>
void reduce(Builder& builder, const mil::Operation& operation) {
  const mil::ValueInfo& output = builder.info(operation.output());
  if (!mil::is_float(output.type)) return fold(builder, operation);
  const View x = builder.floats(operation, "x");
  const std::set<int64_t> axes = axes_param(builder, operation, x.rank());
  if (op == ReduceOp::Mean && reduce_channels_last(builder, operation, x, axes)) return;
  const View rows = reduced_rows(builder, x, axes);
  const View y = builder.allocate(Storage::F32, output.shape);
  builder.emit(ReduceNode{operation.type(), op}, {column(y), rows});
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
  builder.emit(ArgNode{operation.type(), op}, {column(y), rows});
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
