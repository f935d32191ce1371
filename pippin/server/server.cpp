#include "pippin/server/server.h"

#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <utility>

#include <fmt/format.h>

#include "pippin/base/call_context.h"
#include "pippin/base/error.h"
#include "pippin/base/log.h"
#include "pippin/base/stopwatch.h"
#include "pippin/base/threads/thread.h"
#include "pippin/server/batch_runner.h"
#include "pippin/server/local_reply.h"
#include "pippin/server/metrics.h"
#include "pippin/server/page_response.h"
#include "pippin/server/routes.h"
#include "pippin/server/workers.h"

namespace pippin::server {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kWorkers = 4;
constexpr size_t kMaxTasks = 1024;

// Generates names of 24 letters and digits.
class Names {
 public:
  std::string next() {
    constexpr std::string_view kLetters =
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    std::uniform_int_distribution<size_t> letter(0, kLetters.size() - 1);
    std::string name(24, ' ');
    const std::lock_guard lock(mutex_);
    for (char& c : name) c = kLetters[letter(random_)];
    return name;
  }

 private:
  std::mutex mutex_;
  std::mt19937_64 random_{std::random_device()()};
};

// Returns the client's own name of its request if it is safe to log, else a new one.
std::string request_name(const http::Request& request, Names& names) {
  const std::string_view given = request.header("x-request-id");
  const bool is_plain = !given.empty() && given.size() <= 128 &&
                        given.find_first_not_of(
                            "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                            "abcdefghijklmnopqrstuvwxyz-_.:") == std::string_view::npos;
  return is_plain ? std::string(given) : names.next();
}

// Joins field names for a header, without characters that headers cannot contain.
std::string header_list(const std::vector<std::string>& names) {
  constexpr size_t kMost = 1000;
  std::string list;
  for (const std::string& name : names) {
    if (list.size() + name.size() > kMost) return list + ", ...";
    if (!list.empty()) list += ", ";
    for (const char c : name) {
      if (c > ' ' && c < 0x7F && c != ',') list += c;
    }
  }
  return list;
}

}  // namespace

class Server::State {
 public:
  explicit State(Options options);
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State();

  void run();
  void stop() { http_.stop(); }
  std::vector<std::string> urls() const { return http_.urls(); }

 private:
  class Logged;
  struct Running {
    std::string id, path, model;
    Clock::time_point since;
  };

  http::Callbacks callbacks();
  http::Response refusal(const http::Request& head, const ApiError& error);
  std::optional<http::Response> check(const http::Request& head);
  void handle(const std::shared_ptr<const http::Request>& request,
              std::shared_ptr<http::Reply> reply);
  http::Response answer_now(Status status, const http::Request& request);
  http::Response health() const;
  http::Response slots(const http::Request& request) const;
  http::Response requests() const;
  void preload();
  uint64_t body_limit(const http::Request& head) const;
  void begin_batches();
  http::Response answer_line(const http::Request& request, const std::string& id);
  void end_batches();

  const Options options_;
  Access access_;
  Metrics metrics_;
  Names names_;
  std::atomic<bool> is_stopping_{false}, is_preloaded_{false};
  mutable std::mutex mutex_;  // guards the members below
  std::map<uint64_t, Running> running_;
  std::optional<ApiError> preload_error_;
  uint64_t num_lines_ = 0;                 // requests of batches
  const std::unique_ptr<KeptFiles> kept_;  // null: no files

  // Running requests use all of the above until the models are destroyed.
  ModelList models_;
  Endpoints endpoints_;
  http::Server http_;
  FormQueue forms_;                  // for the worker threads
  LongJobs pulls_, transcriptions_;  // for the worker threads
  ToolRunner tools_;
  Workers workers_;
  std::unique_ptr<BatchRunner> batches_;  // null: none yet; guarded by `mutex_`
};

// Adds the common headers to an answer, and reports it to metrics and log when it ends.
class Server::State::Logged final : public LoggedReply {
 public:
  Logged(State& state, const http::Request& request, std::shared_ptr<http::Reply> reply,
         bool in_background = false)
      : state_(state),
        number_(request.number),
        in_background_(in_background),
        reply_(std::move(reply)) {
    record_.id = request_name(request, state.names_);
    record_.method = request.method;
    record_.path = request.path;
    record_.peer = request.peer;
    headers_ = state.access_.headers_for(request);
    headers_.emplace_back("x-request-id", record_.id);
    const std::lock_guard lock(state_.mutex_);
    state_.running_[number_] = {record_.id, record_.path, {}, start_};
  }
  Logged(const Logged&) = delete;
  Logged& operator=(const Logged&) = delete;
  ~Logged() override {
    record_.seconds = seconds_since(start_);
    if (reply_->is_gone()) record_.status = 499;
    {
      const std::lock_guard lock(state_.mutex_);
      state_.running_.erase(number_);
    }
    const std::string_view route = route_label(record_.path);
    state_.metrics_.count_request(route, record_.status);
    state_.metrics_.count_seconds(record_.seconds);
    if (record_.has_usage) state_.metrics_.count_text(record_.model, record_.usage);
    if (state_.options_.log) state_.options_.log(record_);
  }

