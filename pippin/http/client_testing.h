// For tests only: a client that sends given bytes, one by one if needed.
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
  std::string body;  // joined chunks
  bool is_complete = false;
  std::vector<int> interim;  // statuses below 200 that preceded it
};

// A blocking connection to a server on loopback; closed on destruction.
class Client {
 public:
  explicit Client(uint16_t port);
  explicit Client(const std::string& socket_path);
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client();

  // Returns false if the server has closed the connection.
  bool send(std::string_view bytes);
  void send_request(std::string_view method, std::string_view target, std::string_view body = {},
                    const Fields& headers = {});
  // Reads the next answer. Waits at most one minute for each byte.
  Answer read_answer(bool is_head = false);
  // Reads until the received bytes, including answers, contain `text`; returns false if the
  // connection ends first.
  bool read_until(std::string_view text);
  const std::string& received() const { return received_; }
  void finish();     // ends sending; reading continues
  void reset();      // resets the connection at once
  bool is_closed();  // the connection closes within a minute, without more data
  void set_small_buffer();

 private:
  bool fill();
  int socket_ = -1;
  std::string received_;
};

// Sends one request over a new connection.
Answer ask(uint16_t port, std::string_view method, std::string_view target,
           std::string_view body = {}, const Fields& headers = {});

// Returns the port of "http://127.0.0.1:8080".
uint16_t port_of(const std::string& url);

}  // namespace pippin::http
