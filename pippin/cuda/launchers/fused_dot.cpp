// A norm, products and the gate of an MLP: one launch for a row of x, two for several rows.
#include <algorithm>
#include <utility>

#include "pippin/base/numbers/checked.h"
#include "pippin/cuda/kernels/dot_prepared_args.h"
#include "pippin/cuda/launchers/dot_launches.h"
#include "pippin/cuda/launchers/parts_launcher.h"

namespace pippin::cuda {
namespace {

using engine::FusedNode;
using engine::Operand;

// By form, type of scales, shifts.
constexpr Kernel kKernels[2][2][2] = {
    {{Kernel::dot_prepared_int4, Kernel::dot_prepared_int4_shifts},
     {Kernel::dot_prepared_int4_f32, Kernel::dot_prepared_int4_f32_shifts}},
    {{Kernel::dot_prepared_int8, Kernel::dot_prepared_int8_shifts},
     {Kernel::dot_prepared_int8_f32, Kernel::dot_prepared_int8_f32_shifts}}};

void add_prepared(const DotRun& run, const MatrixFacts& facts, PreparedDotArgs args,
                  std::vector<Launch>& launches) {
  constexpr int64_t kWarps = 8, kRows = 2;  // of a warp
  const bool is_gated = args.gated != nullptr;
  const Kernel kernel = kKernels[facts.form == MatrixForm::Int8 ? 1 : 0]
                                [facts.numbers.is_float ? 1 : 0][facts.numbers.has_shifts ? 1 : 0];
  const int64_t row_bytes = (ceil_div<int64_t>(run.k, 32) + 1) / 2 * 80;  // rounded_row_bytes()
  for (size_t first = 0; first < run.products.size(); first += DotArgs::kMostProducts) {
    args.dot = dot_args(run, facts, first, is_gated ? kWarps : kRows * kWarps, 1);
    if (is_gated) take_gate(args.dot, kWarps);
    if (args.dot.blocks == 0) continue;
    launches.push_back(Launch::of(kernel, args, args.dot.blocks, kWarps * 32,
                                  static_cast<size_t>(row_bytes + (32 + kRows * 33 * kWarps) * 4)));
  }
}

class FusedDotLauncher : public PartsLauncher {
 public:
  FusedDotLauncher(const FusedNode& node, std::vector<LauncherPointer> parts,
                   std::vector<DeviceMatrix> matrices, const MatrixFacts& facts,
                   const Limits& limits, DotWay way)
      : PartsLauncher(node, std::move(parts)),
        matrices_(std::move(matrices)),
        facts_(facts),
        norm_(node.parts.front().as<engine::RmsNormNode>()),
        dot_(*node.parts[norm_ != nullptr ? 1 : 0].as<engine::DotNode>()),
        gate_(node.parts.back().as<engine::GateNode>()),
        limits_(limits),
        way_(way) {}

  int row_axis() const override { return 0; }

 protected:
  bool add_fused(const std::vector<Operands>& parts, std::byte* scratch,
                 std::vector<Launch>& launches) const override {
    if (way_ == DotWay::Exact) return false;
    const Operands& of_dot = parts[norm_ != nullptr ? 1 : 0];
    DotRun run = dot_run(dot_, matrices_, of_dot);
    PreparedDotArgs args{};
    const Operand* x = &of_dot[dot_.products.size()];
    if (norm_ != nullptr) {
      const Operands& of_norm = parts.front();
      x = &of_norm[1];
      run.x = x->floats();
      run.x_stride = x->strides[0];
      args.has_norm = true;
      args.epsilon = norm_->epsilon;
      if (of_norm.size() > 2) args.gamma = of_norm[2].floats();
    }
    if (!may_fuse(run)) return false;
    if (gate_ != nullptr) {
      const Operand& y = parts.back()[0];
      if (may_overlap(y, *x)) return false;
      args.gated = y.floats();
      args.gated_stride = y.strides[0];
      args.activation = gate_->op;
    } else {
      for (size_t i = 0; i < dot_.products.size(); ++i) {
        if (may_overlap(of_dot[i], *x)) return false;
      }
    }
    if (way_ == DotWay::Halves) return add_halves_dot(run, facts_, args, scratch, launches);
    if (run.m > 1) {
      add_rounded_dot(run, facts_, limits_, args, scratch, launches);
    } else {
      add_prepared(run, facts_, args, launches);
    }
    return true;
  }

 private:
  bool may_fuse(const DotRun& run) const {
    if (run.m == 0 || run.k == 0) return false;
    if (run.m == 1 && run.k <= kMostPrepared) return true;
    // Exceptions of 12-bit matrices are multiplied by x itself.
    const bool needs_x = norm_ != nullptr && facts_.form == MatrixForm::E4M7;
    const bool has_tiles = way_ == DotWay::Halves || (run.m > 1 && limits_.has_tensor_cores());
    return has_tiles && run.m <= kMostGated && !needs_x;
  }

  std::vector<DeviceMatrix> matrices_;
  MatrixFacts facts_;
  const engine::RmsNormNode* norm_;
  const engine::DotNode& dot_;
  const engine::GateNode* gate_;
  Limits limits_;
  DotWay way_;
};

}  // namespace

LauncherPointer make_fused_dot(const FusedNode& node, std::vector<LauncherPointer> parts,
                               const LauncherSource& source) {
  const auto dot = std::find_if(node.parts.begin(), node.parts.end(), [](const engine::Node& part) {
    return part.as<engine::DotNode>() != nullptr;
  });
  const auto& product = *dot->as<engine::DotNode>();
  const auto facts = facts_of(product, source.options.cpu);
  if (!facts) return nullptr;
  auto matrices = upload_matrices(product, *facts, source);  // those that the part has, too
  if (!matrices) return nullptr;
  const int64_t k = dot->views[product.products.size()].shape[1].upper();
  return std::make_unique<FusedDotLauncher>(node, std::move(parts), std::move(*matrices), *facts,
                                            source.limits, dot_way(*facts, k, source));
}

}  // namespace pippin::cuda
