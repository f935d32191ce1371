// ExpertsNode: one launch lists the rows of each expert, then products take a row of x each.
#include <algorithm>
#include <utility>

#include "pippin/base/numbers/checked.h"
#include "pippin/cuda/kernels/experts_args.h"
#include "pippin/cuda/launchers/dot_launches.h"
#include "pippin/cuda/launchers/launchers.h"

namespace pippin::cuda {
namespace {

using engine::ExpertsNode;
using engine::Operand;

unsigned threads_of(int64_t columns) {
  return static_cast<unsigned>(std::clamp<int64_t>(ceil_div<int64_t>(columns, 32), 1, 8) * 32);
}

class ExpertsLauncher : public Launcher {
 public:
  ExpertsLauncher(const ExpertsNode& node, DeviceMatrix gate, DeviceMatrix up, DeviceMatrix down,
                  const LauncherSource& source)
      : node_(node),
        gate_(std::move(gate)),
        up_(std::move(up)),
        down_(std::move(down)),
        limits_(source.limits),
        hidden_way_(dot_way(gate_, gate_.k, source)),
        up_way_(dot_way(up_, up_.k, source)),
        down_way_(dot_way(down_, down_.k, source)),
        most_rows_(source.node.views[1].shape[0].upper()),
        candidates_(source.node.views[2].shape[1].upper()) {}

  int row_axis() const override { return node_.has_indices ? -1 : 0; }
  int64_t scratch_bytes() const override { return scratch_bytes_of(most_rows_); }
  int64_t scratch_bytes_of(int64_t rows) const override {
    return Memory(*this, rows, candidates_).all;
  }
  // As if all experts were read.
  int64_t weight_bytes() const override { return gate_.bytes() + up_.bytes() + down_.bytes(); }

  void add(const LaunchContext& context, std::vector<Launch>& launches) const override {
    const Operand& out = context.operands[0];
    if (out.size() == 0) return;
    const int64_t rows = out.shape[0];
    const Run run(*this, context, rows, context.operands[2].shape[1]);
    add_pairs(run, launches);
    add_hidden(run, launches);
    add_down(run, launches);
    ExpertSumArgs sum{};
    sum.pairs = run.at<ExpertPair>(run.memory.pairs);
    sum.places = run.at<int32_t>(run.memory.places);
    sum.results = run.at(run.memory.results);
    sum.bias = node_.down_bias ? bias(run, 2) : nullptr;
    sum.out = out.floats();
    sum.out_stride = out.strides[0];
    sum.n = node_.down.n;
    sum.candidates = static_cast<int32_t>(run.candidates);
    sum.weights_scale_input = node_.weights_scale_input;
    launches.push_back(
        Launch::of(Kernel::expert_sum, sum, ceil_div<int64_t>(sum.n, 128), 128, 0, rows));
  }

 private:
  // Places in scratch memory.
  struct Memory {
    int64_t most_pairs;
    int64_t count = 0, pairs = 0, places = 0, gate = 0, up = 0, results = 0, rounded = 0;
    int64_t all = 0;

    Memory(const ExpertsLauncher& self, int64_t rows, int64_t candidates) {
      const ExpertsNode& node = self.node_;
      const bool known = node.chosen > 0 && !node.has_indices;
      most_pairs = rows * (known ? std::min(node.chosen, candidates) : candidates);
      const auto place = [&](int64_t& at, int64_t bytes) {
        at = all;
        all += align_up<int64_t>(bytes, 256);
      };
      place(count, 4);
      place(pairs, most_pairs * static_cast<int64_t>(sizeof(ExpertPair)));
      place(places, rows * candidates * 4);
      place(gate, most_pairs * node.gate.n * 4);
      place(up, most_pairs * node.gate.n * 4);
      place(results, most_pairs * node.down.n * 4);
      place(rounded, std::max({dot_scratch(self.hidden_way_, rows, node.gate.k),
                               dot_scratch(self.up_way_, rows, node.gate.k),
                               dot_scratch(self.down_way_, 1, node.down.k, most_pairs)}));
    }
  };
  struct Run {
    const LaunchContext& context;
    int64_t rows, candidates;
    Memory memory;

    Run(const ExpertsLauncher& self, const LaunchContext& all, int64_t num_rows,
        int64_t num_candidates)
        : context(all),
          rows(num_rows),
          candidates(num_candidates),
          memory(self, num_rows, num_candidates) {}
    template <typename T = float>
    T* at(int64_t place) const {
      return reinterpret_cast<T*>(context.scratch + place);
    }
  };

  // Of gate, up, down.
  const float* bias(const Run& run, int which) const {
    size_t place = 3 + (node_.has_indices ? 1 : 0);
    if (which > 0 && node_.gate_bias) ++place;
    if (which > 1 && node_.up_bias) ++place;
    return run.context.operands[place].floats();
  }

