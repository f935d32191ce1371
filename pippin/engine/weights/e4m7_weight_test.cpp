#include "pippin/engine/weights/e4m7_weight.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pippin/base/files/mapped_file.h"
#include "pippin/base/numbers/float16.h"
#include "pippin/base/testing.h"
#include "pippin/engine/plan.h"
#include "pippin/engine/plan_testing.h"
#include "pippin/io/load_cache.h"

namespace pippin::engine {
namespace {

namespace fs = std::filesystem;
using mil::DataType;

constexpr int64_t kRows = 640, kColumns = 1030;

class Mapped : public mil::TensorSource {
 public:
  explicit Mapped(std::shared_ptr<const MappedFile> file) : file_(std::move(file)) {}
  uint64_t size() const override { return file_->bytes().size(); }
  ByteSpan view() const override { return file_->bytes(); }
  void read(uint64_t offset, MutableByteSpan out) const override {
    std::memcpy(out.data(), file_->bytes().data() + offset, out.size());
  }

 private:
  std::shared_ptr<const MappedFile> file_;
};

class E4M7Weights : public testing::Test {
 protected:
  // Random weights in a file; every `outliers`-th is far too large for a row's scale.
  void write(bool of_bf16, DataType type = DataType::Float16, int64_t outliers = 0) {
    std::mt19937 random(7);
    std::normal_distribution<float> normal(0, 0.02f);
    std::ofstream file(weights_, std::ios::binary | std::ios::trunc);
    for (int64_t i = 0; i < kRows * kColumns; ++i) {
      float value = normal(random);
      if (of_bf16) value = to_float(to_bfloat16(value));
      if (outliers != 0 && i % outliers == 0) value = 300;
      const uint16_t bits =
          type == DataType::Float16 ? to_float16(value).bits : to_bfloat16(value).bits;
      file.write(reinterpret_cast<const char*>(&bits), sizeof(bits));
    }
    type_ = type;
  }

  // The values of `body` from x, as another process computes them.
  std::vector<float> run(const std::string& body, const std::string& dims, Precision precision,
                         const std::shared_ptr<LoadCache>& cache, int64_t rows = 1) {
    const std::string weight_type =
        fmt::format("tensor<{}, {}>", type_ == DataType::Float16 ? "fp16" : "bf16", dims);
    model_ =
        make_model(fmt::format("func main<ios18>(tensor<fp32, [{}, {}]> x) {{\n"
                               "{} w = const()[name = string(\"w\"), val = {}(BLOBFILE(path = "
                               "string(\"@model_path/w\"), offset = uint64(64)))];\n{}}} -> (y);",
                               rows, kColumns, weight_type, weight_type, body));
    for (const auto& operation : model_.program.function("main").block().operations()) {
      if (operation->type() != "const" || operation->output()->name != "w") continue;
      auto& value = const_cast<mil::Value&>(*operation->constant_value());
      value =
          mil::Value::of_source(value.type, std::make_shared<Mapped>(MappedFile::open(weights_)));
    }
    PlanOptions options;
    options.compute.batch_invariant = true;
    options.compute.precision = precision;
    options.compute.cache = cache;
    ThreadPool pool(2);
    const auto plan = Plan::make(model_, "main", options);
    description_ = plan->describe();
    saved_ = plan->saved_bytes();
    read_ = plan->weight_bytes();
    Execution execution(plan, pool);
    State state({});
    execution.bind({{rows, kColumns}}, state);
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    for (float& value : execution.float_input(0)) value = normal(random);
    execution.run();
    const auto output = execution.float_output(0);
    return {output.begin(), output.end()};
  }

  std::string linear(int64_t rows = 1) const {
    return fmt::format(
        "tensor<fp32, [{}, {}]> y = linear(x = x, weight = w)[name = string(\"y\")];\n", rows,
        kRows);
  }
  std::string matrix() const { return fmt::format("[{}, {}]", kRows, kColumns); }
  bool is_narrow() const { return description_.find("(e4m7_") != std::string::npos; }
  std::shared_ptr<LoadCache> cache() const { return std::make_shared<LoadCache>(folder_ / "c"); }

