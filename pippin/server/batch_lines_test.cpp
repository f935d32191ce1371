#include "pippin/server/batch_lines.h"

#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pippin/server/kept_testing.h"

namespace pippin::server {
namespace {

CheckedLines checked(const std::string& text, uint64_t most = 100) {
  return check_lines(
      text, {"/v1/completions", most, [](const std::string& name) { return name == "demo"; }});
}

// "1 invalid_url url", one fault a line.
std::string faults_of(const std::string& text, uint64_t most = 100) {
  std::string result;
  for (const LineFault& fault : checked(text, most).faults) {
    result += fmt::format("{} {} {}\n", fault.line ? std::to_string(*fault.line) : "-", fault.code,
                          fault.param.empty() ? "-" : fault.param);
  }
  return result;
}

TEST(BatchLines, AreCounted) {
  const CheckedLines lines =
      checked(completion_line("a") + "\n \r\n" + completion_line("b", R"("model":"demo")") +
              completion_line("c", R"("stream":false)"));
  EXPECT_EQ(lines.requests, 3u);
  EXPECT_TRUE(lines.faults.empty());
}

TEST(BatchLines, FaultsHaveTheirPlaces) {
  EXPECT_EQ(faults_of("{\n" + completion_line("a") + "[]\n{}"),
            "1 invalid_json_line -\n3 invalid_json_line -\n"
            "4 missing_required_parameter custom_id\n4 missing_required_parameter method\n"
            "4 missing_required_parameter url\n4 missing_required_parameter body\n");
  EXPECT_EQ(faults_of(R"({"custom_id":1,"method":"GET","url":"/v1/embeddings","body":[]})"),
            "1 invalid_type custom_id\n1 invalid_method method\n1 invalid_url url\n"
            "1 invalid_type body\n");
  EXPECT_EQ(faults_of(completion_line("a") + completion_line("") + completion_line("a")),
            "2 invalid_value custom_id\n3 duplicate_custom_id custom_id\n");
  EXPECT_EQ(faults_of(completion_line("a", R"("model":"other")") +
                      completion_line("b", R"("stream":true)") +
                      completion_line("c", R"("background":1)")),
            "1 model_not_found body.model\n2 invalid_value body.stream\n"
            "3 invalid_value body.background\n");
}

TEST(BatchLines, TheFileHasLimits) {
  EXPECT_EQ(faults_of("\n\n"), "- empty_file -\n");
  EXPECT_EQ(faults_of(""), "- empty_file -\n");
  const std::string three = completion_line("a") + completion_line("b") + completion_line("c");
  EXPECT_EQ(faults_of(three, 2), "- too_many_requests -\n");
  EXPECT_EQ(faults_of(three, 3), "");
  std::string many;
  for (int i = 0; i < 300; ++i) many += "x\n";
  EXPECT_EQ(checked(many).faults.size(), 100u);
}

TEST(BatchLines, MessagesNameTheValues) {
  const auto faults =
      checked(completion_line("a") + completion_line("a", R"("model":"other")")).faults;
  ASSERT_EQ(faults.size(), 2u);
  EXPECT_EQ(faults[0].message, "custom_id: \"a\" is also that of line 1.");
  EXPECT_EQ(faults[1].message, "The model \"other\" does not exist.");
}

}  // namespace
}  // namespace pippin::server