  const std::string& id() const override { return record_.id; }
  bool in_background() const override { return in_background_; }

  void send(http::Response response) override {
    record_.status = response.status;
    add_headers(response);
    reply_->send(std::move(response));
  }
  void begin(const http::Response& head, std::string comment,
             std::chrono::milliseconds silence) override {
    record_.status = head.status;
    http::Response with = head;
    add_headers(with);
    reply_->begin(with, std::move(comment), silence);
  }
  void write(std::string piece) override { reply_->write(std::move(piece)); }
  void end() override { reply_->end(); }
  bool is_gone() const override { return reply_->is_gone(); }
  void when_gone(std::function<void()> action) override { reply_->when_gone(std::move(action)); }

  void note_model(const std::string& name) override {
    record_.model = name;
    const std::lock_guard lock(state_.mutex_);
    state_.running_[number_].model = name;
  }
  void note_ignored(const std::vector<std::string>& fields) override {
    if (fields.empty()) return;
    headers_.emplace_back("x-ignored-fields", header_list(fields));
  }
  void note_usage(const Usage& usage) override {
    record_.usage = usage;
    record_.has_usage = true;
  }

 private:
  void add_headers(http::Response& response) const {
    response.headers.insert(response.headers.end(), headers_.begin(), headers_.end());
  }

