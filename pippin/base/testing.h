// For tests only: temporary folders, the locations of test data, and checks of errors.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/base/error.h"
#include "pippin/base/files/temporary_folder.h"

namespace pippin {

// A new folder, removed at the end of the test.
class TempDir : public TemporaryFolder {
 public:
  TempDir() : TemporaryFolder("test") {}
};

// Returns the folder of the demo model: a trained model with a tokenizer and a chat template, in
// every checkout.
std::filesystem::path demo_model_folder();

// Returns the root of the checkout. Only testing.cpp contains the path, so that other files need no
// recompilation in another checkout.
std::filesystem::path source_dir();

// Returns the folders of test data, in order: the repository's archives (tests/data), unpacked into
// the build folder, and the data folder of PIPPIN_SHARED (default: ../shared next to the sources),
// which has more of the same. Missing folders are left out.
std::vector<std::filesystem::path> data_folders();

// Returns the file or folder `name` of the test data, or nothing if it is missing: the test then
// skips with a message. With PIPPIN_REQUIRE_SHARED=1, throws if it is missing, which fails the
// test. If both places have a part of a folder, returns the repository's; shared_entries returns
// all.
std::optional<std::filesystem::path> shared_data(const std::string& name);

// Returns the files and folders in the folder `name` of the test data, by name; entries in both
// places, once. If it is missing, returns an empty list or throws.
std::vector<std::filesystem::path> shared_entries(const std::string& name);

// Returns whether a test requested entries and only one of the places existed.
bool wants_more_entries();

// Returns the reason for a skip for lack of this data. testing_main.cpp counts them.
std::string shared_data_absent(std::string_view name);

// Returns how an error differs from one with `code` whose message contains `part`, or nothing.
std::string fault_of(const Error& error, ErrorCode code, std::string_view part);

}  // namespace pippin

// NOLINTBEGIN(bugprone-macro-parentheses): a name that is declared
// PIPPIN_SHARED_OR_SKIP(path, "models/stories260K"); declares `path` in a TEST, or skips it.
#define PIPPIN_SHARED_OR_SKIP(variable, name)                                \
  const auto variable##_found = ::pippin::shared_data(name);                 \
  if (!variable##_found) GTEST_SKIP() << ::pippin::shared_data_absent(name); \
  const std::filesystem::path& variable = *variable##_found
// PIPPIN_SHARED_ENTRIES_OR_SKIP(folders, "architectures"): the same with shared_entries.
#define PIPPIN_SHARED_ENTRIES_OR_SKIP(variable, name)   \
  const auto variable = ::pippin::shared_entries(name); \
  if ((variable).empty()) GTEST_SKIP() << ::pippin::shared_data_absent(name)
// NOLINTEND(bugprone-macro-parentheses)

// EXPECT_ERROR(Json::parse("{", "file"), ErrorCode::InvalidFile, "file: the text ends");
// Expects that the statement throws an Error with this code whose message contains this part.
#define EXPECT_ERROR(statement, code, part)                                                     \
  do {                                                                                          \
    try {                                                                                       \
      statement;                                                                                \
      ADD_FAILURE() << #statement " throws nothing";                                            \
    } catch (const ::pippin::Error& thrown) {                                                   \
      EXPECT_EQ(::pippin::fault_of(thrown, code, part), "") << "is what " #statement " throws"; \
    }                                                                                           \
  } while (false)
