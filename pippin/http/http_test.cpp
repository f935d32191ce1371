#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "pippin/base/error.h"
#include "pippin/base/files/temporary_folder.h"
#include "pippin/base/testing.h"
#include "pippin/base/threads/thread.h"
#include "pippin/http/client_testing.h"
#include "pippin/http/server.h"

namespace pippin::http {
namespace {

using namespace std::chrono_literals;

// A server with a few answers: /echo, /stream, /silent (only keep-alive comments), /never.
class Http : public testing::Test {
 protected:
  void start(ServerOptions options = {}) {
    if (options.addresses.empty()) options.addresses.push_back({.host = "127.0.0.1", .port = 0});
    Callbacks callbacks;
    callbacks.check = [](const Request& head) -> std::optional<Response> {
      if (head.path == "/forbidden") return Response{.status = 403, .body = "no"};
      return std::nullopt;
    };
    callbacks.handle = [this](std::shared_ptr<const Request> request,
                              std::shared_ptr<Reply> reply) { handle(*request, reply); };
    callbacks.body_limit = body_limit_;
    callbacks.refuse = [](const Request& head, int status, std::string_view message) {
      return Response{.status = status,
                      .body = std::string(message),
                      .headers = {{"from", std::string(head.header("origin"))}}};
    };
    server_ = std::make_unique<Server>(options, callbacks);
    port_ = port_of(server_->urls().front());
    thread_ = Thread([this] { server_->run(); });
  }

  void stop() {
    if (server_ == nullptr) return;
    server_->stop();
    server_->stop();
    thread_ = Thread();
    kept_.clear();
    server_.reset();
  }
  void TearDown() override { stop(); }

  void handle(const Request& request, const std::shared_ptr<Reply>& reply) {
    if (request.path == "/echo") {
      reply->send({.content_type = "text/plain",
                   .body = request.method + " " + std::string(find_field(request.query, "q")) +
                           " " + request.body});
    } else if (request.path == "/large") {
      reply->send({.body = std::string(8 << 20, 'x')});
    } else if (request.path == "/stream") {
      reply->begin({.content_type = "text/event-stream"}, "", 1h);
      for (int i = 0; i < 5; ++i) reply->write("piece " + std::to_string(i) + "\n");
      reply->end();
    } else if (request.path == "/flood") {
      reply->begin({}, "", 1h);
      for (int i = 0; i < 64 && !reply->is_gone(); ++i) reply->write(std::string(1 << 20, 'x'));
      keep(reply);
    } else if (request.path == "/silent") {
      reply->begin({.content_type = "text/event-stream"}, ": still here\n\n", 30ms);
      keep(reply);
    } else if (request.path == "/never") {
      keep(reply);
    } else if (request.path == "/dropped") {
      return;
    }
  }
  void keep(const std::shared_ptr<Reply>& reply) {
    reply->when_gone([this] { ++gone_; });
    kept_.push_back(reply);
    ++kept_count_;
  }
  bool waits_for_gone(int count) const {
    for (int tries = 0; tries < 1000 && gone_ < count; ++tries) std::this_thread::sleep_for(5ms);
    return gone_ == count;
  }

  std::unique_ptr<Server> server_;
  std::function<uint64_t(const Request& head)> body_limit_;
  uint16_t port_ = 0;
  Thread thread_;
  // Waits until the server holds `count` unanswered requests.
  bool waits_for_kept(int count) const {
    for (int tries = 0; tries < 1000 && kept_count_ < count; ++tries) {
      std::this_thread::sleep_for(5ms);
    }
    return kept_count_ == count;
  }

