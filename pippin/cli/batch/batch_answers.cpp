#include "pippin/cli/batch/batch_answers.h"

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "pippin/app/open/missing_model.h"
#include "pippin/base/bytes.h"
#include "pippin/base/error.h"
#include "pippin/base/files/mapped_file.h"
#include "pippin/base/shortened.h"
#include "pippin/base/text.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/cli/options/pull_display.h"
#include "pippin/io/digest.h"
#include "pippin/io/json.h"
#include "pippin/server/batch_calls.h"

namespace pippin::cli {
namespace {

namespace fs = std::filesystem;

void add_file(const fs::path& path, const std::string& name, Digest& digest, uint64_t& bytes) {
  constexpr size_t kEnd = size_t{64} << 10;
  const auto file = MappedFile::open(path);
  const ByteSpan content = file->bytes();
  digest.update(as_byte_span(fmt::format("{}\n{}\n", name, content.size())));
  digest.update(content.first(std::min(kEnd, content.size())));
  digest.update(content.last(std::min(kEnd, content.size())));
  bytes += content.size();
}

}  // namespace

std::string describe_model(const server::ModelEntry& model) {
  if (model.path.empty()) return model.name;
  const std::string local = local_model(model.path);
  app::check_model_exists(local);
  const fs::path path = local;
  std::vector<fs::path> files;
  if (fs::is_directory(path)) {
    for (const auto& entry : fs::recursive_directory_iterator(path)) {
      const bool is_hidden = entry.path().filename().string().starts_with(".");
      if (entry.is_regular_file() && !is_hidden) files.push_back(entry.path());
    }
  } else {
    files.push_back(path);
  }
  std::sort(files.begin(), files.end());
  Digest digest = Digest::sha256();
  uint64_t bytes = 0;
  for (const fs::path& file : files) {
    add_file(file, fs::relative(file, path).string(), digest, bytes);
  }
  constexpr size_t kDigits = 12;
  return fmt::format("{} ({} files, {}, {})", model.name, files.size(), format_bytes(bytes),
                     digest.finish().substr(0, kDigits));
}

BatchAnswers::BatchAnswers(server::ModelListOptions options)
    : server_(std::move(options), {.limit = 0, .folder = {}}) {
  try {
    const server::OpenedModel opened = server_.models().open("");
    name_ = opened.name;
    writes_ = opened.model != nullptr;
    scores_ = opened.encoder != nullptr && opened.encoder->scores();
    embeds_ = writes_ || (opened.encoder != nullptr && !scores_);
    // Twice as many as run, so that there are always some to begin.
    if (writes_) in_flight_ = 2 * static_cast<size_t>(opened.model->scheduler->max_running());
  } catch (const server::ApiError& error) {
    check_cancel();
    fail(ErrorCode::InvalidFile, "{}", error.what());
  }
}

void BatchAnswers::check(const batch::Request& request, const std::string& where) const {
  const server::BatchEndpoint* const url = server::find_batch_endpoint(request.url);
  if (url == nullptr) {
    fail(ErrorCode::InvalidFile, "{}: url \"{}\" is not one of {}", where, shortened(request.url),
         server::batch_urls());
  }
  const Json body = Json::parse(request.body, where + ": body");
  const std::string model = body.get_string_or("model", "");
  if (!model.empty() && server_.models().settings(model) == nullptr) {
    fail(ErrorCode::InvalidFile, "{}: body.model \"{}\" is not \"{}\" (to accept it: -m {}=MODEL)",
         where, shortened(model), name_, shortened(model));
  }
  const bool fits = url->model == server::BatchModel::Writer   ? writes_
                    : url->model == server::BatchModel::Scorer ? scores_
                                                               : embeds_;
  if (!fits) {
    constexpr const char* kKinds[] = {"writes texts", "scores texts", "embeds texts"};
    fail(ErrorCode::InvalidFile, "{}: {} needs a model that {}, which {} does not", where,
         request.url, kKinds[static_cast<size_t>(url->model)], name_);
  }
  if (body.get_bool_or("stream", false)) {
    fail(ErrorCode::InvalidFile, "{}: body.stream: the answers of a batch come whole", where);
  }
}

batch::Answer BatchAnswers::answer(const std::string& job, const batch::Request& request,
                                   uint64_t seed) {
  http::Response response =
      server_.call(server::batch_call(request, seed), batch::request_id(job, request.custom_id));
  return {response.status, std::move(response.body)};
}

std::vector<batch::Answer> BatchAnswers::embed(const std::string& job,
                                               std::span<const batch::Request* const> requests) {
  std::vector<batch::Answer> answers;
  answers.reserve(requests.size());
  if (requests.size() > 1) {
    JsonWriter body;
    body.begin_object().member("encoding_format", "base64").key("input").begin_array();
    for (const batch::Request* request : requests) {
      body.value(Json::parse(request->body, "body").at("input"));
    }
    batch::Request together = *requests.front();
    together.body = body.end_array().end_object().text();
    const batch::Answer all = answer(job, together, 0);
    if (all.status == 200) {
      for (const Json& one : Json::parse(all.body, "answer").at("data").elements()) {
        JsonWriter json;
        json.begin_object().key("data").begin_array().value(one).end_array().end_object();
        answers.push_back({200, json.text()});
      }
      return answers;
    }
  }
  // One of them may be at fault.
  for (const batch::Request* request : requests) answers.push_back(answer(job, *request, 0));
  return answers;
}

}  // namespace pippin::cli
