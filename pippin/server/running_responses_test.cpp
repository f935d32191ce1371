#include "pippin/server/running_responses.h"

#include <gtest/gtest.h>

#include "pippin/base/threads/thread.h"

namespace pippin::server {
namespace {

using namespace std::chrono_literals;

// A client that can disconnect.
class Client final : public http::Reply {
 public:
  void send(http::Response /*response*/) override {}
  void begin(const http::Response& /*head*/, std::string /*comment*/,
             std::chrono::milliseconds /*silence*/) override {}
  void write(std::string /*piece*/) override {}
  void end() override {}
  bool is_gone() const override { return is_gone_; }
  void when_gone(std::function<void()> action) override { action_ = std::move(action); }
  void go() {
    is_gone_ = true;
    if (action_) action_();
  }

 private:
  bool is_gone_ = false;
  std::function<void()> action_;
};

TEST(RunningResponses, EndWithTheirClient) {
  const auto client = std::make_shared<Client>();
  RunningResponse response(client, false);
  int ends = 0;
  response.when_gone([&] { ++ends; });
  EXPECT_FALSE(response.is_gone());
  client->go();
  EXPECT_TRUE(response.is_gone());
  EXPECT_FALSE(response.is_cancelled());
  EXPECT_EQ(ends, 1);
}

TEST(RunningResponses, OutliveTheirClientInTheBackground) {
  const auto client = std::make_shared<Client>();
  RunningResponse response(client, true);
  int ends = 0;
  response.when_gone([&] { ++ends; });
  client->go();
  EXPECT_FALSE(response.is_gone());
  EXPECT_EQ(ends, 0);
  response.cancel();
  EXPECT_TRUE(response.is_gone() && response.is_cancelled());
  response.cancel();
  EXPECT_EQ(ends, 1);
}

TEST(RunningResponses, AreCancelledBeforeTheyBegin) {
  RunningResponse response(std::make_shared<Client>(), false);
  response.cancel();
  int ends = 0;
  response.when_gone([&] { ++ends; });
  EXPECT_EQ(ends, 1);
}

TEST(RunningResponses, AreWaitedFor) {
  const auto response = std::make_shared<RunningResponse>(std::make_shared<Client>(), true);
  RunningResponses all;
  all.add("a", response);
  EXPECT_EQ(all.find("b"), nullptr);
  response->tell("begun", false);
  EXPECT_EQ(all.find("a")->wait(1ms), "begun");
  Thread ending([&] { response->tell("ended", true); });
  EXPECT_EQ(all.find("a")->wait(10s), "ended");
  all.remove("a");
  EXPECT_EQ(all.find("a"), nullptr);
}

}  // namespace
}  // namespace pippin::server
