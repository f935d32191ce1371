// States alone: views, copies, files.
#include <fstream>
#include <optional>

#include <gtest/gtest.h>

#include "pippin/api/model.h"
#include "pippin/base/testing.h"
#include "pippin/io/npz.h"
#include "pippin/mil/package/interface.h"
#include "pippin/mil/package/package.h"
#include "pippin/mil/text/text.h"

namespace pippin {
namespace {

constexpr std::string_view kTotals = R"(program(1.3)
{
  func main<ios18>(tensor<fp32, [2]> x, state<tensor<fp16, [2]>> total, state<tensor<fp16, [3]>> left) {
    tensor<fp16, [2]> before = read_state(input = total)[name = string("before")];
    tensor<fp16, [2]> half = cast(dtype = string("fp16"), x = x)[name = string("half")];
    tensor<fp16, [2]> more = add(x = before, y = half)[name = string("more")];
    write_state(data = more, input = total)[name = string("write")];
    tensor<fp32, [2]> y = cast(dtype = string("fp32"), x = more)[name = string("y")];
  } -> (y);
}
)";

using Floats = std::vector<float>;

class States : public testing::Test {
 protected:
  States() {
    const std::filesystem::path path = folder_ / "x.mlpackage";
    mil::write_package(mil::describe_program(mil::parse_text(kTotals, "test")), path);
    model_ = Model::load(path);
    function_ = model_->function();
  }

  void add(State& state, float value) const {
    function_->predict({{"x", Tensor::from(Floats{value, 2 * value}, {2})}}, state);
  }

  TempDir folder_;
  std::filesystem::path file_ = folder_ / "state.npz";
  std::optional<Model> model_;
  std::optional<Function> function_;
};

TEST_F(States, ViewsAreTheirMemory) {
  State state = function_->make_state();
  Tensor view = state.view("total");
  add(state, 1);
  EXPECT_EQ(view.to_floats(), (Floats{1, 2}));
  view.copy_from(Tensor::from(Floats{10, 20}, {2}).to(DataType::Float16).bytes());
  add(state, 1);
  EXPECT_EQ(state.get("total").to_floats(), (Floats{11, 22}));
  state.reset();
  EXPECT_EQ(view.to_floats(), (Floats{0, 0}));
  state.set("total", Tensor::from(Floats{3, 4}, {2}));
  state = function_->make_state();  // the view keeps its memory alive
  EXPECT_EQ(view.to_floats(), (Floats{3, 4}));
  EXPECT_THROW(state.view("none"), Error);
}

TEST_F(States, ClonesGoTheirOwnWay) {
  State state = function_->make_state();
  add(state, 1);
  State clone = state.clone();
  add(state, 1);
  add(clone, 5);
  EXPECT_EQ(state.get("total").to_floats(), (Floats{2, 4}));
  EXPECT_EQ(clone.get("total").to_floats(), (Floats{6, 12}));
}

TEST_F(States, AreSavedAndLoadedAsAWhole) {
  State state = function_->make_state();
  add(state, 1);
  state.save(file_);
  State other = function_->make_state();
  Tensor view = other.view("total");
  other.load(file_);
  EXPECT_EQ(view.to_floats(), (Floats{1, 2}));
  const auto error_of = [&](const std::vector<std::pair<std::string, NpyArray>>& arrays) {
    write_npz(file_, arrays);
    try {
      other.load(file_);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const Floats two = {7, 8}, three = {1, 2, 3}, large = {1, 1e30F};
  const NpyArray total = NpyArray::from<float>(two, {2}), left = NpyArray::from<float>(three, {3});
  const std::string begin = file_.string() + ": ";
  EXPECT_EQ(error_of({{"total", total}}), begin + "no state 'left' in it; expected float16 [3]");
  EXPECT_EQ(error_of({{"total", left}, {"left", left}}),
            begin + "state 'total': shape [3]; expected float16 [2]");
  EXPECT_TRUE(error_of({{"left", left}, {"none", left}}).starts_with(begin + "no state 'none'"));
  EXPECT_NE(error_of({{"left", left}, {"total", NpyArray::from<float>(large, {2})}}), "");
  EXPECT_EQ(view.to_floats(), (Floats{1, 2}));
  EXPECT_EQ(error_of({{"left", left}, {"total", total}}), "");
  EXPECT_EQ(view.to_floats(), two);
  EXPECT_EQ(other.get("left").to_floats(), three);
  std::ofstream(file_) << "no archive";
  EXPECT_THROW(other.load(file_), Error);
  EXPECT_THROW(other.save(folder_ / "no" / "state.npz"), Error);
}

}  // namespace
}  // namespace pippin
