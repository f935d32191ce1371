#include "pippin/cli/release/step_records.h"

#include <chrono>
#include <cstdio>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/app/facts/date.h"
#include "pippin/base/error.h"
#include "pippin/base/files/child_process.h"
#include "pippin/base/files/output.h"
#include "pippin/base/platform/program_path.h"
#include "pippin/base/stopwatch.h"
#include "pippin/io/digest.h"

namespace pippin::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::hours kLongestStep{24 * 30};
constexpr const char* kStepsFile = "steps.json";

std::optional<Json> read_output(const fs::path& file) {
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored) || fs::file_size(file, ignored) == 0) return std::nullopt;
  try {
    Json json = Json::load(file);
    if (json.is_object()) return json;
  } catch (const Error&) {  // text, or a part of JSON
  }
  return std::nullopt;
}

StepRecord read_record(const std::string& name, const Json& json) {
  StepRecord record;
  record.name = name;
  record.key = json.get_string("key");
  record.command = json.get_strings("command");
  record.status = static_cast<int>(json.at("status").as_int(0, 255));
  record.date = json.get_string("date");
  record.seconds = json.get_float("seconds");
  record.error = json.get_string_or("error", "");
  return record;
}

}  // namespace

StepRecords::StepRecords(fs::path output) : folder_(std::move(output)) {
  folder_ /= "records";
  fs::create_directories(folder_);
  const fs::path file = folder_ / kStepsFile;
  if (!fs::exists(file)) return;
  const Json steps = Json::load(file);
  for (const auto& [name, json] : steps.members()) {
    records_[std::string(name)] = read_record(std::string(name), json);
  }
}

fs::path StepRecords::output_of(const std::string& name) const {
  return folder_ / (name + ".json");
}

bool StepRecords::has(const std::string& name, const std::string& key) const {
  const auto found = records_.find(name);
  if (found == records_.end() || found->second.key != key) return false;
  return read_output(output_of(name)).has_value() || found->second.status == 0;
}

StepRecord StepRecords::run(const std::string& name, const std::string& key,
                            const Arguments& arguments, bool may_reuse) {
  if (may_reuse && has(name, key)) {
    StepRecord record = records_.at(name);
    record.is_reused = true;
    record.result = read_output(output_of(name));
    fmt::print(stderr, "pippin: {}: done on {}\n", name, record.date);
    return record;
  }
  records_.erase(name);
  save();
  StepRecord record;
  record.name = name;
  record.key = key;
  record.command = arguments;
  fmt::print(stderr, "pippin: {}: pippin {}\n", name, fmt::join(arguments, " "));
  Arguments command = arguments;
  command.insert(command.begin(), program_path());
  const fs::path file = output_of(name);
  const auto start = std::chrono::steady_clock::now();
  const ChildResult child = run_child(
      command, kLongestStep,
      {file, [](std::string_view piece) { std::fwrite(piece.data(), 1, piece.size(), stderr); }});
  record.seconds = seconds_since(start);
  record.date = app::utc_now();
  record.status = child.end == ChildResult::End::Exited ? child.status : 128 + child.status;
  record.result = read_output(file);
  if (record.status != 0) record.error = child.last_line;
  // A step without a result is run again next time.
  if (record.status == 0 || record.result) {
    records_[name] = record;
    save();
  }
  return record;
}

void StepRecords::save() const {
  JsonWriter writer(1);
  writer.begin_object();
  for (const auto& [name, record] : records_) {
    writer.key(name).begin_object();
    writer.member("key", record.key)
        .member("command", record.command)
        .member("status", record.status)
        .member("date", record.date)
        .member("seconds", record.seconds)
        .member("error", record.error)
        .end_object();
  }
  write_file(folder_ / kStepsFile, writer.end_object().text() + "\n");
}

std::string step_key(const std::vector<std::string>& parts) {
  Digest digest = Digest::sha256();
  for (const std::string& part : parts) {
    digest.update(as_byte_span(fmt::format("{}:{}", part.size(), part)));
  }
  return digest.finish();
}

}  // namespace pippin::cli
