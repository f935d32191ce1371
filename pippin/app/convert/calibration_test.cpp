#include "pippin/app/convert/calibration.h"

#include <set>

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/testing.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/mil/ops/product.h"
#include "pippin/models/registry.h"

namespace pippin::app {
namespace {

mil::Model demo() {
  return models::build(source_dir() / "pippin/demo/model");
}

std::vector<int32_t> some_ids() {
  std::vector<int32_t> ids;
  for (int32_t i = 0; i < 300; ++i) ids.push_back(i * 7 % 200);
  return ids;
}

// The weights of the model's products, in order.
std::vector<std::string> weights_of(const mil::Model& model) {
  std::vector<std::string> names;
  for (const auto& operation : model.program.function("main").block().operations()) {
    if (operation->type() == "linear") names.push_back(operation->input_var("weight")->name);
  }
  return names;
}

TEST(Calibration, ReadsTheTextAgainForWhatDidNotFit) {
  const auto weights = weights_of(demo());
  ASSERT_GE(weights.size(), 4U);
  const auto whole = calibrate(demo(), some_ids());
  CalibrationOptions options;
  options.max_bytes = 1;  // one input at a time
  const auto parts = calibrate(demo(), some_ids(), options);
  for (const std::string& weight : weights) {
    const auto one = whole->moments(weight), other = parts->moments(weight);
    ASSERT_EQ(one == nullptr, other == nullptr) << weight;
    if (one == nullptr) continue;
    EXPECT_EQ(one->samples, 300) << weight;
    EXPECT_EQ(one->samples, other->samples) << weight;
    EXPECT_EQ(one->products, other->products) << weight;
  }
}

TEST(Calibration, GoesOnAfterACancelledReading) {
  const auto weights = weights_of(demo());
  const auto expected = calibrate(demo(), some_ids());
  CalibrationOptions options;
  options.max_bytes = 1;
  const auto calibration = calibrate(demo(), some_ids(), options);
  for (const std::string& weight : {weights.at(0), weights.at(3)}) {
    {
      CancelToken token;
      const CancelScope scope(token);
      token.request();
      EXPECT_ERROR(calibration->moments(weight), ErrorCode::Cancelled, "cancelled");
    }
    const auto moments = calibration->moments(weight), whole = expected->moments(weight);
    ASSERT_NE(moments, nullptr) << weight;
    EXPECT_EQ(moments->samples, 300) << weight;
    EXPECT_EQ(moments->products, whole->products) << weight;
  }
}

// Its rows are read by ids as well, so they count for themselves, apart from the head's inputs.
TEST(Calibration, TablesThatAreHeadsHaveInputs) {
  const mil::Model model = demo();
  const auto calibration = calibrate(demo(), some_ids());
  const auto& block = model.program.function("main").block();
  std::set<const mil::Var*> tables;
  const mil::Var* table = nullptr;
  for (const auto& operation : block.operations()) {
    if (operation->type() == "gather") tables.insert(operation->input_var("x"));
    const auto product = mil::product_of(*operation);
    if (product && tables.count(product->operands[1].var()) != 0) {
      table = product->operands[1].var();
    }
  }
  ASSERT_NE(table, nullptr);
  const auto moments = calibration->moments(table->name);
  ASSERT_NE(moments, nullptr);
  EXPECT_EQ(moments->size, table->type.dims[1]);
  EXPECT_EQ(moments->samples, 300);
  // The squares of a norm's results, and a tenth of their mean.
  double trace = 0;
  for (int64_t i = 0; i < moments->size; ++i) {
    trace += double{moments->products[static_cast<size_t>(i * (moments->size + 1))]};
  }
  const auto again = calibration->moments(table->name);
  EXPECT_EQ(again->products, moments->products);
  for (int64_t i = 0; i < moments->size; ++i) {
    EXPECT_GE(double{moments->products[static_cast<size_t>(i * (moments->size + 1))]},
              0.09 * trace / static_cast<double>(moments->size));
  }
}

}  // namespace
}  // namespace pippin::app
