// A server of language models: OpenAI's and Anthropic's endpoints over HTTP.
//
//   server::Server server({.http = ..., .models = ...});
//   server.run();  // until stop(), or a signal if it handles them
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "pippin/http/server.h"
#include "pippin/server/access.h"
#include "pippin/server/endpoints.h"
#include "pippin/server/kept_files.h"
#include "pippin/server/model_list.h"
#include "pippin/shell/chat_tool.h"

namespace pippin::server {

// An answered request, for a log. It has no texts and no keys.
struct RequestRecord {
  std::string id, method, path, peer, model;
  int status = 0;  // 499: the client disconnected first
  double seconds = 0;
  Usage usage;  // of text
  bool has_usage = false;
};

struct Options {
  http::ServerOptions http;
  ModelListOptions models;
  AccessOptions access;
  ResponseStoreOptions responses;
  FilesOptions files = {};
  std::chrono::milliseconds silence{5000};         // of a stream, before a keep-alive
  std::chrono::milliseconds form_timeout{10'000};  // to compile the form of an answer
  std::vector<shell::ChatTool> tools = {};         // commands that clients may run
  std::chrono::milliseconds tool_timeout{60'000};
  bool allows_pulls = false;  // clients may download models, and remove them
  // May be called by any thread.
  std::function<void(const RequestRecord& record)> log = {};
  // Each is called once: when the first model can answer, and when the server begins to stop.
  std::function<void()> on_ready = {}, on_stopping = {};
  // Called before requests of a batch are computed, with the path of a file that should be created
  // if this process crashes (batch/shard.h).
  std::function<void(const std::filesystem::path& path)> on_batch = {};
};

class Server {
 public:
  // Listens, without loading a model yet. Throws the errors of http::Server, ModelList, Access,
  // ResponseStore and KeptFiles.
  explicit Server(Options options);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();

  // Loads the first model, while /health reports that, and serves. Throws the error of a model that
  // cannot be loaded.
  void run();
  void stop();  // as http::Server::stop()
  std::vector<std::string> urls() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace pippin::server
