#include "pippin/engine/weights/cached_array.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pippin/base/files/mapped_file.h"
#include "pippin/base/files/mapped_origin.h"
#include "pippin/base/testing.h"
#include "pippin/base/threads/thread_pool.h"
#include "pippin/engine/plan.h"
#include "pippin/engine/plan_testing.h"
#include "pippin/io/load_cache.h"
#include "pippin/mil/derived_source.h"

namespace pippin::engine {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kRows = 256, kColumns = 128;

// The floats of a file, times a factor: counts how often they are read.
class Scaled : public mil::DerivedSource {
 public:
  Scaled(std::shared_ptr<const MappedFile> file, uint64_t size, float factor, int& reads)
      : file_(std::move(file)),
        bytes_(file_->bytes().first(size)),
        factor_(factor),
        reads_(reads) {}
  uint64_t size() const override { return bytes_.size(); }
  void read(uint64_t offset, MutableByteSpan out) const override {
    ++reads_;
    for (size_t i = 0; i < out.size(); i += sizeof(float)) {
      float value = 0;
      std::memcpy(&value, bytes_.data() + offset + i, sizeof(float));
      value *= factor_;
      std::memcpy(out.data() + i, &value, sizeof(float));
    }
  }
  bool describe(mil::Recipe& recipe) const override {
    recipe.step("scaled").number(static_cast<int64_t>(factor_)).bytes(bytes_);
    return true;
  }

 private:
  std::shared_ptr<const MappedFile> file_;
  ByteSpan bytes_;
  float factor_;
  int& reads_;
};

// Byte i is i % 251; reading the last one fails on request.
class Counted : public mil::DerivedSource {
 public:
  explicit Counted(uint64_t size, bool fails = false) : size_(size), fails_(fails) {}
  uint64_t size() const override { return size_; }
  void read(uint64_t offset, MutableByteSpan out) const override {
    ++reads;
    if (fails_ && offset + out.size() == size_) fail(ErrorCode::Io, "the last byte is lost");
    for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::byte>((offset + i) % 251);
  }
  bool describe(mil::Recipe&) const override { return false; }
  mutable std::atomic<int> reads{0};

 private:
  uint64_t size_;
  bool fails_;
};

mil::Value bytes_of(const std::shared_ptr<const Counted>& source) {
  return mil::Value::of_source(
      mil::ValueType::tensor(mil::DataType::UInt8, {static_cast<int64_t>(source->size())}), source);
}

TEST(ReadOnAllThreads, GivesWhatReadingGives) {
  for (const uint64_t size : {1U, 1000U, (1U << 20) - 1, 1U << 20, (1U << 20) + 1, 5'000'003U}) {
    const auto source = std::make_shared<const Counted>(size);
    const auto bytes = read_on_all_threads(bytes_of(source));
    EXPECT_EQ(source->reads, size < 1U << 20 ? 1 : default_num_threads()) << size;
    EXPECT_TRUE(bytes == bytes_of(source).read_bytes()) << size;
  }
}

TEST(ReadOnAllThreads, ThrowsWhatReadingThrows) {
  EXPECT_THROW(read_on_all_threads(bytes_of(std::make_shared<const Counted>(3U << 20, true))),
               Error);
}

class CachedArray : public testing::Test {
 protected:
  void SetUp() override { write(1); }

  // Other content in the same file, with a modification time an hour ago.
  void write(float first) {
    std::vector<float> numbers(kRows * kColumns);
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = first + static_cast<float>(i % 7);
    std::ofstream file(weights_, std::ios::binary);
    file.write(reinterpret_cast<const char*>(numbers.data()),
               static_cast<std::streamsize>(numbers.size() * sizeof(float)));
    file.close();
    fs::last_write_time(weights_, fs::file_time_type::clock::now() - std::chrono::hours(1));
  }

