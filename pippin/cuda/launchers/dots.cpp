// DotNode, BatchedDotNode, StackedDotNode.
#include <algorithm>
#include <optional>
#include <utility>

#include "pippin/cuda/launchers/dot_launches.h"
#include "pippin/cuda/launchers/launchers.h"
#include "pippin/engine/weights/weight_stack.h"

namespace pippin::cuda {
namespace {

using engine::DotNode;
using engine::Operand;

using QuantizedPointer = std::shared_ptr<const engine::QuantizedWeight>;
using NarrowPointer = std::shared_ptr<const engine::E4M7Weight>;

class DotLauncher : public Launcher {
 public:
  // One matrix for each product, or none if they are views.
  DotLauncher(const DotNode& dot, std::vector<DeviceMatrix> matrices, const MatrixFacts& facts,
              const LauncherSource& source)
      : dot_(dot),
        matrices_(std::move(matrices)),
        facts_(facts),
        limits_(source.limits),
        most_rows_(source.node.views[dot.products.size()].shape[0].upper()),
        k_(source.node.views[dot.products.size()].shape[1].upper()),
        way_(dot_way(facts, k_, source)) {}

  int row_axis() const override { return 0; }
  int64_t scratch_bytes() const override { return scratch_bytes_of(most_rows_); }
  int64_t scratch_bytes_of(int64_t rows) const override { return dot_scratch(way_, rows, k_); }
  int64_t weight_bytes() const override {
    int64_t bytes = 0;
    for (const DeviceMatrix& matrix : matrices_) bytes += matrix.bytes();
    return bytes;
  }

  void add(const LaunchContext& context, std::vector<Launch>& launches) const override {
    const DotRun run = dot_run(dot_, matrices_, context.operands);
    if (run.m > 0) add_dot(way_, run, facts_, limits_, context.scratch, launches);
  }

 private:
  const DotNode& dot_;
  std::vector<DeviceMatrix> matrices_;
  MatrixFacts facts_;
  Limits limits_;
  int64_t most_rows_, k_;
  DotWay way_;
};

class BatchedDotLauncher : public Launcher {
 public:
  void add(const LaunchContext& context, std::vector<Launch>& launches) const override {
    const Operand& y = context.operands[0];
    const Operand& x = context.operands[1];
    const Operand& w = context.operands[2];
    if (y.size() == 0) return;
    const int64_t element = engine::element_size(w.storage);
    DotProduct product{};
    product.rows = reinterpret_cast<const unsigned char*>(w.data);
    product.row_bytes = w.strides[1] * element;
    product.n = static_cast<int32_t>(y.shape[2]);
    product.bias = context.operands.size() > 3 ? context.operands[3].floats() : nullptr;
    product.y = y.floats();
    product.y_stride = y.strides[1];
    DotRun run;
    run.products = {product};
    run.x = x.floats();
    run.x_stride = x.strides[1];
    run.m = y.shape[1];
    run.k = x.shape[2];
    run.batches = y.shape[0];
    run.x_batch = x.strides[0];
    run.y_batch = y.strides[0];
    run.w_batch_bytes = w.strides[0] * element;
    run.is_computed = true;
    MatrixFacts facts;
    facts.form = form_of(w.storage);
    add_exact_dot(run, facts, launches);
  }
};

class StackedDotLauncher : public Launcher {
 public:
  StackedDotLauncher(const engine::WeightStack& stack, DeviceMatrix matrix,
                     const LauncherSource& source)
      : stack_(stack),
        matrix_(std::move(matrix)),
        limits_(source.limits),
        way_(dot_way(matrix_, stack.k, source)),
        most_rows_(source.node.x().shape[1].upper()) {}

  int64_t weight_bytes() const override { return matrix_.bytes(); }
  int64_t scratch_bytes() const override {
    return dot_scratch(way_, most_rows_, stack_.k, stack_.count);
  }

  void add(const LaunchContext& context, std::vector<Launch>& launches) const override {
    const Operand& y = context.operands[0];
    const Operand& x = context.operands[1];
    if (y.size() == 0) return;
    DotProduct product{};
    matrix_.describe(product);
    product.n = static_cast<int32_t>(stack_.n);
    product.y = y.floats();
    product.y_stride = y.strides[1];
    DotRun run;
    run.products = {product};
    run.x = x.floats();
    run.x_stride = x.strides[1];
    run.m = x.shape[1];
    run.k = stack_.k;
    run.batches = stack_.count;
    run.x_batch = x.strides[0];
    run.y_batch = y.strides[0];
    run.w_batch_bytes = stack_.n * matrix_.row_bytes;
    add_dot(way_, run, matrix_, limits_, context.scratch, launches);
  }

