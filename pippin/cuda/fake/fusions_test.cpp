// Fusions of the device, as lists of nodes and against the CPU's scalar kernels.
#include <cstring>
#include <functional>
#include <memory>
#include <tuple>
#include <utility>

#include <gtest/gtest.h>

#include "pippin/cuda/emulate/emulate.h"
#include "pippin/cuda/fake/emulated_kernels.h"
#include "pippin/cuda/fake/node_testing.h"
#include "pippin/cuda/fake/weight_testing.h"
#include "pippin/cuda/launchers/dot_launches.h"
#include "pippin/cuda/launchers/fuse.h"
#include "pippin/engine/cpu/limits.h"
#include "pippin/engine/cpu/make_step.h"

namespace pippin::cuda {
namespace {

using engine::Buffer;
using engine::CopyNode;
using engine::DotNode;
using engine::GateNode;
using engine::Node;
using engine::NodePlan;
using engine::Operand;
using engine::RmsNormNode;
using engine::RotaryNode;
using engine::Storage;
using engine::View;

// A plan whose buffers are arrays.
class Layer {
 public:
  explicit Layer(uint32_t seed) : make(seed) {}

  View add(TestArray array, Buffer::Kind kind = Buffer::Kind::Arena) {
    View view;
    view.buffer = static_cast<int>(arrays.size());
    view.storage = array.storage;
    view.shape.assign(array.shape.begin(), array.shape.end());
    view.strides.assign(array.strides.begin(), array.strides.end());
    Buffer buffer;
    buffer.kind = kind;
    buffer.storage = array.storage;
    if (kind == Buffer::Kind::State) buffer.name = "cache";
    plan.buffers.push_back(buffer);
    arrays.push_back(std::move(array));
    return view;
  }
  View result(std::vector<int64_t> shape) { return add(make.result(std::move(shape))); }
  View floats(std::vector<int64_t> shape) { return add(make.floats(std::move(shape))); }
  void emit(engine::NodeKind kind, std::vector<View> views, size_t num_written = 1) {
    plan.nodes.push_back({std::move(kind), std::move(views), num_written, {}});
  }
  std::string names() const {
    std::string text;
    for (const Node& node : plan.nodes) text += node_name(node) + "\n";
    return text;
  }

  // Fuses and runs all nodes both ways; returns the number of launches. Arrays that fusions need
  // not write are not compared.
  size_t check(float tolerance, engine::Precision precision = engine::Precision::Fast) {
    engine::ComputeOptions options;
    options.cpu = limit_cpu(options.cpu, "scalar");
    options.precision = precision;
    auto want = arrays, have = arrays;
    std::vector<std::byte> scratch(1 << 20, std::byte{0xFF});
    std::byte* const aligned =
        scratch.data() + (256 - reinterpret_cast<uintptr_t>(scratch.data()) % 256) % 256;
    ThreadPool pool(1);
    std::exception_ptr error;
    for (const Node& node : plan.nodes) {
      const auto step = engine::make_step(node, options);
      step->run({operands(node, want), {}, pool, aligned, &error});
    }
    HostWeights weights;
    std::vector<bool> is_internal(arrays.size());
    auto apart = arrays;
    run_emulated(apart, options, weights, aligned, is_internal);
    plan = fuse_nodes(std::move(plan));
    const size_t launches = run_emulated(have, options, weights, aligned, is_internal);
    for (size_t i = 0; i < arrays.size(); ++i) {
      if (is_internal[i]) continue;
      compare(have[i], want[i], tolerance, i);
      EXPECT_EQ(have[i].memory, apart[i].memory) << "array " << i << ", of single nodes";
    }
    return launches;
  }

  TestArrays make;
  NodePlan plan;
  std::vector<TestArray> arrays;

