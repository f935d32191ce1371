#include "pippin/server/page_response.h"

#include <string>

#include <gtest/gtest.h>

#include "pippin/server/server_testing.h"

namespace pippin::server {
namespace {

using http::Answer;
using http::find_field;

// The page's own files, as a browser requests them.
class ServingPage : public testing::Test {
 protected:
  static void SetUpTestSuite() { shared_ = new DemoServer(); }
  static void TearDownTestSuite() {
    delete shared_;
    shared_ = nullptr;
  }
  void SetUp() override {
    if (page::files().empty()) GTEST_SKIP() << "this build is without the page";
  }
  static DemoServer& server() { return *shared_; }
  static Answer get(std::string_view path, http::Fields headers = {}) {
    headers.emplace_back("accept", "text/html,application/xml;q=0.9,*/*;q=0.8");
    return server().ask("GET", path, "", headers);
  }
  // Returns the path of a file that index.html names.
  static std::string path_of(std::string_view name) {
    for (const page::File& file : page::files()) {
      if (file.path.ends_with("/" + std::string(name))) return std::string(file.path);
    }
    return {};
  }

 private:
  static DemoServer* shared_;
};
DemoServer* ServingPage::shared_ = nullptr;

TEST_F(ServingPage, IsThereWithAllThatItNames) {
  const Answer index = get("/");
  ASSERT_EQ(index.status, 200);
  EXPECT_EQ(find_field(index.headers, "content-type"), "text/html; charset=utf-8");
  EXPECT_EQ(find_field(index.headers, "cache-control"), "no-cache");
  size_t named = 0;
  for (const std::string start : {"href=\"", "src=\""}) {
    for (size_t at = index.body.find(start); at != std::string::npos;
         at = index.body.find(start, at)) {
      at += start.size();
      const std::string path = index.body.substr(at, index.body.find('"', at) - at);
      if (path.starts_with("#")) continue;
      EXPECT_EQ(get("/" + path).status, 200) << path;  // relative: a proxy may add a prefix
      ++named;
    }
  }
  EXPECT_GT(named, 10u);
  EXPECT_EQ(index.body.find("VERSION"), std::string::npos);
  EXPECT_EQ(index.body.find("<style"), std::string::npos);
  EXPECT_EQ(index.body.find("style="), std::string::npos);
}

TEST_F(ServingPage, LetsNothingElseRun) {
  for (const page::File& file : page::files()) {
    const Answer answer = get(file.path);
    const std::string policy(find_field(answer.headers, "content-security-policy"));
    EXPECT_TRUE(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self'; "));
    EXPECT_EQ(policy.find("unsafe"), std::string::npos);
    EXPECT_EQ(find_field(answer.headers, "x-content-type-options"), "nosniff");
    EXPECT_EQ(find_field(answer.headers, "referrer-policy"), "no-referrer");
  }
}

TEST_F(ServingPage, IsCompressedForThoseWhoTakeIt) {
  const std::string path = path_of("main.js");
  const page::File& file = *page::find(path);
  const auto packed = [&](const char* accepted) {
    const Answer answer = get(path, {{"accept-encoding", accepted}});
    const bool is_packed = find_field(answer.headers, "content-encoding") == "gzip";
    EXPECT_EQ(answer.body, is_packed ? file.gzip : file.plain) << accepted;
    EXPECT_EQ(find_field(answer.headers, "vary"), "accept-encoding");
    return is_packed;
  };
  for (const char* yes : {"gzip", "br, gzip", "gzip;q=0.5", "*", "deflate , gzip ; q=1.0"}) {
    EXPECT_TRUE(packed(yes)) << yes;
  }
  for (const char* no : {"", "br", "gzip;q=0", "gzip;q=0.0, br", "identity", "x-gzips"}) {
    EXPECT_FALSE(packed(no)) << no;
  }
  EXPECT_LT(file.gzip.size(), file.plain.size());
}

TEST_F(ServingPage, IsSentOnce) {
  for (const std::string& path : {std::string("/"), path_of("main.js")}) {
    const Answer first = get(path);
    const std::string tag(find_field(first.headers, "etag"));
    EXPECT_EQ(tag.front(), '"');
    const Answer packed = get(path, {{"accept-encoding", "gzip"}});
    EXPECT_NE(find_field(packed.headers, "etag"), tag);
    for (const std::string& known : {tag, "W/" + tag, "\"x\", " + tag, std::string("*")}) {
      const Answer again = get(path, {{"if-none-match", known}});
      EXPECT_EQ(again.status, 304) << known;
      EXPECT_TRUE(again.is_complete);
      EXPECT_EQ(again.body, "");
      EXPECT_EQ(find_field(again.headers, "etag"), tag);
      EXPECT_EQ(find_field(again.headers, "content-length"), "");
    }
    EXPECT_EQ(get(path, {{"if-none-match", "\"x\""}}).status, 200);
    http::Client client(server().port());
    client.send_request("HEAD", path, "", {{"accept", "text/html"}});
    const Answer head = client.read_answer(true);
    EXPECT_EQ(head.status, 200);
    EXPECT_EQ(find_field(head.headers, "content-length"), std::to_string(first.body.size()));
    EXPECT_EQ(server().ask("POST", path, "{}").status, 405);
  }
  EXPECT_EQ(find_field(get(path_of("main.js")).headers, "cache-control"),
            "public, max-age=31536000, immutable");
  EXPECT_EQ(get("/page/0123456789abcdef/main.js").status, 404);
  EXPECT_EQ(get("/page/../main.js").status, 404);
  EXPECT_EQ(get("/", {{"host", "evil.example"}}).status, 403);
}

}  // namespace
}  // namespace pippin::server