  TempDir folder_;
  const fs::path weights_ = folder_ / "weights";
  DataType type_ = DataType::Float16;
  mil::Model model_;
  std::string description_;
  uint64_t saved_ = 0, read_ = 0;
};

TEST_F(E4M7Weights, OfABf16CheckpointAreKeptIn12BitsWithTheSameResults) {
  for (const DataType type : {DataType::Float16, DataType::BFloat16}) {
    write(true, type);
    for (const int64_t rows : {1, 3, 40}) {
      const auto exact = run(linear(rows), matrix(), Precision::Exact, nullptr, rows);
      EXPECT_FALSE(is_narrow()) << description_;
      EXPECT_EQ(saved_, 0U);
      const auto fast = run(linear(rows), matrix(), Precision::Fast, cache(), rows);
      EXPECT_TRUE(is_narrow()) << description_;
      EXPECT_EQ(read_ + saved_, uint64_t{kRows * kColumns * 2});
      EXPECT_LT(read_, uint64_t{kRows * kColumns * 2 * 6 / 7});
      if (type == DataType::Float16) {
        EXPECT_EQ(fast, exact) << rows;
      } else {  // some tiny ones are exceptions
        for (size_t i = 0; i < fast.size(); ++i) EXPECT_NEAR(fast[i], exact[i], 1e-5);
      }
    }
  }
}

TEST_F(E4M7Weights, OutliersStayWhatTheyAre) {
  write(true, DataType::Float16, 5000);
  const auto exact = run(linear(), matrix(), Precision::Exact, nullptr);
  const auto fast = run(linear(), matrix(), Precision::Fast, cache());
  EXPECT_TRUE(is_narrow());
  for (size_t i = 0; i < fast.size(); ++i) EXPECT_NEAR(fast[i], exact[i], 2e-3);
}

TEST_F(E4M7Weights, WithMoreBitsOrTooManyOutliersStayHalves) {
  write(false);
  const auto exact = run(linear(), matrix(), Precision::Exact, nullptr);
  EXPECT_EQ(run(linear(), matrix(), Precision::Fast, cache()), exact);
  EXPECT_FALSE(is_narrow());
  write(true, DataType::Float16, 100);
  const auto with_outliers = run(linear(), matrix(), Precision::Exact, nullptr);
  EXPECT_EQ(run(linear(), matrix(), Precision::Fast, cache()), with_outliers);
  EXPECT_FALSE(is_narrow());
  EXPECT_TRUE(cache()->entries().empty());
}

TEST_F(E4M7Weights, ServeConvolutionsProductsAndSeveralAtOnce) {
  write(true);
  const auto exact = run(linear(), matrix(), Precision::Exact, nullptr);
  EXPECT_EQ(run(fmt::format("tensor<fp32, [1, {}]> y = matmul(x = x, y = w, transpose_x = "
                            "bool(false), transpose_y = bool(true))[name = string(\"y\")];\n",
                            kRows),
                matrix(), Precision::Fast, cache()),
            exact);
  EXPECT_TRUE(is_narrow()) << description_;
  const std::string convolution = fmt::format(
      "tensor<fp32, [1, {0}, 1, 1]> four = reshape(x = x, shape = tensor<int32, [4]>([1, {0}, 1, "
      "1]))[name = string(\"four\")];\n"
      "tensor<fp32, [1, {1}, 1, 1]> y = conv(x = four, weight = w, strides = tensor<int32, "
      "[2]>([1, 1]), pad_type = string(\"valid\"), pad = tensor<int32, [4]>([0, 0, 0, 0]), "
      "dilations = tensor<int32, [2]>([1, 1]), groups = int32(1))[name = string(\"y\")];\n",
      kColumns, kRows);
  EXPECT_EQ(
      run(convolution, fmt::format("[{}, {}, 1, 1]", kRows, kColumns), Precision::Fast, cache()),
      exact);
  EXPECT_TRUE(is_narrow()) << description_;
  const std::string twice = fmt::format(
      "tensor<fp32, [1, {0}]> a = linear(x = x, weight = w)[name = string(\"a\")];\n"
      "tensor<fp32, [{0}]> b = const()[name = string(\"b\"), val = tensor<fp32, "
      "[{0}]>([{1}])];\n"
      "tensor<fp32, [1, {0}]> c = linear(x = x, weight = w, bias = b)[name = string(\"c\")];\n"
      "tensor<fp32, [1, {0}]> y = add(x = a, y = c)[name = string(\"y\")];\n",
      kRows, fmt::join(std::vector<std::string>(kRows, "1.0"), ", "));
  const uint64_t once = saved_;
  const auto sum = run(twice, matrix(), Precision::Fast, cache());
  EXPECT_TRUE(is_narrow()) << description_;
  EXPECT_EQ(saved_, once) << "of a weight that the package has once";
  for (size_t i = 0; i < sum.size(); ++i) EXPECT_EQ(sum[i], exact[i] + (exact[i] + 1)) << i;
}

TEST_F(E4M7Weights, ArePackedOnceForAllProcesses) {
  write(true, DataType::Float16, 3001);
  const auto first = run(linear(), matrix(), Precision::Fast, cache());
  ASSERT_EQ(cache()->entries().size(), 1U);
  EXPECT_EQ(run(linear(), matrix(), Precision::Fast, cache()), first);
  EXPECT_EQ(cache()->entries().size(), 1U);
  // A damaged entry is made again.
  size_t damaged = 0;
  for (const auto& file : fs::directory_iterator(folder_ / "c")) {
    if (file.file_size() < uint64_t{kRows * kColumns}) continue;
    std::fstream bytes(file.path(), std::ios::binary | std::ios::in | std::ios::out);
    bytes.seekp(1000);
    bytes.write("damaged", 7);
    ++damaged;
  }
  EXPECT_EQ(damaged, 1U);
  EXPECT_EQ(run(linear(), matrix(), Precision::Fast, cache()), first);
  EXPECT_TRUE(is_narrow());
  // Other weights have other entries.
  write(true, DataType::Float16, 4001);
  EXPECT_NE(run(linear(), matrix(), Precision::Fast, cache()), first);
  EXPECT_TRUE(is_narrow());
  EXPECT_EQ(cache()->entries().size(), 2U);
}

TEST_F(E4M7Weights, StayHalvesWhereNothingKeepsThem) {
  write(true);
  const auto exact = run(linear(), matrix(), Precision::Exact, nullptr);
  EXPECT_EQ(run(linear(), matrix(), Precision::Fast, nullptr), exact);
  EXPECT_FALSE(is_narrow());
  const auto small = std::make_shared<LoadCache>(folder_ / "small", 500'000);
  EXPECT_EQ(run(linear(), matrix(), Precision::Fast, small), exact);
  EXPECT_FALSE(is_narrow());
  EXPECT_TRUE(small->entries().empty());
}

}  // namespace
}  // namespace pippin::engine