  void add_pairs(const Run& run, std::vector<Launch>& launches) const {
    const Operand& weights = run.context.operands[2];
    ExpertPairsArgs args{};
    args.weights = weights.floats();
    args.indices = node_.has_indices ? run.context.operands[3].ints() : nullptr;
    args.pairs = run.at<ExpertPair>(run.memory.pairs);
    args.num_pairs = run.at<int32_t>(run.memory.count);
    args.places = run.at<int32_t>(run.memory.places);
    args.failed = run.context.failed;
    args.row_stride = weights.strides[0];
    args.candidate_stride = weights.strides[1];
    args.rows = static_cast<int32_t>(run.rows);
    args.candidates = static_cast<int32_t>(run.candidates);
    args.experts = static_cast<int32_t>(node_.experts);
    args.most_pairs = static_cast<int32_t>(run.memory.most_pairs);
    launches.push_back(
        Launch::of(Kernel::expert_pairs, args, 1, threads_of(run.rows * run.candidates), 128));
  }

  DotRun run_of(const Run& run, const DeviceMatrix& matrix, int64_t n, float* y) const {
    DotRun dot;
    dot.m = 1;
    dot.k = matrix.k;
    dot.batches = run.memory.most_pairs;
    dot.w_batch_bytes = n * matrix.row_bytes;
    dot.y_batch = n;
    dot.pairs = run.at<ExpertPair>(run.memory.pairs);
    dot.num_pairs = run.at<int32_t>(run.memory.count);
    add_product(dot, matrix, n, y);
    return dot;
  }
  static void add_product(DotRun& dot, const DeviceMatrix& matrix, int64_t n, float* y) {
    DotProduct product{};
    matrix.describe(product);
    product.n = static_cast<int32_t>(n);
    product.y = y;
    product.y_stride = n;
    dot.products.push_back(product);
  }
  void multiply(DotWay way, const Run& run, const DotRun& dot, const DeviceMatrix& matrix,
                std::vector<Launch>& launches) const {
    add_dot(way, dot, matrix, limits_, run.at<std::byte>(run.memory.rounded), launches);
  }

  void add_hidden(const Run& run, std::vector<Launch>& launches) const {
    const Operand& x = run.context.operands[1];
    const auto set_x = [&](DotRun& dot) {
      dot.x = x.floats();
      dot.x_stride = x.strides[0];
      dot.x_rows = run.rows;
      dot.pairs_share_x = true;
    };
    const int64_t n = node_.gate.n;
    float* const gate = run.at(run.memory.gate);
    float* const up = run.at(run.memory.up);
    DotRun dot = run_of(run, gate_, n, gate);
    set_x(dot);
    const bool together = gate_.same_kernel(up_) && gate_.row_bytes == up_.row_bytes;
    if (together) add_product(dot, up_, n, up);
    multiply(hidden_way_, run, dot, gate_, launches);
    if (!together) {
      DotRun other = run_of(run, up_, n, up);
      set_x(other);
      multiply(up_way_, run, other, up_, launches);
    }
    ExpertGateArgs args{};
    args.pairs = dot.pairs;
    args.num_pairs = dot.num_pairs;
    args.gate = gate;
    args.up = up;
    args.gate_bias = node_.gate_bias ? bias(run, 0) : nullptr;
    args.up_bias = node_.up_bias ? bias(run, 1) : nullptr;
    args.n = n;
    args.limit = node_.limit.value_or(0);
    args.has_limit = node_.limit.has_value();
    args.up_shift = node_.up_shift;
    args.weights_scale_input = node_.weights_scale_input;
    args.activation = node_.activation;
    launches.push_back(Launch::of(Kernel::expert_gate, args, run.memory.most_pairs, threads_of(n)));
  }

  void add_down(const Run& run, std::vector<Launch>& launches) const {
    DotRun dot = run_of(run, down_, node_.down.n, run.at(run.memory.results));
    dot.x = run.at(run.memory.gate);
    dot.x_stride = dot.x_batch = node_.gate.n;
    multiply(down_way_, run, dot, down_, launches);
  }

  const ExpertsNode& node_;
  DeviceMatrix gate_, up_, down_;
  Limits limits_;
  DotWay hidden_way_, up_way_, down_way_;
  int64_t most_rows_, candidates_;
};

}  // namespace

LauncherPointer make_launcher_of(const ExpertsNode& node, const LauncherSource& source) {
  std::vector<DeviceMatrix> matrices;
  matrices.reserve(3);
  for (const auto* stack : {&node.gate, &node.up, &node.down}) {
    auto matrix = upload_stack(*stack, source.options.cpu, source.weights);
    if (!matrix) return nullptr;
    matrices.push_back(std::move(*matrix));
  }
  return std::make_unique<ExpertsLauncher>(node, std::move(matrices[0]), std::move(matrices[1]),
                                           std::move(matrices[2]), source);
}

}  // namespace pippin::cuda
