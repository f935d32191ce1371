#include "pippin/server/access.h"

#include <chrono>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/files/temporary_folder.h"
#include "pippin/base/testing.h"
#include "pippin/page/page.h"
#include "pippin/server/routes.h"
#include "pippin/server/server_testing.h"

namespace pippin::server {
namespace {

using namespace std::chrono_literals;
using http::Answer;
using http::find_field;

TEST(ServingAccess, KnowsLoopbackInBothForms) {
  Options options = demo_options();
  options.http.addresses = {{.host = "::", .port = 0}};
  try {
    DemoServer server(options);
    EXPECT_EQ(server.ask("GET", "/health", "", {{"host", "localhost"}}).status, 200);
    for (const char* target : {"/health", "/v1/models"}) {
      const http::Fields rebound{{"host", "evil.example"}, {"origin", "http://evil.example"}};
      EXPECT_EQ(server.ask("GET", target, "", rebound).status, 403) << target;
    }
  } catch (const Error& error) {
    ASSERT_NE(std::string(error.what()).find("cannot listen at :::0"), std::string::npos);
    GTEST_SKIP() << error.what();
  }
}

TEST(ServingAccess, ChecksHostsWhereNoKeyDoes) {
  using http::PeerPlace;
  const Access open({.hosts = {"models.example"}});
  const Access keyed({.keys = {"key"}});
  const auto status = [](const Access& access, PeerPlace place, const std::string& host,
                         const std::string& key) {
    const http::Request request{
        .headers = {{"host", host}, {"origin", "http://" + host}, {"x-api-key", key}},
        .place = place};
    const auto error = access.check(request, false);
    return error ? error->status : 200;
  };
  for (const PeerPlace place : {PeerPlace::Elsewhere, PeerPlace::Loopback}) {
    EXPECT_EQ(status(open, place, "evil.example:8080", ""), 403);
    EXPECT_EQ(status(open, place, "models.example:8080", ""), 200);
    EXPECT_EQ(status(open, place, "192.168.1.5:8080", ""), 200);
    EXPECT_EQ(status(open, place, "[fe80::1]:8080", ""), 200);
  }
  EXPECT_EQ(status(open, PeerPlace::UnixSocket, "any.example", ""), 200);
  EXPECT_EQ(status(keyed, PeerPlace::Elsewhere, "any.example", ""), 401);
  EXPECT_EQ(status(keyed, PeerPlace::Elsewhere, "any.example", "key"), 200);
  EXPECT_EQ(status(keyed, PeerPlace::Loopback, "any.example", "key"), 403);
}

TEST(ServingAccess, NeedsOneOfItsKeys) {
  const TemporaryFolder folder("keys");
  const auto file = folder / "keys";
  std::ofstream(file) << "# keys\n\n first \nsecond\n";
  Options options = demo_options();
  options.access.key_file = file;
  options.access.keys = {"third"};
  DemoServer server(options);
  const auto status = [&](const std::string& name, const std::string& value) {
    return server.ask("GET", "/v1/models", "", {{name, value}}).status;
  };
  EXPECT_EQ(server.ask("GET", "/v1/models").status, 401);
  EXPECT_EQ(server.ask("GET", "/health").status, 200);
  EXPECT_EQ(server.ask("GET", "/").status, 200);
  for (const page::File& part : page::files()) {
    EXPECT_EQ(server.ask("GET", part.path).status, 200) << part.path;
  }
  EXPECT_EQ(status("authorization", "Bearer first"), 200);
  EXPECT_EQ(status("authorization", "bearer second"), 200);
  EXPECT_EQ(status("x-api-key", "third"), 200);
  for (const char* wrong : {"", "firs", "first ", "# keys", "fourth"}) {
    EXPECT_EQ(status("x-api-key", wrong), std::string(wrong) == "first " ? 200 : 401) << wrong;
  }
  // A page may send a preflight request without the key.
  const Answer preflight =
      server.ask("OPTIONS", "/v1/models", "", {{"origin", "http://localhost"}});
  EXPECT_EQ(preflight.status, 204);
  EXPECT_EQ(find_field(preflight.headers, "access-control-allow-origin"), "http://localhost");
}

// Without these fields a browser hides the answer, and with it the reason.
TEST(ServingAccess, PagesThatMayAskCanReadRefusals) {
  const std::string page = "http://app.example";
  Options options = demo_options();
  options.access.keys = {"key"};
  options.access.origins = {page};
  options.http.max_body_bytes = 1000;
  options.http.max_header_bytes = 2000;
  options.http.max_connections = 2;
  options.models.scheduler.max_waiting = 0;
  DemoServer server(options);
  const std::string head = "host: localhost\r\norigin: " + page + "\r\n";
  const std::string key = head + "authorization: Bearer key\r\n";
  const auto answer_to = [&](const std::string& request) {
    http::Client client(server.port());
    client.send(request);
    return client.read_answer();
  };
  const std::string long_text(2000, 'x');
  const auto post = [&](const std::string& fields, const std::string& body) {
    return "POST /v1/messages HTTP/1.1\r\n" + fields +
           fmt::format("content-length: {}\r\n\r\n{}", body.size(), body);
  };
  const std::vector<std::pair<std::string, int>> cases = {
      {"GET /v1/models HTTP/1.1\r\n" + key + "\r\n", 200},
      {"GET /v1/models HTTP/1.1\r\n" + head + "\r\n", 401},
      {"GET /v1/models HTTP/1.1\r\nhost: evil.example\r\norigin: " + page + "\r\n\r\n", 403},
      {"GET /nothing HTTP/1.1\r\n" + key + "\r\n", 404},
      {"GET /v1/models/nothing HTTP/1.1\r\n" + key + "\r\n", 404},
      {"PUT /v1/models HTTP/1.1\r\n" + key + "\r\n", 405},
      {post(key, "{"), 400},
      {post(key, long_text), 413},
      {post(key, story_chat(R"("max_tokens":1,"n":1)")), 503},
      {"GET / HTTP/1.1\r\n" + key + "x: " + long_text + "\r\n\r\n", 431},
      {"GET / HTTP/1.1\r\nno colon\r\n" + key + "\r\n", 400},
      {"GET /%zz HTTP/1.1\r\n" + key + "\r\n", 400},
      {"GET / HTTP/7.0\r\n" + key + "\r\n", 505}};
  const auto expect_readable = [&](const Answer& answer) {
    EXPECT_EQ(find_field(answer.headers, "access-control-allow-origin"), page);
    EXPECT_EQ(find_field(answer.headers, "access-control-expose-headers"),
              "x-request-id, retry-after, x-should-retry, x-ignored-fields");
    EXPECT_EQ(find_field(answer.headers, "vary"), "origin");
    EXPECT_FALSE(find_field(answer.headers, "x-request-id").empty());
    EXPECT_EQ(find_field(answer.headers, "retry-after"), answer.status == 503 ? "1" : "");
  };
  for (const auto& [request, status] : cases) {
    SCOPED_TRACE(request.substr(0, 100));
    const Answer answer = answer_to(request);
    EXPECT_EQ(answer.status, status) << answer.body;
    expect_readable(answer);
  }
  // Errors have the endpoint's form.
  EXPECT_EQ(json_of(answer_to(post(key, long_text))).get_string("type"), "error");
  // Other pages get no information.
  const Answer other = server.ask("GET", "/v1/models", "", {{"origin", "http://other.example"}});
  EXPECT_EQ(other.status, 403);
  EXPECT_EQ(find_field(other.headers, "access-control-allow-origin"), "");

  const http::Client first(server.port()), second(server.port());
  const std::vector<std::pair<std::string, std::string>> origin = {{"origin", page}};
  Answer full = server.ask("GET", "/health", "", origin);
  for (int tries = 0; tries < 1000 && full.status != 503; ++tries) {
    full = server.ask("GET", "/health", "", origin);
  }
  EXPECT_EQ(full.status, 503);
  expect_readable(full);
  EXPECT_EQ(server.ask("OPTIONS", "/v1/models", "", origin).status, 204);
}

TEST(ServingAccess, ReadsItsKeysAgain) {
  const TemporaryFolder folder("keys");
  const auto file = folder / "keys";
  std::ofstream(file) << "first\n";
  Access access({.key_file = file});
  http::Request request{.headers = {{"x-api-key", "second"}}};
  EXPECT_TRUE(access.check(request, false).has_value());
  std::ofstream(file) << "second\n";
  access.reload();
  EXPECT_FALSE(access.check(request, false).has_value());
  std::filesystem::remove(file);
  EXPECT_THROW(access.reload(), Error);
  EXPECT_FALSE(access.check(request, false).has_value());
  std::ofstream(file) << "# none\n";
  EXPECT_ERROR(access.reload(), ErrorCode::InvalidFile, file.string() + ": has no key in it");
}

}  // namespace
}  // namespace pippin::server
