// For tests only: temporary folders, the places of the test data, and what errors say.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/base/error.h"
#include "pippin/base/temporary_folder.h"

namespace pippin {

// A fresh folder that is removed at the end of the test.
class TempDir : public TemporaryFolder {
 public:
  TempDir() : TemporaryFolder("test") {}
};

// The folder of the demo model: a trained model with a tokenizer and a chat template, that every
// checkout has.
std::filesystem::path demo_model_folder();

// The top of the checkout. One file knows it (testing.cpp), so that no other has to be compiled
// anew in another checkout.
std::filesystem::path source_dir();

// The folders of test data, the first first: the repository's archives (tests/data), unpacked into
// the build folder, and the data folder of PIPPIN_SHARED (default: ../shared next to the sources),
// which has more of the same. A folder that is absent is left out.
std::vector<std::filesystem::path> data_folders();

// The file or folder `name` of the test data, or nothing where it is absent: the test then skips
// and says so. With PIPPIN_REQUIRE_SHARED=1 an absent one throws, which fails the test. Of a folder
// that both places have a part of this is the repository's; shared_entries has all.
std::optional<std::filesystem::path> shared_data(const std::string& name);

// The files and folders in the folder `name` of the test data, by name; one that both places have,
// once. Empty, or an exception, where it is absent.
std::vector<std::filesystem::path> shared_entries(const std::string& name);

// Whether a test has asked for entries and only one of the places was there.
bool wants_more_entries();

// The reason of a test that skips for want of it. testing_main.cpp counts them.
std::string shared_data_absent(std::string_view name);

// How an error is other than one of `code` that says `part`, or nothing.
std::string fault_of(const Error& error, ErrorCode code, std::string_view part);

}  // namespace pippin

// NOLINTBEGIN(bugprone-macro-parentheses): a name that is declared
// PIPPIN_SHARED_OR_SKIP(path, "models/stories260K"); declares `path` in a TEST, or skips it.
#define PIPPIN_SHARED_OR_SKIP(variable, name)                                \
  const auto variable##_found = ::pippin::shared_data(name);                 \
  if (!variable##_found) GTEST_SKIP() << ::pippin::shared_data_absent(name); \
  const std::filesystem::path& variable = *variable##_found
// PIPPIN_SHARED_ENTRIES_OR_SKIP(folders, "architectures"): the same of shared_entries.
#define PIPPIN_SHARED_ENTRIES_OR_SKIP(variable, name)   \
  const auto variable = ::pippin::shared_entries(name); \
  if ((variable).empty()) GTEST_SKIP() << ::pippin::shared_data_absent(name)
// NOLINTEND(bugprone-macro-parentheses)

// EXPECT_ERROR(Json::parse("{", "file"), ErrorCode::InvalidFile, "file: the text ends");
// The statement throws an Error with this code and this part of a message.
#define EXPECT_ERROR(statement, code, part)                                                     \
  do {                                                                                          \
    try {                                                                                       \
      statement;                                                                                \
      ADD_FAILURE() << #statement " throws nothing";                                            \
    } catch (const ::pippin::Error& thrown) {                                                   \
      EXPECT_EQ(::pippin::fault_of(thrown, code, part), "") << "is what " #statement " throws"; \
    }                                                                                           \
  } while (false)