  // y = W 1, as another process would compute it.
  std::vector<float> run(float factor, std::shared_ptr<LoadCache> cache) {
    mil::Model model = make_model(
        fmt::format("func main<ios18>(tensor<fp32, [1, {1}]> x) {{\n"
                    "tensor<fp32, [{0}, {1}]> w = const()[name = string(\"w\"), val = "
                    "tensor<fp32, [{0}, {1}]>(BLOBFILE(path = string(\"@model_path/w\"), offset = "
                    "uint64(64)))];\n"
                    "tensor<fp32, [1, {0}]> y = linear(x = x, weight = w)[name = string(\"y\")];\n"
                    "}} -> (y);",
                    kRows, kColumns));
    for (const auto& operation : model.program.function("main").block().operations()) {
      if (operation->type() != "const" || operation->output()->name != "w") continue;
      auto& value = const_cast<mil::Value&>(*operation->constant_value());
      value = mil::Value::of_source(
          value.type, std::make_shared<Scaled>(MappedFile::open(weights_),
                                               kRows * kColumns * sizeof(float), factor, reads_));
    }
    PlanOptions options;
    options.compute.cache = std::move(cache);
    ThreadPool pool(1);
    Execution execution(Plan::make(model, "main", options), pool);
    State state({});
    execution.bind({{1, kColumns}}, state);
    std::fill_n(execution.float_input(0).begin(), kColumns, 1.0F);
    execution.run();
    const auto output = execution.float_output(0);
    return {output.begin(), output.end()};
  }

  std::shared_ptr<LoadCache> cache() const { return std::make_shared<LoadCache>(folder_ / "c"); }

  TempDir folder_;
  const fs::path weights_ = folder_ / "weights";
  int reads_ = 0;
};

TEST_F(CachedArray, IsReadOnceForAllProcesses) {
  const auto expected = run(2, nullptr);
  EXPECT_EQ(expected[0], 1014);  // twice 128 ones and the sum of i % 7
  reads_ = 0;
  EXPECT_EQ(run(2, cache()), expected);
  EXPECT_EQ(reads_, 1);
  EXPECT_EQ(run(2, cache()), expected);
  EXPECT_EQ(reads_, 1) << "found by its operands' bytes";
  EXPECT_EQ(cache()->entries().size(), 1U);
}

TEST_F(CachedArray, OtherParametersAndOtherBytesAreOtherArrays) {
  const auto shared = cache();
  const auto once = run(1, shared), twice = run(2, shared);
  EXPECT_NE(once, twice);
  EXPECT_EQ(cache()->entries().size(), 2U);
  write(5);
  const auto changed = run(1, cache());
  EXPECT_NE(changed, once);
  EXPECT_EQ(changed, run(1, nullptr));
  write(1);
  reads_ = 0;
  EXPECT_EQ(run(1, cache()), once);
  EXPECT_EQ(reads_, 0) << "the first content again";
}

TEST_F(CachedArray, AFileThatJustChangedHasNoIdentity) {
  const auto fresh = MappedFile::open(weights_);
  const auto origin = origin_of(fresh->bytes().subspan(100, 10));
  ASSERT_TRUE(origin);
  EXPECT_FALSE(origin->settled) << "its other time cannot be set back";
  EXPECT_EQ(origin->offset, 100U);
  EXPECT_EQ(origin->size, kRows * kColumns * sizeof(float));
  const std::vector<std::byte> memory(10);
  EXPECT_FALSE(origin_of(memory));
  EXPECT_FALSE(origin_of({}));
}

TEST_F(CachedArray, AnAliasLeadsPastTheOperands) {
  // The program itself has not changed for some seconds.
  const auto program = MappedFile::open("/proc/self/exe");
  const auto origin = origin_of(program->bytes().first(kRows * kColumns * sizeof(float)));
  ASSERT_TRUE(origin);
  if (!origin->settled) GTEST_SKIP() << "the test was built a moment ago";
  mil::Model model = make_model(
      "func main<ios18>(tensor<fp32, [1]> x) {\n"
      "tensor<fp32, [1]> y = relu(x = x)[name = string(\"y\")];\n} -> (y);");
  mil::Operation& constant = model.program.function("main").block().append("const");
  mil::Var* var = constant.add_output("w", mil::ValueType::tensor(mil::DataType::Float32, {32768}));
  int reads = 0, made = 0;
  constant.attributes()["val"] =
      mil::Value::of_source(var->type, std::make_shared<Scaled>(program, 131072, 3.0F, reads));
  const auto make = [&] {
    ++made;
    return std::vector<std::byte>(131072, std::byte{7});
  };
  for (int i = 0; i < 2; ++i) {
    const auto own = cache();
    const ArrayRequest request{var, 131072, mil::Opset::CoreML8, "", own.get()};
    EXPECT_EQ(*shared_array(request, make), std::byte{7});
  }
  EXPECT_EQ(made, 1);
  size_t aliases = 0;
  for (const auto& file : fs::directory_iterator(folder_ / "c")) {
    aliases += file.path().extension() == ".alias" ? 1 : 0;
  }
  EXPECT_EQ(aliases, 1U);
}

}  // namespace
}  // namespace pippin::engine