 private:
  const engine::WeightStack& stack_;
  DeviceMatrix matrix_;
  Limits limits_;
  DotWay way_;
  int64_t most_rows_;
};

}  // namespace

std::optional<MatrixFacts> facts_of(const DotNode& dot, const CpuFeatures& cpu) {
  const engine::Weight& weight = dot.products.front().weight;
  if (const auto* quantized = std::get_if<QuantizedPointer>(&weight)) {
    return matrix_facts(MatrixSource(**quantized, cpu));
  }
  MatrixFacts facts;
  facts.form = MatrixForm::E4M7;
  if (const auto* dense = std::get_if<engine::DenseWeight>(&weight)) {
    if (dense->is_panels) return std::nullopt;
    facts.form = form_of(dense->storage);
  }
  return facts;
}

std::optional<std::vector<DeviceMatrix>> upload_matrices(const DotNode& dot,
                                                         const MatrixFacts& facts,
                                                         const LauncherSource& source) {
  std::vector<DeviceMatrix> matrices;
  matrices.reserve(dot.products.size());
  for (const DotNode::Product& product : dot.products) {
    if (product.is_dense()) continue;  // a view
    if (const auto* narrow = std::get_if<NarrowPointer>(&product.weight)) {
      matrices.push_back(upload_narrow(**narrow, source.weights));
    } else {
      const auto& weight = *std::get<QuantizedPointer>(product.weight);
      matrices.push_back(upload_matrix(MatrixSource(weight, source.options.cpu), source.weights));
    }
    if (!matrices.back().same_kernel(facts)) return std::nullopt;
  }
  return matrices;
}

DotRun dot_run(const DotNode& dot, const std::vector<DeviceMatrix>& matrices,
               std::span<const Operand> operands) {
  DotRun run;
  const size_t count = dot.products.size();
  const Operand& x = operands[count];
  run.x = x.floats();
  run.x_stride = x.strides[0];
  run.m = x.shape[0];
  run.k = x.shape[1];
  if (dot.has_residual) {
    run.residual = operands.back().floats();
    run.residual_stride = operands.back().strides[0];
  }
  size_t next = count + 1;
  run.products.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    DotProduct product{};
    if (matrices.empty()) {
      const Operand& w = operands[next++];
      product.rows = reinterpret_cast<const unsigned char*>(w.data);
      product.row_bytes = w.strides[0] * engine::element_size(w.storage);
      product.n = static_cast<int32_t>(w.shape[0]);
    } else {
      matrices[i].describe(product);
    }
    if (dot.products[i].has_bias) product.bias = operands[next++].floats();
    product.y = operands[i].floats();
    product.y_stride = operands[i].strides[0];
    run.products.push_back(product);
  }
  return run;
}

bool share_dot_input(const DotNode& a, const DotNode& b, const engine::ComputeOptions& options) {
  if (a.products.front().weight.index() != b.products.front().weight.index()) return false;
  const auto one = facts_of(a, options.cpu), other = facts_of(b, options.cpu);
  return one && other && one->same_kernel(*other);
}

LauncherPointer make_launcher_of(const DotNode& dot, const LauncherSource& source) {
  const auto facts = facts_of(dot, source.options.cpu);
  if (!facts) return nullptr;
  auto matrices = upload_matrices(dot, *facts, source);
  if (!matrices) return nullptr;
  return std::make_unique<DotLauncher>(dot, std::move(*matrices), *facts, source);
}

LauncherPointer make_launcher_of(const engine::BatchedDotNode&, const LauncherSource&) {
  return std::make_unique<BatchedDotLauncher>();
}

LauncherPointer make_launcher_of(const engine::StackedDotNode& node, const LauncherSource& source) {
  auto matrix = upload_stack(node.weight, source.options.cpu, source.weights);
  if (!matrix) return nullptr;
  return std::make_unique<StackedDotLauncher>(node.weight, std::move(*matrix), source);
}

}  // namespace pippin::cuda