 private:
  // Returns the number of launches; marks the arrays that need not be written.
  size_t run_emulated(std::vector<TestArray>& have, const engine::ComputeOptions& options,
                      WeightStore& weights, std::byte* scratch, std::vector<bool>& is_internal) {
    std::vector<Launch> launches;
    std::vector<LauncherPointer> launchers;
    uint32_t failed = 0;
    for (const Node& node : plan.nodes) {
      launchers.push_back(make_launcher({node, options, Limits{}, weights}));
      EXPECT_NE(launchers.back(), nullptr) << node_name(node);
      const size_t before = launches.size();
      launchers.back()->add({operands(node, have), {}, scratch, &failed}, launches);
      const auto* fused = node.as<engine::FusedNode>();
      for (size_t i = 0; fused != nullptr && i < node.num_written; ++i) {
        if (!fused->is_internal[i]) continue;
        is_internal[static_cast<size_t>(node.views[i].buffer)] = true;
      }
      for (size_t i = before; i < launches.size(); ++i) {
        const Launch& launch = launches[i];
        emulate_launch(launch.kernel, launch.arguments.data(), launch.blocks, 1, launch.depth,
                       launch.threads, launch.shared_bytes);
      }
    }
    return launches.size();
  }
  static std::vector<Operand> operands(const Node& node, std::vector<TestArray>& memory) {
    std::vector<Operand> found;
    for (const View& view : node.views) {
      TestArray& array = memory[static_cast<size_t>(view.buffer)];
      Operand operand;
      operand.data =
          array.memory.data() + view.offset.constant() * engine::element_size(view.storage);
      operand.storage = view.storage;
      operand.rank = static_cast<int>(view.rank());
      for (size_t axis = 0; axis < view.shape.size(); ++axis) {
        operand.shape[axis] = view.shape[axis].constant();
        operand.strides[axis] = view.strides[axis].constant();
      }
      found.push_back(operand);
    }
    return found;
  }
  static void compare(const TestArray& have, const TestArray& want, float tolerance, size_t index) {
    float most = 0;
    for (int64_t i = 0; i < want.size(); ++i) most = std::max(most, std::abs(want.number(i)));
    for (int64_t i = 0; i < want.size(); ++i) {
      const float difference = std::abs(have.number(i) - want.number(i));
      if (std::isnan(want.number(i)) && std::isnan(have.number(i))) continue;
      ASSERT_LE(difference, tolerance * most) << "array " << index << ", element " << i;
    }
  }
};

// A layer's products: of rows with `k` columns.
struct Products {
  using Make = std::function<engine::Weight(int64_t n, int64_t k, uint32_t seed)>;
  Products(Layer& on, Make of, int64_t m, int64_t k)
      : layer(on), make(std::move(of)), rows(m), columns(k) {}
  Products(Layer& on, const WeightCase& one, int64_t m, int64_t k)
      : Products(
            on,
            [&one](int64_t n, int64_t width, uint32_t seed) {
              return random_weight(one, n, width, seed);
            },
            m, k) {}

  View norm(const View& x) const {
    const View y = layer.result({rows, columns});
    layer.emit(RmsNormNode{1e-5F}, {y, x, layer.floats({columns})});
    return y;
  }
  std::vector<View> dot(const View& x, const std::vector<int64_t>& sizes, bool has_bias) const {
    DotNode node{"linear", {}, false};
    std::vector<View> views, rest;
    uint32_t seed = 3;
    for (const int64_t n : sizes) {
      node.products.push_back({n, make(n, columns, ++seed), has_bias});
      views.push_back(layer.result({rows, n}));
      if (const auto* dense = std::get_if<engine::DenseWeight>(&node.products.back().weight)) {
        rest.push_back(layer.add(layer.make.halves({n, columns}, dense->storage)));
      }
      if (has_bias) rest.push_back(layer.floats({n}));
    }
    std::vector<View> all = views;
    all.push_back(x);
    all.insert(all.end(), rest.begin(), rest.end());
    layer.emit(std::move(node), all, sizes.size());
    return views;
  }
  View gate(const View& gate, const View& up, int64_t n) const {
    const View y = layer.result({1, rows, n});
    const auto whole = [&](const View& view) { return *reshape_view(view, y.shape); };
    layer.emit(GateNode{"silu", kernels::GateOp::Silu}, {y, whole(gate), whole(up)});
    return y;
  }