  State& state_;
  const uint64_t number_;
  const bool in_background_;
  const std::shared_ptr<http::Reply> reply_;
  const Clock::time_point start_ = Clock::now();
  http::Fields headers_;
  RequestRecord record_;
};

Server::State::State(Options options)
    : options_(std::move(options)),
      access_(options_.access),
      kept_(options_.files.folder.empty() ? nullptr : std::make_unique<KeptFiles>(options_.files)),
      models_(options_.models),
      endpoints_(models_, forms_, transcriptions_, options_.silence,
                 options_.allows_pulls ? &pulls_ : nullptr,
                 options_.tools.empty() ? nullptr : &tools_, options_.responses, kept_.get()),
      http_(options_.http, callbacks()),
      forms_(options_.form_timeout),
      tools_(options_.tools, options_.tool_timeout),
      workers_(kWorkers, kMaxTasks) {}

Server::State::~State() {
  models_.stop();
}

http::Callbacks Server::State::callbacks() {
  http::Callbacks callbacks;
  callbacks.check = [this](const http::Request& head) { return check(head); };
  callbacks.handle = [this](std::shared_ptr<const http::Request> request,
                            std::shared_ptr<http::Reply> reply) {
    handle(request, std::move(reply));
  };
  callbacks.refuse = [this](const http::Request& head, int status, std::string_view message) {
    return refusal(head, ApiError(status, std::string(message)));
  };
  callbacks.body_limit = [this](const http::Request& head) { return body_limit(head); };
  callbacks.reload = [this] {
    try {
      access_.reload();
      log_info("keys and certificates were read again");
    } catch (const Error& error) {
      log_warn("the keys stay as they were: {}", error.what());
    }
  };
  callbacks.stopping = [this] {
    is_stopping_ = true;
    {
      const std::lock_guard lock(mutex_);
      if (batches_ != nullptr) batches_->stop();
    }
    if (options_.on_stopping) options_.on_stopping();
  };
  return callbacks;
}

void Server::State::run() {
  CallContext context;
  context.logger = CallContext::current().logger;
  Thread loader([&] {
    const ContextScope scope(context);
    preload();
  });
  http_.run();
  end_batches();
  models_.stop();
  const std::lock_guard lock(mutex_);
  if (preload_error_) fail(ErrorCode::InvalidFile, "{}", preload_error_->what());
}

// A model that cannot be loaded at start ends the server.
void Server::State::preload() {
  try {
    models_.find_adapters();
    for (const std::string& name : models_.names_at_start()) models_.open(name);
    is_preloaded_ = true;
    begin_batches();
    if (options_.on_ready && !is_stopping_) options_.on_ready();
  } catch (const ApiError& error) {
    if (is_stopping_) return;
    {
      const std::lock_guard lock(mutex_);
      preload_error_ = error;
    }
    http_.stop();
  }
}

// A form has a few bytes in addition to its file.
uint64_t Server::State::body_limit(const http::Request& head) const {
  constexpr uint64_t kFormBytes = uint64_t{64} << 10;
  const Route* const route = find_route(head.method, head.path);
  const bool is_upload =
      kept_ != nullptr && route != nullptr && route->handler == &Endpoints::create_file;
  const uint64_t most = options_.http.max_body_bytes;
  return is_upload ? std::max(most, options_.files.max_file + kFormBytes) : most;
}

// Once the first model is loaded.
void Server::State::begin_batches() {
  if (kept_ == nullptr) return;
  constexpr size_t kVectors = 2;  // each occupies a core or more
  BatchRunnerOptions runner;
  // Twice as many as run, so that there are always some to begin.
  runner.texts =
      2 * static_cast<size_t>(std::max<int64_t>(options_.models.scheduler.max_running, 1));
  runner.vectors = kVectors;
  runner.has_model = [this](const std::string& name) { return models_.settings(name) != nullptr; };
  runner.call = [this](const http::Request& request, const std::string& id) {
    return answer_line(request, id);
  };
  runner.on_job = options_.on_batch;
  const std::lock_guard lock(mutex_);
  if (!is_stopping_) batches_ = std::make_unique<BatchRunner>(*kept_, std::move(runner));
}

// Answers a request of a batch, in the calling thread.
http::Response Server::State::answer_line(const http::Request& line, const std::string& id) {
  constexpr uint64_t kFirstNumber = uint64_t{1} << 62;  // unlike those of other requests
  http::Request request = line;
  request.peer = "batch";
  request.headers.emplace_back("x-request-id", id);
  {
    const std::lock_guard lock(mutex_);
    request.number = kFirstNumber + num_lines_++;
  }
  const auto reply = std::make_shared<LocalReply>(id);
  const LocalReply::Leaving leaving{*reply};
  {
    const auto logged = std::make_shared<Logged>(*this, request, reply, /*in_background=*/true);
    try {
      (endpoints_.*find_route(request.method, request.path)->handler)(request, logged);
    } catch (...) {
      logged->send(error_response(api_error(std::current_exception()), dialect_of(request.path)));
    }
  }
  return reply->receive();
}

void Server::State::end_batches() {
  std::unique_ptr<BatchRunner> ending;
  {
    const std::lock_guard lock(mutex_);
    ending = std::move(batches_);
  }
}

// Answers a request that is not handled.
http::Response Server::State::refusal(const http::Request& head, const ApiError& error) {
  http::Response response = error_response(error, dialect_of(head.path));
  for (auto& field : access_.headers_for(head)) response.headers.push_back(std::move(field));
  response.headers.emplace_back("x-request-id", request_name(head, names_));
  metrics_.count_request(route_label(head.path), error.status);
  return response;
}

std::optional<http::Response> Server::State::check(const http::Request& head) {
  const bool is_page = page::find(head.path) != nullptr;
  const Route* const route = find_route(head.method, head.path);
  const Status status = route == nullptr ? Status::None : route->status;
  const bool is_public = is_page || status == Status::Health || status == Status::Root;
  if (const auto error = access_.check(head, is_public)) return refusal(head, *error);
  if (head.method == "OPTIONS") return std::nullopt;
  if (is_stopping_ && status != Status::Health) {
    return refusal(head, ApiError(503, "the server is ending"));
  }
  if (route != nullptr || (is_page && (head.method == "GET" || head.method == "HEAD"))) {
    return std::nullopt;
  }
  if (!is_page && !is_routed(head.path)) {
    return refusal(head, ApiError(404, fmt::format("unknown endpoint {}", head.path)));
  }
  return refusal(head, ApiError(405, fmt::format("{} does not take {}", head.path, head.method)));
}

void Server::State::handle(const std::shared_ptr<const http::Request>& request,
                           std::shared_ptr<http::Reply> reply) {
  const auto logged = std::make_shared<Logged>(*this, *request, std::move(reply));
  if (request->method == "OPTIONS") return logged->send({.status = 204});
  if (const page::File* file = page::find(request->path)) {
    if (request->path != "/" || wants_page(*request)) {
      return logged->send(page_response(*file, *request));
    }
  }
  const Route& route = *find_route(request->method, request->path);
  const Dialect dialect = dialect_of(request->path);
  try {
    if (route.handler == nullptr) return logged->send(answer_now(route.status, *request));
    const bool is_taken = workers_.add([this, &route, request, logged, dialect] {
      try {
        if (!logged->is_gone()) (endpoints_.*route.handler)(*request, logged);
      } catch (...) {
        logged->send(error_response(api_error(std::current_exception()), dialect));
      }
    });
    if (!is_taken) throw ApiError(503, "too many requests wait");
  } catch (...) {
    logged->send(error_response(api_error(std::current_exception()), dialect));
  }
}

http::Response Server::State::answer_now(Status status, const http::Request& request) {
  switch (status) {
    case Status::Health:
      return health();
    case Status::Slots:
      return slots(request);
    case Status::Requests:
      return requests();
    case Status::Metrics:
      return {.content_type = "text/plain; version=0.0.4; charset=utf-8",
              .body = metrics_.text(models_.all(), http_.num_connections())};
    case Status::Root:
      return {.content_type = "text/plain; charset=utf-8",
              .body = "Ollama is running",  // clients search for these words
              .headers = {{"vary", "accept"}}};
    case Status::Model:
      return endpoints_.model(std::string(name_in_path(request.path)));
    default:
      return endpoints_.models();
  }
}

http::Response Server::State::health() const {
  const bool is_ready = is_preloaded_ && models_.is_ready() && !is_stopping_;
  JsonWriter json;
  json.begin_object();
  json.member("status", is_stopping_ ? "stopping" : is_ready ? "ok" : "loading").end_object();
  http::Response response{.status = is_ready ? 200 : 503, .body = json.text()};
  if (!is_ready) response.headers.emplace_back("retry-after", "1");
  return response;
}

// llama-server's form: one slot for each request that a model can run concurrently.
http::Response Server::State::slots(const http::Request& request) const {
  JsonWriter json;
  json.begin_array();
  int64_t id = 0, idle = 0;
  for (const ModelStatus& status : models_.all()) {
    if (status.model == nullptr || status.shares_model) continue;
    const scheduling::SchedulerState state = status.model->scheduler->state();
    const int64_t running = state.reading + state.decoding;
    const int64_t count = status.model->scheduler->max_running();
    idle += std::max<int64_t>(count - running, 0);
    for (int64_t i = 0; i < count; ++i, ++id) {
      json.begin_object().member("id", id).member("model", status.name);
      json.member("n_ctx", status.model->loaded.model->context());
      json.member("is_processing", i < running).end_object();
    }
  }
  const std::string body = json.end_array().text();
  if (idle == 0 && !http::find_field(request.query, "fail_on_no_slot").empty()) {
    return error_response(ApiError(503, "all slots are in use"), Dialect::LlamaServer);
  }
  return {.body = body};
}

http::Response Server::State::requests() const {
  JsonWriter json;
  json.begin_object().key("requests").begin_array();
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [number, running] : running_) {
      json.begin_object().member("id", running.id).member("path", running.path);
      json.member("model", running.model).member("seconds", seconds_since(running.since));
      json.end_object();
    }
  }
  json.end_array().key("models").begin_array();
  for (const ModelStatus& status : models_.all()) {
    if (status.model == nullptr || status.shares_model) continue;
    const scheduling::SchedulerState state = status.model->scheduler->state();
    json.begin_object().member("model", status.name).member("waiting", state.waiting);
    json.member("reading", state.reading).member("decoding", state.decoding);
    json.member("cache_blocks_used", state.blocks_used).member("cache_blocks", state.blocks);
    json.member("prompt_cache_bytes", state.cache.ram_bytes);
    json.member("steps", state.steps).end_object();
  }
  return {.body = json.end_array().end_object().text()};
}

Server::Server(Options options) : state_(std::make_unique<State>(std::move(options))) {}

Server::~Server() = default;

void Server::run() {
  state_->run();
}

void Server::stop() {
  state_->stop();
}

std::vector<std::string> Server::urls() const {
  return state_->urls();
}

}  // namespace pippin::server
