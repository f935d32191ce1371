#include "pippin/server/batch_lines.h"

#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/batch/request.h"
#include "pippin/io/json.h"
#include "pippin/server/message_fields.h"

namespace pippin::server {
namespace {

constexpr size_t kMostFaults = 100;
constexpr const char* kMissing = "missing_required_parameter";
constexpr const char* kInvalid = "invalid_value";

// Collects the faults of one file.
class LineChecker {
 public:
  explicit LineChecker(const LineChecks& checks) : checks_(checks) {}

  void check(std::string_view text, int64_t line) {
    line_ = line;
    ++checked_.requests;
    try {
      const Json request = Json::parse(text, "line");
      if (!request.is_object()) return add("invalid_json_line", "", "This line is not an object.");
      check_id(request);
      check_text(request, "method", "POST", "invalid_method");
      check_text(request, "url", checks_.endpoint, "invalid_url");
      check_body(request);
    } catch (const Error& error) {
      add("invalid_json_line", "",
          fmt::format("This line is not valid JSON, or above its limits: {}", error.what()));
    }
  }

  CheckedLines finish() {
    line_.reset();
    if (checked_.requests == 0) add("empty_file", "", "The file has no request.");
    if (checked_.requests > checks_.max_requests) {
      add("too_many_requests", "",
          fmt::format("The file has {} requests, a batch at most {}.", checked_.requests,
                      checks_.max_requests));
    }
    return std::move(checked_);
  }

 private:
  void add(std::string code, std::string param, std::string message) {
    if (checked_.faults.size() == kMostFaults) return;
    checked_.faults.push_back({std::move(code), std::move(message), std::move(param), line_});
  }

  // Returns nothing, after a fault, if the member is absent or not a string.
  std::optional<std::string> text_of_member(const Json& object, const char* name) {
    const auto value = object.find(name);
    if (!value) {
      add(kMissing, name, fmt::format("Missing required parameter: '{}'.", name));
      return std::nullopt;
    }
    if (value->is_string()) return std::string(value->as_string());
    add("invalid_type", name, fmt::format("{}: expected a string.", name));
    return std::nullopt;
  }

  void check_id(const Json& request) {
    const auto id = text_of_member(request, "custom_id");
    if (!id) return;
    if (id->empty()) return add(kInvalid, "custom_id", "custom_id: is empty.");
    const auto [place, is_new] = first_lines_.emplace(*id, *line_);
    if (is_new) return;
    add("duplicate_custom_id", "custom_id",
        fmt::format("custom_id: {} is also that of line {}.", shown(*id), place->second));
  }

  void check_text(const Json& request, const char* name, const std::string& expected,
                  const char* code) {
    const auto text = text_of_member(request, name);
    if (!text || *text == expected) return;
    add(code, name, fmt::format("{}: {} is not {}.", name, shown(*text), shown(expected)));
  }

  void check_body(const Json& request) {
    const auto body = request.find("body");
    if (!body) return add(kMissing, "body", "Missing required parameter: 'body'.");
    if (!body->is_object()) return add("invalid_type", "body", "body: expected an object.");
    if (const auto model = body->find("model")) {
      if (!model->is_string())
        return add("invalid_type", "body.model", "model: expected a string.");
      const std::string name(model->as_string());
      if (!checks_.has_model(name)) {
        add("model_not_found", "body.model",
            fmt::format("The model {} does not exist.", shown(name)));
      }
    }
    for (const char* name : {"stream", "background"}) {
      const auto value = body->find(name);
      if (!value || (value->is_bool() && !value->as_bool())) continue;
      add(kInvalid, fmt::format("body.{}", name),
          fmt::format("{}: is not possible in a batch, whose answers come whole.", name));
    }
  }

  const LineChecks& checks_;
  CheckedLines checked_;
  std::optional<int64_t> line_;  // the current one
  std::unordered_map<std::string, int64_t> first_lines_;
};

}  // namespace

CheckedLines check_lines(std::string_view text, const LineChecks& checks) {
  constexpr int64_t kCancelLines = 256;
  LineChecker checker(checks);
  int64_t line = 0;
  batch::each_line(text, true, [&](std::string_view one, size_t) {
    if (++line % kCancelLines == 0) check_cancel();
    if (!batch::is_blank(one, batch::InputKind::Requests)) checker.check(one, line);
  });
  return checker.finish();
}

}  // namespace pippin::server