  std::vector<std::shared_ptr<Reply>> kept_;  // used by the server's thread
  std::atomic<int> kept_count_{0};
  std::atomic<int> gone_{0};
};

TEST_F(Http, AnswersRequestAfterRequest) {
  start();
  Client client(port_);
  for (int i = 0; i < 3; ++i) {
    client.send_request("POST", "/echo?q=a%20b+c", "body");
    const Answer answer = client.read_answer();
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body, "POST a b c body");
    EXPECT_EQ(find_field(answer.headers, "connection"), "keep-alive");
  }
  // Pipelined: answers come in the order of the requests.
  for (const char* name : {"1", "2", "3"}) {
    client.send_request("GET", "/echo?q=" + std::string(name));
  }
  for (const char* name : {"1", "2", "3"}) {
    EXPECT_EQ(client.read_answer().body, "GET " + std::string(name) + " ");
  }
  client.send_request("HEAD", "/echo");
  EXPECT_TRUE(client.read_answer(true).is_complete);
  client.send_request("GET", "/echo", "", {{"connection", "close"}});
  EXPECT_EQ(client.read_answer().status, 200);
  EXPECT_TRUE(client.is_closed());
}

TEST_F(Http, StreamsInChunks) {
  start();
  const Answer answer = ask(port_, "GET", "/stream");
  EXPECT_EQ(answer.body, "piece 0\npiece 1\npiece 2\npiece 3\npiece 4\n");
  EXPECT_TRUE(answer.is_complete);
  // HTTP/1.0 has no chunks: the body ends with the connection.
  Client old(port_);
  old.send("GET /stream HTTP/1.0\r\n\r\n");
  EXPECT_EQ(old.read_answer().body, answer.body);
}

TEST_F(Http, CommentsBreakSilence) {
  start();
  Client client(port_);
  client.send_request("GET", "/silent");
  EXPECT_TRUE(client.read_until("e\r\n: still here\n\n\r\ne\r\n: still here"));
  client.reset();
  EXPECT_TRUE(waits_for_gone(1));
}

TEST_F(Http, NoticesClientsThatLeave) {
  start();
  for (const char* path : {"/never", "/silent"}) {
    {
      Client client(port_);
      client.send_request("GET", path);
      std::this_thread::sleep_for(20ms);
      client.reset();
    }
    EXPECT_TRUE(waits_for_gone(1)) << path;
    gone_ = 0;
    { Client(port_).send_request("GET", path); }  // closes at once
    EXPECT_TRUE(waits_for_gone(1)) << path;
    gone_ = 0;
  }
}

TEST_F(Http, AnswersClientsThatOnlyFinishSending) {
  start();
  Client client(port_);
  client.send_request("GET", "/large");
  client.finish();
  EXPECT_EQ(client.read_answer().body.size(), size_t{8 << 20});
  Client waiting(port_);
  waiting.send_request("GET", "/never");
  waiting.finish();
  EXPECT_TRUE(waiting.read_until("102 Processing"));  // the server's probe
  std::this_thread::sleep_for(200ms);
  EXPECT_EQ(gone_, 0);
}

TEST_F(Http, RefusesBeforeTheBody) {
  start();
  Client client(port_);
  client.send("POST /forbidden HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\n");
  EXPECT_EQ(client.read_answer().status, 403);
  EXPECT_EQ(ask(port_, "GET", "/dropped").status, 500);
}

TEST_F(Http, HoldsToItsLimits) {
  start({.max_header_bytes = 1024, .max_body_bytes = 1000, .read_timeout = 300ms});
  EXPECT_EQ(ask(port_, "POST", "/echo", std::string(1000, 'x')).status, 200);
  const Answer large = ask(port_, "POST", "/echo", std::string(1001, 'x'));
  EXPECT_EQ(large.status, 413);
  EXPECT_EQ(large.body, "the body of the request has more than 1000 bytes");
  const Answer flood = ask(port_, "GET", "/echo", "", {{"x", std::string(2000, 'x')}});
  EXPECT_EQ(flood.status, 431);
  // With chunks, the size is not known in advance.
  Client chunks(port_);
  chunks.send("POST /echo HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n");
  for (int i = 0; i < 3; ++i) chunks.send("190\r\n" + std::string(400, 'x') + "\r\n");
  EXPECT_EQ(chunks.read_answer().status, 413);
  // A slow client.
  Client slow(port_);
  slow.send("GET /echo HTTP/1.1\r\nhost");
  EXPECT_EQ(slow.read_answer().status, 408);
  Client silent(port_);
  EXPECT_TRUE(silent.is_closed());
  EXPECT_EQ(silent.received(), "");
}

TEST_F(Http, GivesUpWhoDoesNotRead) {
  start({.max_unread_bytes = size_t{4} << 20});
  Client client(port_);
  client.set_small_buffer();
  client.send_request("GET", "/flood");
  EXPECT_TRUE(waits_for_gone(1));
}

TEST_F(Http, RefusesWhatIsNoRequest) {
  start();
  for (const char* wrong :
       {"\x16\x03\x01\x02", "GET\r\n\r\n", "GET /a b HTTP/1.1\r\n\r\n", "GET / HTTP/9.9\r\n\r\n",
        "GET / HTTP/1.1\r\nno colon\r\n\r\n", "GET /%zz HTTP/1.1\r\n\r\n",
        "GET /%00 HTTP/1.1\r\n\r\n", "GET /%ff HTTP/1.1\r\n\r\n", "GET x HTTP/1.1\r\n\r\n",
        "POST / HTTP/1.1\r\ncontent-length: -1\r\n\r\n",
        "POST / HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n12"}) {
    Client client(port_);
    client.send(wrong);
    client.finish();
    const Answer answer = client.read_answer();
    EXPECT_TRUE(answer.status == 400 || answer.status == 505 || answer.status == 0)
        << wrong << " " << answer.status;
    EXPECT_TRUE(client.is_closed()) << wrong;
  }
  EXPECT_EQ(ask(port_, "GET", "/echo").status, 200);
}

TEST_F(Http, AsksForBodiesThatWait) {
  start();
  Client client(port_);
  client.send(
      "POST /echo HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n");
  EXPECT_TRUE(client.read_until("100 Continue"));
  client.send("ab");
  const Answer answer = client.read_answer();
  EXPECT_EQ(answer.body, "POST  ab");
  EXPECT_EQ(answer.interim, std::vector{100});
  // The next request on the same connection is answered without delay.
  client.send_request("POST", "/echo", "cd");
  const Answer next = client.read_answer();
  EXPECT_EQ(next.body, "POST  cd");
  EXPECT_TRUE(next.interim.empty());
}

TEST_F(Http, TurnsAwayTooMany) {
  start({.max_connections = 2});
  Client first(port_), second(port_);
  first.send_request("GET", "/echo");
  second.send_request("GET", "/echo");
  EXPECT_EQ(first.read_answer().status, 200);
  EXPECT_EQ(second.read_answer().status, 200);
  for (const std::string method : {"OPTIONS", "POST", ""}) {
    Client third(port_);
    if (!method.empty()) third.send_request(method, "/echo", "", {{"origin", "http://a"}});
    const Answer answer = third.read_answer();
    EXPECT_EQ(answer.status, method == "OPTIONS" ? 200 : 503) << method;
    EXPECT_EQ(find_field(answer.headers, "from"), method == "POST" ? "http://a" : "") << method;
    EXPECT_TRUE(third.is_closed()) << method;
  }
}

TEST_F(Http, SomePathsTakeLargerBodies) {
  body_limit_ = [](const Request& head) { return head.method == "PUT" ? 3000 : 1000; };
  start({.max_body_bytes = 10});
  const std::string text(2000, 'x');
  EXPECT_EQ(ask(port_, "PUT", "/echo", text).body, "PUT  " + text);
  EXPECT_EQ(ask(port_, "POST", "/echo", text).body,
            "the body of the request has more than 1000 bytes");
  EXPECT_EQ(ask(port_, "PUT", "/echo", std::string(3001, 'x')).status, 413);
}

// The complete fields of a head that is broken, too long or too slow are available.
TEST_F(Http, RefusalsHaveTheHeadAsFarAsItIsWhole) {
  start({.max_header_bytes = 1024, .max_body_bytes = 10, .read_timeout = 300ms});
  const std::string from = "origin: http://a\r\n";
  const std::vector<std::pair<std::string, int>> cases = {
      {"GET / HTTP/1.1\r\n" + from + "no colon\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nno colon\r\n" + from + "\r\n", 400},
      {"G{T / HTTP/1.1\r\n" + from + "\r\n", 400},
      {"GET x HTTP/1.1\r\n" + from + "\r\n", 400},
      {"GET / HTTP/9.9\r\n" + from + "\r\n", 505},
      {"POST / HTTP/1.1\r\ncontent-length: x\r\n" + from + "\r\n", 400},
      {"POST / HTTP/1.1\r\n" + from + "content-length: 11\r\n\r\n", 413},
      {"POST / HTTP/1.1\r\n" + from + "content-length: 5\r\n\r\nab", 408},
      {"POST / HTTP/1.1\r\n" + from + "transfer-encoding: chunked\r\n\r\nx\r\n", 400},
      {"GET / HTTP/1.1\r\n" + from + "x: " + std::string(2000, 'x') + "\r\n\r\n", 431},
      {"GET / HTTP/1.1\r\n" + from + "x: y", 408},
      {"GET /dropped HTTP/1.1\r\n" + from + "\r\n", 500}};
  for (const auto& [request, status] : cases) {
    Client client(port_);
    client.send(request);
    const Answer answer = client.read_answer();
    EXPECT_EQ(answer.status, status) << request;
    EXPECT_EQ(find_field(answer.headers, "from"), "http://a") << request;
  }
  EXPECT_EQ(fields_in("GET http://x/ HTTP/1.1\r\nA:\t b \r\n: c\nd : e\nf:g\nh: i"),
            (Fields{{"A", "b"}, {"f", "g"}}));
}

TEST_F(Http, EndsGracefully) {
  start({.grace = 5s});
  Client busy(port_), idle(port_);
  busy.send_request("GET", "/silent");
  EXPECT_TRUE(busy.read_until("still here"));
  idle.send_request("GET", "/echo");
  EXPECT_EQ(idle.read_answer().status, 200);
  server_->stop();
  EXPECT_TRUE(idle.is_closed());
  EXPECT_EQ(gone_, 0);
  // Meanwhile, a new connection may send one request.
  Client late(port_);
  late.send_request("GET", "/echo");
  const Answer answer = late.read_answer();
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(find_field(answer.headers, "connection"), "close");
  EXPECT_TRUE(late.is_closed());
  Client silent(port_);
  kept_.front()->end();
  EXPECT_TRUE(busy.is_closed());
  EXPECT_TRUE(silent.is_closed());
  thread_ = Thread();
  EXPECT_EQ(Client(port_).read_answer().status, 0);  // nothing is listening
}

TEST_F(Http, ASecondStopCuts) {
  start({.grace = 1h});
  Client busy(port_);
  busy.send_request("GET", "/never");
  EXPECT_TRUE(waits_for_kept(1));
  server_->stop();
  server_->stop();
  EXPECT_TRUE(waits_for_gone(1));
  thread_ = Thread();
}

TEST_F(Http, GraceEnds) {
  start({.grace = 50ms});
  Client busy(port_);
  busy.send_request("GET", "/never");
  EXPECT_TRUE(waits_for_kept(1));
  server_->stop();
  EXPECT_TRUE(waits_for_gone(1));
}

TEST_F(Http, ListensAtUnixSockets) {
  const TemporaryFolder folder("http");
  const std::string path = (folder.path() / "socket").string();
  start({.addresses = {{.path = path}}});
  EXPECT_EQ(std::filesystem::status(path).permissions() & std::filesystem::perms::others_all,
            std::filesystem::perms::none);
  Client client(path);
  client.send_request("GET", "/echo?q=unix");
  EXPECT_EQ(client.read_answer().body, "GET unix ");
  EXPECT_ERROR(Server({.addresses = {{.path = path}}}, {}), ErrorCode::InvalidArgument,
               "cannot listen at unix:" + path + ": Address already in use");
  stop();
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(HttpAddresses, AreOpenToOthersOrNot) {
  for (const char* host : {"127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1", "localhost"}) {
    EXPECT_FALSE(is_open_to_others({.host = host})) << host;
  }
  for (const char* host : {"0.0.0.0", "::", "::ffff:0.0.0.0", "192.168.1.5", "fe80::1",
                           "127.example.org", "somewhere"}) {
    EXPECT_TRUE(is_open_to_others({.host = host})) << host;
  }
  EXPECT_FALSE(is_open_to_others({.path = "/run/socket"}));
  // Inherited sockets are reported with their own addresses.
  const auto inherited = [](int family, const auto& address) {
    const int socket = ::socket(family, SOCK_STREAM, 0);
    const bool is_bound =
        ::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
    const bool is_open = is_open_to_others({.inherited = socket});
    ::close(socket);
    return std::pair(is_bound, is_open);
  };
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  EXPECT_EQ(inherited(AF_INET, v4), std::pair(true, true));
  v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(inherited(AF_INET, v4), std::pair(true, false));
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  const auto [has_v6, is_open] = inherited(AF_INET6, v6);
  EXPECT_EQ(is_open, has_v6);
  sockaddr_un path{};
  path.sun_family = AF_UNIX;
  const TemporaryFolder folder("socket");
  const std::string name = (folder / "s").string();
  std::copy(name.begin(), name.end(), std::begin(path.sun_path));
  EXPECT_EQ(inherited(AF_UNIX, path), std::pair(true, false));
}

TEST_F(Http, SaysWhereItCannotListen) {
  start();
  EXPECT_ERROR(Server({.addresses = {{.host = "127.0.0.1", .port = port_}}}, {}),
               ErrorCode::InvalidArgument,
               "cannot listen at 127.0.0.1:" + std::to_string(port_) + ": Address already in use");
  EXPECT_ERROR(Server({.addresses = {{.inherited = 0}}}, {}), ErrorCode::InvalidArgument,
               "file descriptor 0 is not a listening socket");
}

TEST_F(Http, ServesManyAtOnce) {
  start();
  std::atomic<int> right{0};
  std::vector<Thread> threads;
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 20; ++round) {
        const std::string body = std::to_string(i * 100 + round);
        right += ask(port_, "POST", "/echo", body).body == "POST  " + body ? 1 : 0;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(right, 320);
}

TEST(HttpTargets, AreSplit) {
  Request request;
  ASSERT_TRUE(split_target("http://host:1/a%2Fb?x=1&y&=z&x=%C3%A9+", request));
  EXPECT_EQ(request.path, "/a/b");
  EXPECT_EQ(request.query, (Fields{{"x", "1"}, {"y", ""}, {"", "z"}, {"x", "\u00e9 "}}));
  for (const auto& [target, path] : std::vector<std::pair<std::string, std::string>>{
           {"/", "/"},
           {"//", "/"},
           {"//v1/models", "/v1/models"},
           {"/v1//models/", "/v1/models"},
           {"http://host//v1/models//?x", "/v1/models"},
           {"/%2Fa%2F", "/a"}}) {
    ASSERT_TRUE(split_target(target, request)) << target;
    EXPECT_EQ(request.path, path) << target;
  }
  for (const char* wrong : {"", "*", "a", "/%", "/%1", "/%g0", "/%80", "/?a=%00"}) {
    EXPECT_FALSE(split_target(wrong, request)) << wrong;
  }
}

}  // namespace
}  // namespace pippin::http
