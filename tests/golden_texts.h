// For tests: golden encoders with a tokenizer whose words are ids, so that their inputs are texts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/testing.h"
#include "pippin/io/npz.h"
#include "tests/word_tokenizer.h"

namespace pippin::testing_models {

// Copies the model of a folder of shared data, with a tokenizer and writable files.
inline void copy_golden(const std::filesystem::path& golden, const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  fs::copy(golden, folder, fs::copy_options::recursive);
  fs::permissions(folder, fs::perms::owner_write, fs::perm_options::add);
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    fs::permissions(entry, fs::perms::owner_write, fs::perm_options::add);
  }
  write_word_tokenizer(folder, 160);
}

// The texts and golden numbers of such a folder.
class GoldenTexts {
 public:
  explicit GoldenTexts(const std::filesystem::path& golden)
      : file_(NpzFile::open(golden / "golden.npz")) {}

  // The tokens of a row with this type, or all of them; no padding.
  std::vector<int32_t> ids(size_t row, int type = -1) const {
    const auto ids = file_.read("input_ids"), mask = file_.read("attention_mask");
    const auto length = static_cast<size_t>(ids.shape.at(1));
    std::vector<int32_t> chosen;
    for (size_t i = row * length; i < (row + 1) * length; ++i) {
      if (mask.as<int32_t>()[i] == 0) continue;
      if (type >= 0 && file_.read("token_type_ids").as<int32_t>()[i] != type) continue;
      chosen.push_back(ids.as<int32_t>()[i]);
    }
    return chosen;
  }
  std::string text(size_t row, int type = -1) const { return words_of(ids(row, type)); }
  std::vector<double> numbers(const std::string& name, size_t row) const {
    const auto all = file_.read(name).to_doubles();
    const size_t width = all.size() / 3;
    return {all.begin() + static_cast<std::ptrdiff_t>(row * width),
            all.begin() + static_cast<std::ptrdiff_t>((row + 1) * width)};
  }

 private:
  NpzFile file_;
};

inline void expect_near(const std::vector<double>& a, const std::vector<double>& b,
                        double tolerance) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], tolerance) << i;
}

}  // namespace pippin::testing_models
