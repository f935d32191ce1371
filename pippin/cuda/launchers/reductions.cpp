// Launchers of reductions of rows.
#include <map>
#include <string_view>

#include "pippin/cuda/launchers/launchers.h"
#include "pippin/cuda/launchers/row_grid.h"
#include "pippin/mil/data_type.h"

namespace pippin::cuda {
namespace {

using engine::Operand;
using engine::Storage;
using kernels::ReduceOp;

class ReduceLauncher : public Launcher {
 public:
  ReduceLauncher(Reduction op, bool is_signed, int bits)
      : op_(op), is_signed_(is_signed), bits_(bits) {}
  void add(const LaunchContext& context, std::vector<Launch>& launches) const override {
    const Operand& y = context.operands[0];
    const Operand& x = context.operands[1];
    if (x.shape[0] == 0) return;
    const ReduceArgs args{y.data,     x.data, rows_args(y, x), op_, x.storage == Storage::I32,
                          is_signed_, bits_};
    launches.push_back(row_launch(Kernel::reduce, args));
  }

 private:
  Reduction op_;
  bool is_signed_;
  int bits_;
};

class ArgLauncher : public Launcher {
 public:
  explicit ArgLauncher(bool smallest) : smallest_(smallest) {}
  void add(const LaunchContext& context, std::vector<Launch>& launches) const override {
    const Operand& y = context.operands[0];
    const Operand& x = context.operands[1];
    if (x.shape[0] == 0) return;
    const ArgArgs args{y.ints(), x.data, rows_args(y, x), x.storage == Storage::I32, smallest_};
    launches.push_back(row_launch(Kernel::arg, args));
  }

 private:
  bool smallest_;
};

Reduction reduction_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::Sum:
      return Reduction::Sum;
    case ReduceOp::Mean:
      return Reduction::Mean;
    case ReduceOp::Max:
      return Reduction::Max;
    case ReduceOp::Min:
      return Reduction::Min;
    case ReduceOp::SumOfSquares:
      return Reduction::SumOfSquares;
    case ReduceOp::LogSumExp:
      return Reduction::LogSumExp;
  }
  return Reduction::Sum;
}

}  // namespace

LauncherPointer make_launcher_of(const engine::ArgNode& node, const LauncherSource&) {
  return std::make_unique<ArgLauncher>(node.op == ReduceOp::Min);
}
LauncherPointer make_launcher_of(const engine::FoldNode& node, const LauncherSource& source) {
  static const std::map<std::string_view, Reduction> names = {
      {"reduce_l1_norm", Reduction::L1},     {"reduce_l2_norm", Reduction::L2},
      {"reduce_log_sum", Reduction::LogSum}, {"reduce_log_sum_exp", Reduction::LogSumExp},
      {"reduce_max", Reduction::Max},        {"reduce_mean", Reduction::Mean},
      {"reduce_min", Reduction::Min},        {"reduce_prod", Reduction::Product},
      {"reduce_sum", Reduction::Sum},        {"reduce_sum_square", Reduction::SumOfSquares},
  };
  const auto found = names.find(node.name);
  const bool integers = source.node.views[0].storage == Storage::I32;
  if (found == names.end() || (integers && mil::is_float(node.type))) return nullptr;
  return std::make_unique<ReduceLauncher>(found->second, mil::is_signed_integer(node.type),
                                          integers ? mil::bit_width(node.type) : 0);
}
LauncherPointer make_launcher_of(const engine::ReduceNode& node, const LauncherSource&) {
  return std::make_unique<ReduceLauncher>(reduction_of(node.op), false, 0);
}

}  // namespace pippin::cuda
