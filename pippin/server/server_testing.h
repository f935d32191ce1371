// For tests only: a server of the demo model, in this process.
#pragma once

#include <memory>
#include <string>

#include "pippin/base/exception.h"
#include "pippin/base/threads/thread.h"
#include "pippin/http/client_testing.h"
#include "pippin/io/json.h"
#include "pippin/server/server.h"

namespace pippin::server {

// Options for the demo model on a free port.
inline Options demo_options() {
  Options options;
  options.http.addresses.push_back({.host = "127.0.0.1", .port = 0});
  options.models.models.push_back({"demo", ""});
  options.models.choice.load.threads = 2;
  return options;
}

class DemoServer {
 public:
  explicit DemoServer(Options options = demo_options())
      : server_(std::move(options)),
        port_(http::port_of(server_.urls().front())),
        thread_([this] { server_.run(); }) {
    while (ask("GET", "/health").status == 503) continue;
  }
  DemoServer(const DemoServer&) = delete;
  DemoServer& operator=(const DemoServer&) = delete;
  ~DemoServer() {
    server_.stop();
    server_.stop();
  }

  uint16_t port() const { return port_; }
  Server& server() { return server_; }
  http::Answer ask(std::string_view method, std::string_view target, std::string_view body = {},
                   const http::Fields& headers = {}) const {
    return http::ask(port_, method, target, body, headers);
  }
  http::Answer post(std::string_view target, std::string_view body) const {
    return ask("POST", target, body);
  }

 private:
  Server server_;
  uint16_t port_;
  Thread thread_;
};

constexpr const char* kStory =
    R"("messages":[{"role":"user","content":"Tell me a story about a fox called Mia."}])";

// Returns a request to /v1/chat/completions with kStory and further fields.
inline std::string story_chat(const std::string& more = "") {
  return "{" + std::string(kStory) + (more.empty() ? "" : "," + more) + "}";
}

inline Json json_of(const http::Answer& answer) {
  if (answer.body.empty()) {
    throw Error(ErrorCode::Network, "no answer: status " + std::to_string(answer.status));
  }
  return Json::parse(answer.body, "answer");
}

// "400 temperature: temperature is -1, must be 0 or more"
inline std::string error_of(const http::Answer& answer) {
  const Json error = json_of(answer).at("error");
  return std::to_string(answer.status) + " " + error.get_string_or("param", "-") + ": " +
         error.get_string("message");
}

}  // namespace pippin::server