  Layer& layer;
  Make make;
  int64_t rows, columns;
};

TEST(CudaFusions, NormProductsAndGate) {
  for (const WeightCase& one : weight_cases()) {
    const auto weight = random_weight(one, 9, 96, 1);
    if (weight == nullptr) continue;
    const auto cpu = limit_cpu(cpu_features(), "scalar");
    if (!takes_rounded(matrix_facts(MatrixSource(*weight, cpu)))) continue;
    for (const bool has_bias : {false, true}) {
      for (const int64_t rows : {1, 3}) {
        SCOPED_TRACE(testing::Message() << one.name << ", " << rows << " rows");
        Layer layer(1);
        const Products products(layer, one, rows, 96);
        const View x = layer.floats({rows, 96});
        products.dot(products.norm(x), {17, 9, 8}, has_bias);
        const auto views = products.dot(products.norm(x), {19, 19}, has_bias);
        products.gate(views[0], views[1], 19);
        layer.check(3e-2F);
        EXPECT_EQ(layer.names(), "[rms_norm, 3 linear]\n[rms_norm, 2 linear, silu * up]\n");
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(CudaFusions, ARowIsOneLaunch) {
  const WeightCase& one = weight_cases().front();
  for (const int64_t k : {64, 1024, 2080}) {
    Layer layer(2);
    const Products products(layer, one, 1, k);
    const View x = layer.floats({1, k});
    const auto views = products.dot(products.norm(x), {5, 5}, true);
    products.gate(views[0], views[1], 5);
    EXPECT_EQ(layer.check(2e-2F), 1u);
    EXPECT_TRUE(std::isnan(layer.arrays[static_cast<size_t>(views[0].buffer)].number(0)));
    // Without rounding.
    Layer exact(2);
    const Products same(exact, one, 1, k);
    const auto exactly = same.dot(same.norm(exact.floats({1, k})), {5, 5}, true);
    same.gate(exactly[0], exactly[1], 5);
    EXPECT_EQ(exact.check(1e-5F, engine::Precision::Exact), 3u);
  }
}

// A row is one launch; a few are two: one normalizes and splits x, one multiplies and gates.
TEST(CudaFusions, ProductsOf16And12Bits) {
  const auto narrow = [](int64_t n, int64_t k, uint32_t seed) {
    return random_narrow(kernels::WeightType::F16, n, k, seed);
  };
  const auto dense = [](Storage storage) {
    return [storage](int64_t, int64_t, uint32_t) { return engine::DenseWeight{storage}; };
  };
  const Products::Make all[] = {dense(Storage::F16), dense(Storage::BF16), narrow};
  for (const Products::Make& one : all) {
    const bool is_narrow = &one == &all[2];
    for (const auto& [rows, k, launches] :
         {std::tuple{int64_t{1}, 600, 2}, {1, 8208, 4}, {3, 136, is_narrow ? 7 : 4}, {33, 40, 7}}) {
      if (k > 8192 && &one != all) continue;  // once
      SCOPED_TRACE(testing::Message() << (&one - all) << ", " << rows << " rows");
      Layer layer(6);
      const Products products(layer, one, rows, k);
      const View x = layer.floats({rows, k});
      products.dot(products.norm(x), {17, 9, 8}, true);
      const auto views = products.dot(products.norm(x), {19, 19}, rows > 1);
      products.gate(views[0], views[1], 19);
      EXPECT_EQ(layer.check(5e-5F), static_cast<size_t>(launches));
      if (HasFatalFailure()) return;
    }
  }
}

TEST(CudaFusions, WhatOthersReadIsWritten) {
  const WeightCase& one = weight_cases().front();
  Layer layer(3);
  const Products products(layer, one, 1, 64);
  const View normalized = products.norm(layer.floats({1, 64}));
  const auto views = products.dot(normalized, {8, 8}, false);
  products.gate(views[0], views[1], 8);
  products.dot(normalized, {4}, false);
  layer.check(2e-2F);
  EXPECT_EQ(layer.names(), "rms_norm\n[2 linear, silu * up]\nlinear\n");
}

// Queries and keys are turned; keys and values stored.
TEST(CudaFusions, RotaryAndCaches) {
  for (const bool pairs : {false, true}) {
    for (const int64_t dim : {6, 16}) {
      for (const Storage cache : {Storage::F32, Storage::F16, Storage::BF16}) {
        for (const int64_t rows : {1, 3}) {
          Layer layer(4);
          const auto table = [&] {
            return broadcast_view(layer.floats({1, rows, 1, dim}),
                                  mil::to_shape({1, rows, 4, dim}));
          };
          const View cos = table(), sin = table();
          const auto angles = [&](View view, int64_t heads) {
            view.shape[2] = heads;
            return view;
          };
          const auto slice = [&] {
            View view =
                cache == Storage::F32
                    ? layer.add(layer.make.floats({1, 2, 9, dim}), Buffer::Kind::State)
                    : layer.add(layer.make.halves({1, 2, 9, dim}, cache), Buffer::Kind::State);
            view.shape[2] = rows;
            view.offset = 4 * dim;
            return view;
          };
          const View q = layer.floats({1, rows, 4, dim}), k = layer.floats({1, rows, 2, dim});
          const View v = layer.floats({1, rows, 2, dim});
          const View q_turned = layer.result({1, rows, 4, dim});
          const View k_turned = layer.result({1, rows, 2, dim});
          layer.emit(RotaryNode{pairs}, {q_turned, q, cos, sin});
          layer.emit(RotaryNode{pairs}, {k_turned, k, angles(cos, 2), angles(sin, 2)});
          layer.emit(CopyNode{}, {slice(), transpose_view(k_turned, {0, 2, 1, 3})});
          layer.emit(CopyNode{}, {slice(), transpose_view(v, {0, 2, 1, 3})});
          EXPECT_EQ(layer.check(1e-6F), 1u);
          const std::string copy =
              cache == Storage::F32 ? "copy" : "convert f32 to " + to_string(cache);
          const std::string rotary = pairs ? "rotary of pairs" : "rotary";
          EXPECT_EQ(layer.names(),
                    "[" + rotary + ", " + rotary + ", " + copy + ", " + copy + "]\n");
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(CudaFusions, DependentMovesStayApart) {
  Layer layer(5);
  const View a = layer.floats({4, 8}), b = layer.result({4, 8}), c = layer.result({4, 8});
  const View d = layer.result({4, 8});
  layer.emit(CopyNode{}, {b, a});
  layer.emit(CopyNode{}, {c, b});
  layer.emit(CopyNode{}, {d, a});
  EXPECT_EQ(layer.check(0), 2u);
  EXPECT_EQ(layer.names(), "copy\n[copy, copy]\n");
}

}  // namespace
}  // namespace pippin::cuda
