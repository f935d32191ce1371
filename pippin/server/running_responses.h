// Responses in progress: other requests can retrieve and cancel them, and those in the background
// outlive their client.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "pippin/http/server.h"

namespace pippin::server {

// The reply to the request for a response. In the background, it outlives the connection of the
// client.
class RunningResponse final : public http::Reply {
 public:
  RunningResponse(std::shared_ptr<http::Reply> client, bool in_background)
      : client_(std::move(client)), in_background_(in_background) {}

  void send(http::Response response) override { client_->send(std::move(response)); }
  void begin(const http::Response& head, std::string comment,
             std::chrono::milliseconds silence) override {
    client_->begin(head, std::move(comment), silence);
  }
  void write(std::string piece) override { client_->write(std::move(piece)); }
  void end() override { client_->end(); }
  bool is_gone() const override;
  void when_gone(std::function<void()> action) override;

  // Makes the work end soon, with fail() of its writer.
  void cancel();
  bool is_cancelled() const;

  // Stores the current response object; `has_ended`: it is final.
  void tell(std::string text, bool has_ended);
  std::string text() const;
  // Waits for the end, for `longest` at most.
  std::string wait(std::chrono::milliseconds longest) const;

 private:
  const std::shared_ptr<http::Reply> client_;
  const bool in_background_;
  mutable std::mutex mutex_;  // guards the members below
  mutable std::condition_variable changed_;
  std::function<void()> action_;
  std::string text_;
  bool is_cancelled_ = false, has_ended_ = false;
};

// Running responses by id. Thread-safe.
class RunningResponses {
 public:
  void add(const std::string& id, std::shared_ptr<RunningResponse> response);
  void remove(const std::string& id);
  std::shared_ptr<RunningResponse> find(const std::string& id) const;  // null: none

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<RunningResponse>> responses_;
};

}  // namespace pippin::server
