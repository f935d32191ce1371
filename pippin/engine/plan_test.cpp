// Plans against the reference interpreter: the same programs, random inputs, every instruction set
// of the machine.
#include "pippin/engine/plan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <random>
#include <stdexcept>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "pippin/base/allocations_testing.h"
#include "pippin/base/testing.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/engine/plan_testing.h"
#include "pippin/engine/reference/reference.h"

namespace pippin::engine {
namespace {

using mil::Tensor;
using Shapes = std::vector<std::vector<int64_t>>;

// Runs the steps (one list of input shapes each) through plan and reference and compares outputs.
void compare(const std::string& body, const std::vector<Shapes>& steps, double tolerance = 2e-3) {
  const mil::Model model = make_model(body);
  const ReferenceInterpreter reference(model.program, "main");
  for (const auto& [level, cpu] : cpu_levels(detect_cpu())) {
    for (const int threads : {1, 3}) {
      SCOPED_TRACE(level + ", " + std::to_string(threads) + " threads");
      PlanOptions options;
      options.compute.cpu = cpu;
      ThreadPool pool(threads);
      const auto plan = Plan::make(model, "main", options);
      Execution execution(plan, pool);
      State state(model.functions[0].states);
      ReferenceState reference_state;
      std::mt19937 random(1);
      std::uniform_real_distribution<float> uniform(-1, 1);
      for (const Shapes& shapes : steps) {
        execution.bind(shapes, state);
        std::map<std::string, Tensor> inputs;
        for (size_t i = 0; i < shapes.size(); ++i) {
          const Port& port = plan->inputs()[i];
          Tensor tensor(port.declared, shapes[i]);
          for (size_t k = 0; k < tensor.values.size(); ++k) {
            if (port.is_float) {
              tensor.values[k] = mil::round_to_type(uniform(random), port.declared);
              execution.float_input(i)[k] = static_cast<float>(tensor.values[k]);
            } else {
              tensor.values[k] = static_cast<double>(random() % 5);
              execution.int_input(i)[k] = static_cast<int32_t>(tensor.values[k]);
            }
          }
          inputs[port.name] = std::move(tensor);
        }
        execution.run();
        const auto expected = reference.run(inputs, reference_state);
        for (size_t i = 0; i < plan->outputs().size(); ++i) {
          const Tensor& want = expected.at(plan->outputs()[i].name);
          EXPECT_EQ(execution.output_shape(i), want.shape);
          ASSERT_EQ(execution.float_output(i).size(), want.values.size());
          for (size_t k = 0; k < want.values.size(); ++k) {
            const double got = plan->outputs()[i].is_float ? execution.float_output(i)[k]
                                                           : execution.int_output(i)[k];
            if (std::isnan(want.values[k]) && std::isnan(got)) continue;
            ASSERT_NEAR(got, want.values[k], tolerance * std::max(1.0, std::abs(want.values[k])))
                << plan->outputs()[i].name << "[" << k << "]\n"
                << plan->describe();
          }
        }
      }
    }
  }
}

TEST(Plan, BroadcastsAndViews) {
  compare(R"(func main<ios18>(tensor<fp32, [2, ?, 5]> x, tensor<fp32, [5]> y) {
    tensor<int32, [3]> perm = const()[name = string("perm"), val = tensor<int32, [3]>([2, 0, 1])];
    tensor<fp32, [2, ?, 5]> a = add(x = x, y = y)[name = string("a")];
    tensor<fp32, [5, 2, ?]> t = transpose(x = a, perm = perm)[name = string("t")];
    tensor<fp32, [5, 2, ?]> s = sigmoid(x = t)[name = string("s")];
    tensor<fp32, [5, 2, ?]> m = mul(x = s, y = t)[name = string("m")];
    bool flip = const()[name = string("flip"), val = bool(true)];
    bool keep = const()[name = string("keep"), val = bool(false)];
    tensor<fp32, [5, ?, ?]> p = matmul(x = m, y = m, transpose_x = flip, transpose_y = keep)[name = string("p")];
    int32 axis = const()[name = string("axis"), val = int32(1)];
    tensor<fp32, [5, ?, ?]> q = softmax(x = p, axis = axis)[name = string("q")];
  } -> (m, q);)",
          {{{2, 3, 5}, {5}}, {{2, 1, 5}, {5}}, {{2, 64, 5}, {5}}}, 1e-5);
}

