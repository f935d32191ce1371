#include <gtest/gtest.h>

#include "pippin/base/allocations_testing.h"
#include "pippin/base/error.h"
#include "tests/memory/hostile.h"

namespace pippin {

std::string repeated(std::string_view text, size_t count) {
  std::string result;
  result.reserve(text.size() * count);
  for (size_t i = 0; i < count; ++i) result += text;
  return result;
}

std::string joined(size_t count, const std::function<std::string(size_t)>& make) {
  std::string result;
  for (size_t i = 0; i < count; ++i) result += make(i);
  return result;
}

namespace {

// The peak bytes of the reader, above those before it.
int64_t bytes_of(const Hostile& hostile, std::string& error) {
  reset_peak_bytes();
  const int64_t before = live_bytes();
  try {
    hostile.read(hostile.file);
  } catch (const Error& failure) {
    error = failure.what();
  }
  return peak_bytes() - before;
}

class Memory : public testing::TestWithParam<Hostile> {};

TEST_P(Memory, IsInProportionToTheFile) {
  const Hostile& hostile = GetParam();
  std::string error;
  const int64_t bytes = bytes_of(hostile, error);
  const auto size = static_cast<double>(hostile.file.size());
  EXPECT_LE(static_cast<double>(bytes), hostile.most * size + (1 << 20))
      << hostile.name << ": " << bytes << " bytes for a file of " << size << ", "
      << static_cast<double>(bytes) / size << "-fold; " << error.substr(0, 200);
  EXPECT_EQ(error.find('\n'), error.npos);
  EXPECT_LT(error.size(), 2000U) << hostile.name;
}

std::string name_of(const testing::TestParamInfo<Hostile>& info) {
  std::string name;
  for (const char c : info.param.name)
    name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

#define HOSTILE(suite, files) \
  INSTANTIATE_TEST_SUITE_P(suite, Memory, testing::ValuesIn(files()), name_of)
HOSTILE(Weights, hostile_weights);
HOSTILE(Texts, hostile_texts);
HOSTILE(Programs, hostile_programs);
HOSTILE(Tokenizers, hostile_tokenizers);
HOSTILE(Pictures, hostile_pictures);
HOSTILE(Sounds, hostile_sounds);
HOSTILE(Caches, hostile_caches);

// The count works: it detects a reader that takes a thousand times the file's size.
TEST(MemoryCount, SeesWhatIsTaken) {
  const Hostile taker{"taker", 1, std::string(10'000, 'x'),
                      [](const std::string& file) { std::string(file.size() * 1000, 'x'); }};
  std::string error;
  EXPECT_GE(bytes_of(taker, error), 10'000'000);
}

}  // namespace
}  // namespace pippin
