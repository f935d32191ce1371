// For tests only: a client that sends what it is told, byte by byte if need be.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/http/message.h"

namespace pippin::http {

struct Answer {
  int status = 0;  // 0: the connection ended before an answer
  Fields headers;
  std::string body;  // of chunks, joined
  bool is_complete = false;
  std::vector<int> interim;  // the statuses below 200 that came before it
};

// A blocking connection to a server on loopback. Destruction closes it.
class Client {
 public:
  explicit Client(uint16_t port);
  explicit Client(const std::string& socket_path);
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client();

  // False where the server has closed.
  bool send(std::string_view bytes);
  void send_request(std::string_view method, std::string_view target, std::string_view body = {},
                    const Fields& headers = {});
  // The next answer. Waits a minute at most for each byte.
  Answer read_answer(bool is_head = false);
  // Until what was received, answers and all, has `text` in it; false where the end comes first.
  bool read_until(std::string_view text);
  const std::string& received() const { return received_; }
  void finish();     // sending; reading goes on
  void reset();      // the connection, at once
  bool is_closed();  // nothing more comes, within a minute
  void set_small_buffer();

 private:
  bool fill();
  int socket_ = -1;
  std::string received_;
};

// One request over a connection of its own.
Answer ask(uint16_t port, std::string_view method, std::string_view target,
           std::string_view body = {}, const Fields& headers = {});

// The port of "http://127.0.0.1:8080".
uint16_t port_of(const std::string& url);

}  // namespace pippin::http