TEST(Plan, SlicesConcatsAndTiles) {
  compare(R"(func main<ios18>(tensor<fp32, [4, ?]> x) {
    tensor<int32, [2]> begin = const()[name = string("begin"), val = tensor<int32, [2]>([3, 0])];
    tensor<int32, [2]> end = const()[name = string("end"), val = tensor<int32, [2]>([0, 0])];
    tensor<int32, [2]> stride = const()[name = string("stride"), val = tensor<int32, [2]>([-2, 1])];
    tensor<bool, [2]> end_mask = const()[name = string("end_mask"), val = tensor<bool, [2]>([false, true])];
    tensor<fp32, [2, ?]> a = slice_by_index(x = x, begin = begin, end = end, stride = stride, end_mask = end_mask)[name = string("a")];
    int32 axis = const()[name = string("axis"), val = int32(0)];
    bool interleave = const()[name = string("interleave"), val = bool(false)];
    tensor<fp32, [6, ?]> c = concat(values = (x, a), axis = axis, interleave = interleave)[name = string("c")];
    tensor<int32, [2]> reps = const()[name = string("reps"), val = tensor<int32, [2]>([2, 3])];
    tensor<fp32, [12, ?]> t = tile(x = c, reps = reps)[name = string("t")];
    tensor<int32, [1]> axes = const()[name = string("axes"), val = tensor<int32, [1]>([0])];
    bool keep = const()[name = string("keep"), val = bool(false)];
    tensor<fp32, [?]> r = reduce_mean(x = t, axes = axes, keep_dims = keep)[name = string("r")];
  } -> (a, t, r);)",
          {{{4, 7}}, {{4, 1}}, {{4, 33}}}, 1e-5);
}

// A cache as language models keep it: rows [past, end) are written, rows [0, end) are read.
constexpr const char* kCacheProgram =
    R"(func main<ios18>(tensor<fp16, [1, ?, 4]> x, tensor<fp16, [?, ?]> mask, state<tensor<fp16, [2, 64, 4]>> cache) {
    tensor<int32, [2]> mask_shape = shape(x = mask)[name = string("mask_shape")];
    int32 zero = const()[name = string("zero"), val = int32(0)];
    int32 one = const()[name = string("one"), val = int32(1)];
    int32 q = gather(x = mask_shape, indices = zero, axis = zero)[name = string("q")];
    int32 end = gather(x = mask_shape, indices = one, axis = zero)[name = string("end")];
    int32 past = sub(x = end, y = q)[name = string("past")];
    int32 two = const()[name = string("two"), val = int32(2)];
    int32 four = const()[name = string("four"), val = int32(4)];
    bool no = const()[name = string("no"), val = bool(false)];
    tensor<int32, [3]> begin = concat(values = (one, past, zero), axis = zero, interleave = no)[name = string("begin")];
    tensor<int32, [3]> stop = concat(values = (two, end, four), axis = zero, interleave = no)[name = string("stop")];
    tensor<fp16, [2, 64, 4]> before = read_state(input = cache)[name = string("before")];
    tensor<fp16, [2, 64, 4]> after = slice_update(x = before, update = x, begin = begin, end = stop)[name = string("after")];
    write_state(input = cache, data = after)[name = string("write")];
    tensor<fp16, [2, 64, 4]> now = read_state(input = cache)[name = string("now")];
    tensor<int32, [3]> first = concat(values = (one, zero, zero), axis = zero, interleave = no)[name = string("first")];
    tensor<fp16, [1, ?, 4]> keys = slice_by_index(x = now, begin = first, end = stop)[name = string("keys")];
    tensor<fp16, [1, ?, 4]> out = scaled_dot_product_attention(query = x, key = keys, value = keys, attn_mask = mask)[name = string("out")];
  } -> (out);)";

