// A connection of the server: one request after another, each with one answer. Used only by the
// server's thread.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/steady_timer.hpp>

#include "pippin/http/loop.h"
#include "pippin/http/transport.h"

namespace pippin::http {

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Shared& shared, Socket socket);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  // A connection above the limit gets 503 once its request's head is read.
  void start(bool is_above_limit);
  // Closes at once if idle, else after the answer.
  void stop();
  // Closes at once, and notifies the reply.
  void drop_connection();
  // Returns whether it began after the server had begun to stop.
  bool is_late() const { return is_late_; }

  // --- for the answer `number` (Request::number); ignored for earlier answers ---
  void send(uint64_t number, Response response);
  void begin(uint64_t number, const Response& head, std::string comment,
             std::chrono::milliseconds silence);
  void write(uint64_t number, std::string_view piece);
  void end(uint64_t number);
  void abandon(uint64_t number);  // the reply was dropped without an answer

 private:
  class Answer;
  friend class Answer;

  void forget();
  void read_request();
  void limit_reading();
  void on_head(const ErrorCodeOfIo& error);
  bool limit_body();
  void read_body();
  void on_body(const ErrorCodeOfIo& error);
  bool fill_request();
  void refuse(const ErrorCodeOfIo& error);
  void refuse(int status, std::string_view message);
  const Request& known_head();
  void answer_and_close(const Response& response);

  std::string head_of(const Response& response, const std::string& framing) const;
  void queue(std::string bytes);
  void pump();
  void on_written(const ErrorCodeOfIo& error);
  void finish_answer();
  void linger();

  void watch();
  void look(uint64_t number);
  void look_later(uint64_t number);
  void break_silence();

  Shared& shared_;
  const std::unique_ptr<Transport> transport_;
  std::string peer_;
  PeerPlace place_ = PeerPlace::Elsewhere;
  const bool is_late_;
  bool is_above_limit_ = false;

  boost::beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  std::shared_ptr<Request> request_;  // null until its head is read
  uint64_t body_limit_ = 0;           // of this request
  uint64_t current_ = 0;              // the request in progress; 0: none

  // --- the answer ---
  std::shared_ptr<std::atomic<bool>> is_gone_;
  std::function<void()> when_gone_;
  bool has_begun_ = false, is_chunked_ = false, has_ended_ = false, keeps_alive_ = false;
  bool is_half_closed_ = false;
  std::string comment_;
  std::chrono::milliseconds silence_{};
  std::chrono::steady_clock::time_point last_write_;
  std::deque<std::string> queue_;
  size_t queued_bytes_ = 0;
  std::string out_;         // being written
  size_t num_written_ = 0;  // of these bytes
  bool is_writing_ = false, is_closed_ = false;
  asio::steady_timer look_timer_, silence_timer_;
};

}  // namespace pippin::http
