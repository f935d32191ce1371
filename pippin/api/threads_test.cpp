// One model used by several threads at once. TSan sees interactions here that no other test of this
// folder has.
#include <filesystem>
#include <thread>

#include <gtest/gtest.h>

#include "pippin/api/model.h"
#include "pippin/base/testing.h"
#include "pippin/mil/package/interface.h"
#include "pippin/mil/package/package.h"
#include "pippin/mil/text/text.h"

namespace pippin {
namespace {

constexpr int kThreads = 4;
constexpr int kTurns = 20;

// A running sum of x, multiplied by an identity matrix whose weight is in a file, and summed along
// rows by an operation without a kernel.
constexpr std::string_view kProgram = R"(program(1.3)
{
  func main<ios18>(tensor<fp32, [2, 4]> x, state<tensor<fp16, [2, 4]>> total) {
    tensor<fp32, [4, 4]> w = const()[name = string("w"), val = tensor<fp32, [4, 4]>([1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1])];
    tensor<fp16, [2, 4]> before = read_state(input = total)[name = string("before")];
    tensor<fp16, [2, 4]> half = cast(dtype = string("fp16"), x = x)[name = string("half")];
    tensor<fp16, [2, 4]> more = add(x = before, y = half)[name = string("more")];
    write_state(data = more, input = total)[name = string("write")];
    tensor<fp32, [2, 4]> wide = cast(dtype = string("fp32"), x = more)[name = string("wide")];
    tensor<fp32, [2, 4]> y = linear(weight = w, x = wide)[name = string("y")];
    tensor<fp32, [2, 4]> z = cumsum(axis = int32(1), exclusive = bool(false), reverse = bool(false), x = y)[name = string("z")];
  } -> (z);
}
)";

class Threads : public testing::Test {
 protected:
  Threads() { mil::write_package(mil::describe_program(mil::parse_text(kProgram, "test")), path_); }

  // A sequence of predictions, each adding `step`.
  static void count(const Function& function, float step) {
    State state = function.make_state();
    for (int turn = 1; turn <= kTurns; ++turn) {
      const Tensor x = Tensor::from(std::vector<float>(8, step), {2, 4});
      const Values outputs = function.predict({{"x", x}}, state);
      const float sum = static_cast<float>(turn) * step;
      const std::vector<float> row = {sum, 2 * sum, 3 * sum, 4 * sum};
      std::vector<float> expected = row;
      expected.insert(expected.end(), row.begin(), row.end());
      EXPECT_EQ(tensor_at(outputs, "z").to_floats(), expected);
      function.describe();
    }
  }
  template <typename Body>
  static void on_threads(const Body& body) {
    std::vector<std::thread> threads;
    for (int i = 1; i <= kThreads; ++i) {
      threads.emplace_back([&body, i] { body(static_cast<float>(i)); });
    }
    for (std::thread& thread : threads) thread.join();
  }

  TempDir folder_;
  const std::filesystem::path path_ = folder_ / "x.mlpackage";
  const LoadOptions options_ = {.num_threads = 2, .trace = true, .load_cache = folder_ / "cache"};
};

TEST_F(Threads, ShareAFunction) {
  for (const bool trace : {true, false}) {  // piece by piece, and as one plan
    LoadOptions options = options_;
    options.trace = trace;
    const Function function = Model::load(path_, options).function();
    on_threads([&](float step) { count(function, step); });
    EXPECT_EQ(function.describe().empty(), !trace);
  }
}

TEST_F(Threads, ShareAModel) {
  const Model model = Model::load(path_, options_);
  on_threads([&](float step) { count(model.function(), step); });
}

TEST_F(Threads, ShareAPackage) {
  on_threads([&](float step) { count(Model::load(path_, options_).function(), step); });
}

}  // namespace
}  // namespace pippin