TEST(Plan, WritesAStateInPlace) {
  compare(kCacheProgram, {{{1, 3, 4}, {3, 3}}, {{1, 1, 4}, {1, 4}}, {{1, 2, 4}, {2, 6}}});
  const mil::Model model = make_model(kCacheProgram);
  const std::string steps = Plan::make(model, "main")->describe();
  EXPECT_EQ(steps.find("copy"), std::string::npos) << steps;  // the cache is never copied
}

TEST(Plan, RunsWithoutAllocating) {
  const mil::Model model = make_model(kCacheProgram);
  ThreadPool pool(2);
  Execution execution(Plan::make(model, "main"), pool);
  State state(model.functions[0].states);
  execution.bind({{1, 3, 4}, {3, 3}}, state);
  execution.run();  // allocations on first use are done
  const int64_t before = allocations();
  execution.run();
  EXPECT_EQ(allocations(), before);

  State other(model.functions[0].states);
  execution.reserve_lanes(2);
  execution.bind({{1, 3, 4}, {3, 3}}, other, 1);
  const std::array<size_t, 2> both = {0, 1};
  execution.run_together(both);
  const int64_t together = allocations();
  execution.run_together(both);
  EXPECT_EQ(allocations(), together);
}

// Read-only memory that ends at a page boundary, before a page without access.
class LentFloats {
 public:
  explicit LentFloats(const std::vector<float>& values) {
    const size_t bytes = values.size() * sizeof(float);
    size_ = (bytes + kPage - 1) / kPage * kPage;
    pages_ = static_cast<std::byte*>(
        ::mmap(nullptr, size_ + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (pages_ == MAP_FAILED) throw std::runtime_error("no memory");
    bytes_ = {pages_ + size_ - bytes, bytes};
    std::memcpy(pages_ + size_ - bytes, values.data(), bytes);
    if (::mprotect(pages_, size_, PROT_READ) != 0 ||
        ::mprotect(pages_ + size_, kPage, PROT_NONE) != 0) {
      throw std::runtime_error("pages cannot be protected");
    }
  }
  LentFloats(const LentFloats&) = delete;
  ~LentFloats() { ::munmap(pages_, size_ + kPage); }
  ByteSpan bytes() const { return bytes_; }

 private:
  static constexpr size_t kPage = 1 << 16;  // or several
  size_t size_ = 0;
  std::byte* pages_ = nullptr;
  ByteSpan bytes_;
};

TEST(Plan, ReadsWhatIsLentWhereItLies) {
  const mil::Model model = make_model(R"(
  func main<ios18>(tensor<fp32, [3, 5]> a, tensor<fp32, [3, 5]> b) {
    tensor<fp32, [3, 5]> c = mul(x = a, y = b)[name = string("c")];
    tensor<fp32, [3, 5]> d = relu(x = a)[name = string("d")];
  } -> (c, d, a);)");
  ThreadPool pool(1);
  Execution execution(Plan::make(model, "main"), pool);
  State state(model.functions[0].states);
  std::vector<float> a(15), b(15), c(15);
  std::iota(a.begin(), a.end(), -7.0f);
  std::iota(b.begin(), b.end(), 1.0f);
  const LentFloats lent_a(a), lent_b(b);
  const auto want = [&](const std::vector<float>& x, const std::vector<float>& y) {
    for (size_t i = 0; i < c.size(); ++i) {
      EXPECT_EQ(execution.float_output(0)[i], x[i] * y[i]) << i;
      EXPECT_EQ(execution.float_output(1)[i], std::max(x[i], 0.0f)) << i;
      EXPECT_EQ(execution.float_output(2)[i], x[i]) << i;
    }
  };
  execution.bind({{3, 5}, {3, 5}}, state);
  EXPECT_TRUE(execution.lend_input(0, lent_a.bytes()));
  EXPECT_TRUE(execution.lend_input(1, lent_b.bytes()));
  execution.run();
  want(a, b);
  execution.run();
  want(a, b);
  // Written again, in memory of its own.
  const auto own = execution.float_input(1);
  EXPECT_NE(reinterpret_cast<const std::byte*>(own.data()), lent_b.bytes().data());
  std::copy(a.begin(), a.end(), own.begin());
  execution.run();
  want(a, a);
  // Rejects larger and smaller spans and unaligned ones; and with one lane only.
  EXPECT_FALSE(execution.lend_input(0, lent_a.bytes().first(56)));
  EXPECT_FALSE(execution.lend_input(0, {}));
  std::vector<std::byte> odd(61);
  EXPECT_FALSE(execution.lend_input(0, std::span(odd).subspan(1)));
  execution.run();
  want(a, a);
  execution.reserve_lanes(2);
  EXPECT_FALSE(execution.lend_input(0, lent_a.bytes()));
}

TEST(Plan, EndsBetweenStepsWhereItMay) {
  struct Probe final : CancelProbe {
    bool wants_cancel() noexcept override { return ++asked == 2; }
    int asked = 0;
  } probe;
  const mil::Model model = make_model(kCacheProgram);
  ThreadPool pool(1);
  Execution execution(Plan::make(model, "main"), pool);
  State state(model.functions[0].states), other(model.functions[0].states);
  const CancelToken token;
  const CancelScope scope(token, &probe);
  execution.bind({{1, 3, 4}, {3, 3}}, state);
  execution.run();  // a sequence is never left half done
  EXPECT_EQ(probe.asked, 0);
  EXPECT_ERROR(execution.run_cancellable(), ErrorCode::Cancelled, "cancelled");
  EXPECT_EQ(probe.asked, 2);
  // It runs again, to the end.
  execution.bind({{1, 3, 4}, {3, 3}}, other);
  const auto result = [&] {
    const auto output = execution.float_output(0);
    return std::vector<float>(output.begin(), output.end());
  };
  execution.run();
  const std::vector<float> want = result();
  execution.bind({{1, 3, 4}, {3, 3}}, state);
  state.reset();
  execution.run_cancellable();
  EXPECT_EQ(result(), want);
  EXPECT_GT(probe.asked, 3);
}

// With a head over hidden states that are also returned, and one whose result is used again.
TEST(Plan, ComputesWantedRowsOnly) {
  constexpr int64_t kRows = 5, kWidth = 4, kColumns = 6;
  const auto program = [](const std::string& rest, const std::string& results) {
    std::string numbers;
    for (int64_t i = 0; i < kColumns * kWidth; ++i) {
      numbers += (i > 0 ? ", " : "") + std::to_string(i * 7 % 11) + ".0";
    }
    return make_model(
        "func main<ios18>(tensor<fp32, [1, ?, 4]> x) {\n"
        "tensor<fp32, [1, ?, 4]> h = relu(x = x)[name = string(\"h\")];\n"
        "tensor<fp32, [6, 4]> w = const()[name = string(\"w\"), val = tensor<fp32, [6, 4]>([" +
        numbers +
        "])];\n"
        "tensor<fp32, [1, ?, 6]> y = linear(x = h, weight = w)[name = string(\"y\")];\n" +
        rest + "} -> (" + results + ");");
  };
  ThreadPool pool(2);
  State state({});
  const auto run = [&](const mil::Model& model, std::optional<WantedRows> rows) {
    PlanOptions options;
    options.compute.batch_invariant = true;
    Execution execution(Plan::make(model, "main", options), pool);
    execution.bind({{1, kRows, kWidth}}, state);
    const auto x = execution.float_input(0);
    std::iota(x.begin(), x.end(), -7.0F);
    for (size_t i = 0; i < execution.plan().outputs().size(); ++i) {
      const auto y = execution.float_output(i);
      std::fill_n(const_cast<float*>(y.data()), y.size(), -1.0F);
    }
    execution.run(0, rows);
    std::vector<std::vector<float>> outputs;
    for (size_t i = 0; i < execution.plan().outputs().size(); ++i) {
      const auto y = execution.float_output(i);
      outputs.emplace_back(y.begin(), y.end());
    }
    return outputs;
  };
  const mil::Model head = program("", "y");
  const auto all = run(head, std::nullopt)[0];
  ASSERT_EQ(all.size(), static_cast<size_t>(kRows * kColumns));
  for (const WantedRows rows : {WantedRows{0, 0}, {4, 5}, {1, 3}, {0, kRows}}) {
    const auto some = run(head, rows)[0];
    for (int64_t i = 0; i < kRows; ++i) {
      const bool wanted = i >= rows.begin && i < rows.end;
      for (int64_t j = 0; j < kColumns; ++j) {
        const auto at = static_cast<size_t>(i * kColumns + j);
        EXPECT_EQ(some[at], wanted ? all[at] : -1.0F) << i << " of " << rows.end;
      }
    }
  }
  // A soft cap between the head and the output, of numbers that a broadcast constant divides.
  const mil::Model capped = program(
      "tensor<fp32, [1, ?, 6]> d = real_div(x = y, y = fp32(30.0))[name = string(\"d\")];\n"
      "tensor<fp32, [6]> s = const()[name = string(\"s\"), val = tensor<fp32, [6]>([1.0, 2.0, "
      "3.0, 4.0, 5.0, 6.0])];\n"
      "tensor<fp32, [1, ?, 6]> m = mul(x = d, y = s)[name = string(\"m\")];\n"
      "tensor<fp32, [1, ?, 6]> z = tanh(x = m)[name = string(\"z\")];\n",
      "z");
  const auto all_capped = run(capped, std::nullopt)[0];
  for (const WantedRows rows : {WantedRows{0, 0}, {4, 5}, {1, 3}, {0, kRows}}) {
    // The memory of the other rows may have been used for other values.
    const auto some = run(capped, rows)[0];
    for (int64_t i = rows.begin * kColumns; i < rows.end * kColumns; ++i) {
      EXPECT_EQ(some[static_cast<size_t>(i)], all_capped[static_cast<size_t>(i)]) << i;
    }
    EXPECT_EQ(some == all_capped, rows.end - rows.begin == kRows);
  }
  // A result that is another output's input, too.
  const mil::Model branched = program(
      "tensor<fp32, [1, ?, 6]> z = tanh(x = y)[name = string(\"z\")];\n"
      "tensor<fp32, [1, 1, 6]> q = reduce_sum(x = y, axes = tensor<int32, [1]>([1]), keep_dims = "
      "bool(true))[name = string(\"q\")];\n",
      "z, q");
  EXPECT_EQ(run(branched, WantedRows{4, 5})[1], run(branched, std::nullopt)[1]);
  // Rows out of range: all are computed.
  EXPECT_EQ(run(head, WantedRows{4, 6})[0], all);
  EXPECT_EQ(run(head, WantedRows{-1, 1})[0], all);
  // The head's input is computed completely if it is an output, too.
  const mil::Model both = program("", "y, h");
  EXPECT_EQ(run(both, WantedRows{4, 5})[1], run(both, std::nullopt)[1]);
  // Rows that another operation reads are computed.
  const mil::Model used =
      program("tensor<fp32, [1, ?, 6]> z = exp(x = y)[name = string(\"z\")];\n", "y, z");
  const auto some = run(used, WantedRows{4, 5}), every = run(used, std::nullopt);
  EXPECT_EQ(some[0], every[0]);
  EXPECT_TRUE(std::equal(some[1].end() - kColumns, some[1].end(), every[1].end() - kColumns));
}

// The first of equal elements is found; a NaN is skipped, except at the front, where nothing is
// larger.
TEST(Plan, FindsWhereTheLargestIs) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr int64_t kLength = 37;
  const auto run = [&](const std::string& op, const std::vector<float>& x, int64_t rows) {
    // The last axis of [rows, length], and the first of its transpose.
    const mil::Model model = make_model(fmt::format(
        "func main<ios18>(tensor<fp32, [{0}, {1}]> x) {{\n"
        "tensor<int32, [{0}]> a = {2}(x = x, axis = int32(-1), keep_dims = bool(false))[name = "
        "string(\"a\")];\n"
        "tensor<fp32, [{1}, {0}]> t = transpose(x = x, perm = tensor<int32, [2]>([1, 0]))[name = "
        "string(\"t\")];\n"
        "tensor<int32, [1, {0}]> b = {2}(x = t, axis = int32(0), keep_dims = bool(true))[name = "
        "string(\"b\")];\n"
        "}} -> (a, b);",
        rows, kLength, op));
    ThreadPool pool(2);
    State state({});
    Execution execution(Plan::make(model, "main"), pool);
    EXPECT_EQ(execution.plan().describe().find("reference"), std::string::npos);
    execution.bind({{rows, kLength}}, state);
    std::copy(x.begin(), x.end(), execution.float_input(0).begin());
    execution.run();
    const auto a = execution.int_output(0), b = execution.int_output(1);
    EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end()));
    return std::vector<int32_t>(a.begin(), a.end());
  };
  std::vector<float> x(5 * kLength, 0.25F);
  x[3] = x[20] = 7;                                   // row 0: equals
  x[kLength + 36] = kInf, x[kLength] = kNaN;          // row 1: NaN at the front
  x[2 * kLength + 1] = kNaN, x[2 * kLength + 9] = 1;  // row 2: NaN elsewhere
  std::fill_n(x.begin() + 3 * kLength, kLength, -kInf);
  x[4 * kLength + 5] = -3, x[4 * kLength + 36] = -3;
  EXPECT_EQ(run("reduce_argmax", x, 5), (std::vector<int32_t>{3, 0, 9, 0, 0}));
  EXPECT_EQ(run("reduce_argmin", x, 5), (std::vector<int32_t>{0, 0, 0, 0, 5}));
  // Large enough that threads share it.
  std::vector<float> many(2000 * kLength);
  std::vector<int32_t> wanted;
  for (int64_t i = 0; i < 2000; ++i) {
    wanted.push_back(static_cast<int32_t>(i * 7 % kLength));
    many[static_cast<size_t>(i * kLength + wanted.back())] = 1;
  }
  EXPECT_EQ(run("reduce_argmax", many, 2000), wanted);
}

