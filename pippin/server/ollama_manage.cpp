// /api/pull, /api/delete and /api/copy, in ollama's form, and endpoints that are not supported.
#include <algorithm>
#include <mutex>
#include <span>

#include "pippin/app/open/hub_model.h"
#include "pippin/app/open/pull.h"
#include "pippin/base/error.h"
#include "pippin/io/digest.h"
#include "pippin/server/endpoints.h"
#include "pippin/server/line_stream.h"
#include "pippin/server/model_names.h"
#include "pippin/server/request_json.h"

namespace pippin::server {
namespace {

// Reads `model`, or `name`, which older clients send.
std::string read_name(const Json& body) {
  auto name = find_string(body, "model");
  if (!name || name->empty()) name = find_string(body, "name");
  if (!name || name->empty()) throw ApiError(400, "model: is missing", "model");
  return *name;
}

std::string status_line(std::string_view status) {
  JsonWriter json;
  json.begin_object().member("status", status).end_object();
  return json.text();
}

// Writes the progress lines of a download. Any thread may call it.
class PullLines {
 public:
  PullLines(Endpoints::Replying reply, const std::string& model, bool streams,
            std::chrono::milliseconds silence)
      : reply_(std::move(reply)), model_(model), streams_(streams) {
    Digest digest = Digest::sha256();
    digest.update(std::as_bytes(std::span(model)));
    digest_ = "sha256:" + digest.finish();
    if (!streams_) return;
    begin_lines(*reply_, silence, status_line("pulling manifest"));
    write(status_line("pulling manifest"));
  }
  void on_progress(uint64_t done, uint64_t total) {
    if (!streams_) return;
    const std::lock_guard lock(mutex_);
    const auto now = Clock::now();
    if (done < total && now - last_ < kPause) return;
    last_ = now;
    JsonWriter json;
    json.begin_object().member("status", "pulling " + model_).member("digest", digest_);
    json.member("total", total).member("completed", done).end_object();
    write(json.text());
  }
  void succeed() {
    if (!streams_) return reply_->send({.body = status_line("success")});
    const std::lock_guard lock(mutex_);
    write(status_line("success"));
    reply_->end();
  }
  void fail(const ApiError& error) {
    if (!streams_) return reply_->send(error_response(error, Dialect::Ollama));
    const std::lock_guard lock(mutex_);
    write(error_body(error, Dialect::Ollama));
    reply_->end();
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kPause{100};

  void write(const std::string& line) { reply_->write(line + "\n"); }

  const Endpoints::Replying reply_;
  const std::string model_;
  const bool streams_;
  std::string digest_;  // clients distinguish progress bars by it
  std::mutex mutex_;
  Clock::time_point last_{};
};

}  // namespace

void Endpoints::check_may_pull() const {
  if (pulls_ != nullptr) return;
  throw ApiError(403, "others can reach this server without a key: they may not change its models");
}

void Endpoints::ollama_pull(const http::Request& request, const Replying& reply) {
  const Json body = parse_body(request.body);
  const std::string name(plain_name(read_name(body)));
  const bool streams = find_bool(body, "stream").value_or(true);
  check_may_pull();
  const auto statuses = models_.all();
  const auto known = std::find_if(statuses.begin(), statuses.end(), [&](const ModelStatus& status) {
    return status.name == name ||
           std::count(status.aliases.begin(), status.aliases.end(), name) > 0;
  });
  const std::string path = known == statuses.end() ? name : known->path;
  const bool is_repository = !path.empty() && app::repository_of(path).has_value();
  if (known == statuses.end() && !is_repository) {
    throw ApiError(400,
                   "model: \"" + name +
                       "\" is not a repository of the Hugging Face Hub: give "
                       "org/name, or org/name:TAG of a GGUF",
                   "model");
  }
  const auto pull = [this, path, name, streams, is_repository, is_new = known == statuses.end(),
                     reply] {
    auto lines = std::make_shared<PullLines>(reply, name, streams, silence_);
    try {
      if (is_repository) {
        const auto observe = [&](const std::string&, hub::PullOptions& options) {
          options.progress = [lines](uint64_t done, uint64_t total) {
            lines->on_progress(done, total);
          };
          return lines;
        };
        // Bytes downloaded before a cancellation are kept for the next try.
        pulls_->run(*reply, [&] { return app::pull({.repo = path}, observe); });
      }
      if (is_new) models_.add({name, path});
      lines->succeed();
    } catch (...) {
      lines->fail(api_error(std::current_exception()));
    }
  };
  if (!pulls_->add(pull)) throw ApiError(503, "too many downloads wait");
}

// Deletes the files if no other model of the server is from the same repository.
void Endpoints::ollama_delete(const http::Request& request, const Replying& reply) {
  check_may_pull();
  const std::string name = read_name(parse_body(request.body));
  const auto path = models_.remove(name);
  const auto repository = path ? app::repository_of(*path) : std::nullopt;
  if (repository) {
    const auto statuses = models_.all();
    const bool is_used =
        std::any_of(statuses.begin(), statuses.end(), [&](const ModelStatus& status) {
          const auto other = app::repository_of(status.path);
          return other && other->id == repository->id;
        });
    if (!is_used) app::remove_pulled(*path);
  }
  reply->send({.content_type = "text/plain; charset=utf-8"});
}

void Endpoints::ollama_copy(const http::Request& request, const Replying& reply) {
  check_may_pull();
  const Json body = parse_body(request.body);
  const auto source = find_string(body, "source"), destination = find_string(body, "destination");
  if (!source || source->empty()) throw ApiError(400, "source: is missing", "source");
  if (!destination) throw ApiError(400, "destination: is missing", "destination");
  models_.add_alias(*source, std::string(plain_name(*destination)));
  reply->send({.content_type = "text/plain; charset=utf-8"});
}

void Endpoints::ollama_refuse(const http::Request& request, const Replying& /*reply*/) {
  throw ApiError(501, request.path +
                          " is not supported: models are files of this machine or of the "
                          "Hugging Face Hub, and `pippin convert` makes packages of them");
}

}  // namespace pippin::server
