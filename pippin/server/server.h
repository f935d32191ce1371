// A server of language models: OpenAI's and Anthropic's endpoints over HTTP.
//
//   server::Server server({.http = ..., .models = ...});
//   server.run();  // until stop(), or a signal if it may take them
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
#include "pippin/server/model_list.h"
#include "pippin/shell/chat_tool.h"

namespace pippin::server {

// A request that was answered, for a log. No texts, no keys.
struct RequestRecord {
  std::string id, method, path, peer, model;
  int status = 0;  // 499: the client left first
  double seconds = 0;
  Usage usage;  // of text
  bool has_usage = false;
};

struct Options {
  http::ServerOptions http;
  ModelListOptions models;
  AccessOptions access;
  ResponseStoreOptions responses;
  std::chrono::milliseconds silence{5000};         // of a stream, before a comment
  std::chrono::milliseconds form_timeout{10'000};  // to compile what an answer has to be
  std::vector<shell::ChatTool> tools = {};         // commands that clients may have run
  std::chrono::milliseconds tool_timeout{60'000};
  bool allows_pulls = false;  // clients may download models, and remove those
  // Called by any thread.
  std::function<void(const RequestRecord& record)> log = {};
  // Called once each: when the first model can answer, and when the end begins.
  std::function<void()> on_ready = {}, on_stopping = {};
};

class Server {
 public:
  // Listens, and loads nothing yet. Throws as http::Server, ModelList, Access and ResponseStore.
  explicit Server(Options options);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();

  // Loads the first model, while /health says so, and serves. Throws what is wrong with that model.
  void run();
  void stop();  // as http::Server::stop()
  std::vector<std::string> urls() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace pippin::server