// The old contents are used after the state is written: the read must be a copy.
TEST(Plan, KeepsWhatWasReadBeforeAWrite) {
  compare(R"(func main<ios18>(tensor<fp16, [3]> x, state<tensor<fp16, [3]>> s) {
    tensor<fp16, [3]> old = read_state(input = s)[name = string("old")];
    tensor<fp16, [3]> sum = add(x = old, y = x)[name = string("sum")];
    write_state(input = s, data = sum)[name = string("w")];
    tensor<fp16, [3]> fresh = read_state(input = s)[name = string("fresh")];
    tensor<fp16, [3]> both = sub(x = fresh, y = old)[name = string("both")];
  } -> (both, old);)",
          {{{3}}, {{3}}, {{3}}});
}

TEST(Plan, RefusesShapesOutsideItsClass) {
  const mil::Model model = make_model(
      "func main<ios18>(tensor<fp32, [?]> x, tensor<fp32, [?]> y) { tensor<fp32, [?]> z = add(x = "
      "x, y = "
      "y)[name = string(\"z\")]; } -> (z);");
  ThreadPool pool(1);
  State state({});
  Execution execution(Plan::make(model, "main"), pool);
  EXPECT_ERROR(execution.bind({{65}, {65}}, state), ErrorCode::InvalidArgument,
               "input 'x': axis 0 takes 1 to 64, not 65");
  EXPECT_ERROR(execution.bind({{3}, {4}}, state), ErrorCode::InvalidArgument,
               "add 'z': the shapes must broadcast: x[0] is 3, y[0] is 4");
  EXPECT_ERROR(execution.bind({{3}}, state), ErrorCode::InvalidArgument,
               "1 input shapes were given, the function has 2 inputs");
  EXPECT_ERROR(execution.bind({{3}, {3, 1}}, state), ErrorCode::InvalidArgument,
               "input 'y' has rank 1, not 2");
  execution.bind({{3}, {3}}, state);
  PlanOptions wide;
  wide.input_ranges["x"] = {{1, 65}};
  EXPECT_ERROR(Plan::make(model, "main", wide), ErrorCode::InvalidArgument,
               "input 'x': axis 0 takes 1 to 64, not 1 to 65");
}

}  // namespace
}  // namespace pippin::engine
