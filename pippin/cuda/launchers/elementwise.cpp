// Launchers of elementwise work.
#include <cmath>
#include <map>
#include <optional>
#include <string_view>

#include "pippin/cuda/kernels/elementwise_args.h"
#include "pippin/cuda/launchers/launchers.h"
#include "pippin/cuda/launchers/walk.h"

namespace pippin::cuda {
namespace {

using engine::Storage;

// make(walk): the arguments.
template <typename Make>
class ElementwiseLauncher : public Launcher {
 public:
  ElementwiseLauncher(Kernel kernel, Make make) : kernel_(kernel), make_(std::move(make)) {}
  void add(const LaunchContext& context, std::vector<Launch>& launches) const override {
    for_walks(context.operands, true, [&](const Walk& walk) {
      launches.push_back(Launch::of(kernel_, make_(walk), blocks_of(walk), threads_of(walk)));
    });
  }

 private:
  Kernel kernel_;
  Make make_;
};
template <typename Make>
LauncherPointer elementwise(Kernel kernel, Make make) {
  return std::make_unique<ElementwiseLauncher<Make>>(kernel, std::move(make));
}

template <typename T>
T* typed(std::byte* data) {
  return reinterpret_cast<T*>(data);
}

template <typename Op>
LauncherPointer pairwise(Kernel kernel, Op op, bool integers) {
  return elementwise(kernel, [op, integers](const Walk& walk) {
    return PairwiseArgs<Op>{walk.data[0], walk.data[1], walk.data[2],
                            op,           integers,     walk.first<3>()};
  });
}

bool has_integers(const LauncherSource& source, size_t view) {
  return source.node.views[view].storage == Storage::I32;
}

std::optional<MapOp> find_map(std::string_view name, bool integers) {
  static const std::map<std::string_view, MapOp> floats = {
      {"acos", MapOp::Acos},
      {"asin", MapOp::Asin},
      {"atan", MapOp::Atan},
      {"atanh", MapOp::Atanh},
      {"clamped_relu", MapOp::ClampedRelu},
      {"cosh", MapOp::Cosh},
      {"sinh", MapOp::Sinh},
      {"tan", MapOp::Tan},
      {"thresholded_relu", MapOp::ThresholdedRelu},
  };
  static const std::map<std::string_view, MapOp> ints = {
      {"abs", MapOp::Abs},       {"ceil", MapOp::Same},      {"clip", MapOp::Clip},
      {"floor", MapOp::Same},    {"round", MapOp::Same},     {"sign", MapOp::Sign},
      {"square", MapOp::Square}, {"threshold", MapOp::Clip},
  };
  const auto& table = integers ? ints : floats;
  const auto found = table.find(name);
  return found == table.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

LauncherPointer make_launcher_of(const engine::UnaryNode& node, const LauncherSource&) {
  return elementwise(Kernel::unary, [op = node.op, alpha = node.alpha,
                                     beta = node.beta](const Walk& walk) {
    return UnaryArgs{
        typed<float>(walk.data[0]), typed<float>(walk.data[1]), op, alpha, beta, walk.first<2>()};
  });
}
LauncherPointer make_launcher_of(const engine::MapNode& node, const LauncherSource& source) {
  const bool integers = has_integers(source, 0);
  const auto op = find_map(node.name, integers);
  if (!op) return nullptr;
  MapArgs args{};
  args.op = *op;
  args.alpha = node.alpha;
  args.beta = integers && node.name == "threshold" ? HUGE_VAL : node.beta;
  return elementwise(integers ? Kernel::map_integers : Kernel::map_floats,
                     [args](const Walk& walk) {
                       MapArgs own = args;
                       own.y = walk.data[0];
                       own.x = walk.data[1];
                       own.axes = walk.first<2>();
                       return own;
                     });
}
LauncherPointer make_launcher_of(const engine::BinaryNode& node, const LauncherSource& source) {
  return pairwise(Kernel::binary, node.op, has_integers(source, 0));
}
LauncherPointer make_launcher_of(const engine::CompareNode& node, const LauncherSource& source) {
  return pairwise(Kernel::compare, node.op, has_integers(source, 1));
}
LauncherPointer make_launcher_of(const engine::GateNode& node, const LauncherSource&) {
  return pairwise(Kernel::gate, node.op, false);
}
LauncherPointer make_launcher_of(const engine::LogicNode& node, const LauncherSource&) {
  static_assert(static_cast<Logic>(engine::LogicOp::Not) == Logic::Not);
  return pairwise(Kernel::logic, static_cast<Logic>(node.op), false);
}
LauncherPointer make_launcher_of(const engine::NarrowNode& node, const LauncherSource&) {
  return elementwise(Kernel::narrow, [node](const Walk& walk) {
    return NarrowArgs{typed<int32_t>(walk.data[0]),
                      typed<int32_t>(walk.data[1]),
                      node.bits,
                      node.is_signed,
                      node.saturates,
                      walk.first<2>()};
  });
}
LauncherPointer make_launcher_of(const engine::AllowedNode&, const LauncherSource&) {
  return elementwise(Kernel::allowed, [](const Walk& walk) {
    return AllowedArgs{typed<float>(walk.data[0]), typed<uint8_t>(walk.data[1]), walk.first<2>()};
  });
}
LauncherPointer make_launcher_of(const engine::SelectNode&, const LauncherSource&) {
  return elementwise(Kernel::select_elements, [](const Walk& walk) {
    return SelectArgs{typed<uint32_t>(walk.data[0]), typed<uint8_t>(walk.data[1]),
                      typed<uint32_t>(walk.data[2]), typed<uint32_t>(walk.data[3]),
                      walk.first<4>()};
  });
}

}  // namespace pippin::cuda
