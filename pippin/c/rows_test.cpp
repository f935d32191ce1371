// Rows of JSON for tabular models.
#include <fstream>
#include <string>

#include "pippin/c/c_testing.h"
#include "pippin/mil/proto/wire_testing.h"

namespace pippin::c {
namespace {

namespace wire = mil::wire;

// Counts of the words "a", "b" and "c", as an array.
std::string word_counts() {
  constexpr uint32_t kDictVectorizer = 603;
  const std::string words = wire::field(1, "a") + wire::field(1, "b") + wire::field(1, "c");
  return wire::model(
      wire::description({{"words", wire::dictionary_type(true)}}, {{"x", wire::array_type({3})}}),
      kDictVectorizer, wire::field(1, words));
}

class CRows : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto path = folder_ / "m.mlmodel";
    std::ofstream(path, std::ios::binary) << word_counts();
    pippin_model* model = nullptr;
    ASSERT_WORKS(pippin_model_load(path.c_str(), nullptr, &model, &error));
    ASSERT_WORKS(pippin_function_open(model, nullptr, &function_, &error));
    pippin_model_free(model);
  }
  void TearDown() override { pippin_function_free(function_); }

  std::string predict(const char* rows) {
    char* results = nullptr;
    pippin_error* error = nullptr;
    if (pippin_function_predict_rows(function_, rows, nullptr, &results, &error) != PIPPIN_OK) {
      EXPECT_EQ(results, nullptr);
      return taken(error);
    }
    std::string text = results;
    pippin_free(results);
    return text;
  }

  TempDir folder_;
  pippin_function* function_ = nullptr;
};

TEST_F(CRows, HoldDictionaries) {
  EXPECT_EQ(predict(R"({"words": {"c": 2, "a": 0.5, "other": 7}})"), R"({"x": [0.5, 0, 2]})");
  EXPECT_EQ(predict(R"( [{"words": {"b": NaN}}, {"words": {}}])"),
            "[{\"x\": [0, NaN, 0]},\n {\"x\": [0, 0, 0]}]\n");
  EXPECT_EQ(predict("[]"), "[]\n");
}

TEST_F(CRows, FaultsNameTheRow) {
  const auto expect = [&](const char* rows, pippin_code code, std::string_view words) {
    const std::string said = predict(rows);
    EXPECT_EQ(said.find(std::to_string(code) + ": "), 0U) << said;
    EXPECT_NE(said.find(words), std::string::npos) << said;
  };
  expect("[{", PIPPIN_ERROR_INVALID_FILE, "rows: ");
  expect(R"([{"words": {"a": "1"}}])", PIPPIN_ERROR_INVALID_FILE, "[0].words.a");
  expect(R"({"letters": {}})", PIPPIN_ERROR_INVALID_FILE, "no input of this name");
  expect(R"([{"words": {}}, {}])", PIPPIN_ERROR_INVALID_ARGUMENT, "row 1: ");
  char* results = nullptr;
  EXPECT_FAILS(pippin_function_predict_rows(function_, nullptr, nullptr, &results, &error),
               PIPPIN_ERROR_INVALID_ARGUMENT, "rows is NULL");
  EXPECT_FAILS(pippin_function_predict_rows(nullptr, "{}", nullptr, &results, &error),
               PIPPIN_ERROR_INVALID_ARGUMENT, "function is NULL");
  EXPECT_FAILS(pippin_function_predict_rows(function_, "{}", nullptr, nullptr, &error),
               PIPPIN_ERROR_INVALID_ARGUMENT, "results is NULL");
  pippin_cancel* cancel = nullptr;
  ASSERT_WORKS(pippin_cancel_new(&cancel, &error));
  pippin_cancel_trigger(cancel);
  EXPECT_FAILS(
      pippin_function_predict_rows(function_, R"({"words": {}})", cancel, &results, &error),
      PIPPIN_ERROR_CANCELLED, "cancel");
  pippin_cancel_free(cancel);
}

}  // namespace
}  // namespace pippin::c
