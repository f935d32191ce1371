// Launchers of norms and softmax.
#include "pippin/cuda/launchers/element_grid.h"
#include "pippin/cuda/launchers/launchers.h"
#include "pippin/cuda/launchers/row_grid.h"
#include "pippin/cuda/launchers/weight_store.h"

namespace pippin::cuda {
namespace {

using engine::Operand;

// y and x, and the rows.
template <typename Args>
Args args_on_rows(const LaunchContext& context) {
  const Operand& y = context.operands[0];
  const Operand& x = context.operands[1];
  Args args{};
  args.y = y.floats();
  args.x = x.floats();
  args.rows = rows_args(y, x);
  args.rows.vectors = has_vectors(y.data, y.strides[0], x.shape[0]) &&
                      has_vectors(x.data, x.strides[0], x.shape[0]);
  return args;
}

bool has_no_rows(const LaunchContext& context) {
  return context.operands[1].size() == 0;
}

// RMS and layer norms.
class NormLauncher : public Launcher {
 public:
  NormLauncher(Kernel kernel, float epsilon, bool has_gamma, bool has_beta)
      : kernel_(kernel), epsilon_(epsilon), has_gamma_(has_gamma), has_beta_(has_beta) {}
  void add(const LaunchContext& context, std::vector<Launch>& launches) const override {
    if (has_no_rows(context)) return;
    auto args = args_on_rows<NormArgs>(context);
    const auto factors = [&](size_t operand) {
      const Operand& given = context.operands[operand];
      args.rows.vectors = args.rows.vectors && has_vectors(given.data, 0, 1);
      return given.floats();
    };
    if (has_gamma_) args.gamma = factors(2);
    if (has_beta_) args.beta = factors(has_gamma_ ? 3 : 2);
    args.epsilon = epsilon_;
    launches.push_back(row_launch(kernel_, args));
  }

 private:
  Kernel kernel_;
  float epsilon_;
  bool has_gamma_, has_beta_;
};

class InstanceNormLauncher : public Launcher {
 public:
  InstanceNormLauncher(const engine::InstanceNormNode& node, const LauncherSource& source)
      : gamma_(upload(node.gamma, source)),
        beta_(upload(node.beta, source)),
        channels_(static_cast<int64_t>(node.gamma.size())),
        epsilon_(node.epsilon) {}
  void add(const LaunchContext& context, std::vector<Launch>& launches) const override {
    if (has_no_rows(context)) return;
    auto args = args_on_rows<InstanceNormArgs>(context);
    args.gamma = reinterpret_cast<const float*>(gamma_->data);
    args.beta = reinterpret_cast<const float*>(beta_->data);
    args.channels = channels_;
    args.epsilon = epsilon_;
    launches.push_back(row_launch(Kernel::instance_norm, args));
  }

 private:
  static UploadedBytes upload(const std::vector<float>& numbers, const LauncherSource& source) {
    return source.weights.upload(numbers.data(), numbers.size() * sizeof(float));
  }

  UploadedBytes gamma_, beta_;
  int64_t channels_;
  float epsilon_;
};

class L2NormLauncher : public Launcher {
 public:
  explicit L2NormLauncher(double epsilon) : epsilon_(epsilon) {}
  void add(const LaunchContext& context, std::vector<Launch>& launches) const override {
    if (has_no_rows(context)) return;
    auto args = args_on_rows<L2NormArgs>(context);
    args.epsilon = epsilon_;
    launches.push_back(row_launch(Kernel::l2_norm, args));
  }

 private:
  double epsilon_;
};

class SoftmaxLauncher : public Launcher {
 public:
  void add(const LaunchContext& context, std::vector<Launch>& launches) const override {
    if (has_no_rows(context)) return;
    launches.push_back(row_launch(Kernel::softmax, args_on_rows<SoftmaxArgs>(context)));
  }
};

class LocalResponseLauncher : public Launcher {
 public:
  explicit LocalResponseLauncher(const engine::LocalResponseNode& node) : node_(node) {}
  void add(const LaunchContext& context, std::vector<Launch>& launches) const override {
    const Operand& y = context.operands[0];
    if (y.size() == 0) return;
    LocalResponseArgs args{};
    args.y = y.floats();
    args.x = context.operands[1].floats();
    args.channels = y.shape[1];
    args.inner = y.shape[2];
    args.count = y.size();
    args.before = node_.size / 2;
    args.after = (node_.size - 1) / 2;
    args.alpha = node_.alpha;
    args.k = double{node_.k};
    args.beta = node_.beta;
    launches.push_back(element_launch(Kernel::local_response, args, args.count));
  }

 private:
  engine::LocalResponseNode node_;
};

}  // namespace

LauncherPointer make_launcher_of(const engine::InstanceNormNode& node,
                                 const LauncherSource& source) {
  return node.gamma.empty() ? nullptr : std::make_unique<InstanceNormLauncher>(node, source);
}
LauncherPointer make_launcher_of(const engine::L2NormNode& node, const LauncherSource&) {
  return std::make_unique<L2NormLauncher>(node.epsilon);
}
LauncherPointer make_launcher_of(const engine::LayerNormNode& node, const LauncherSource&) {
  return std::make_unique<NormLauncher>(Kernel::layer_norm, node.epsilon, node.has_gamma,
                                        node.has_beta);
}
LauncherPointer make_launcher_of(const engine::LocalResponseNode& node, const LauncherSource&) {
  return std::make_unique<LocalResponseLauncher>(node);
}
LauncherPointer make_launcher_of(const engine::RmsNormNode& node, const LauncherSource& source) {
  return std::make_unique<NormLauncher>(Kernel::rms_norm, node.epsilon,
                                        source.node.views.size() > 2, false);
}
LauncherPointer make_launcher_of(const engine::SoftmaxNode&, const LauncherSource&) {
  return std::make_unique<SoftmaxLauncher>();
}

}  // namespace pippin::cuda
