#include "pippin/hub/settings.h"

#include <map>

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/hub/retry.h"

namespace pippin::hub {
namespace {

Settings read(std::map<std::string, std::string> values) {
  values.emplace("HOME", "/no/home");
  return read_settings([values](const char* name) -> std::optional<std::string> {
    const auto found = values.find(name);
    if (found == values.end()) return std::nullopt;
    return found->second;
  });
}

// As in huggingface_hub/constants.py.
TEST(Settings, TheCache) {
  EXPECT_EQ(read({}).cache, "/no/home/.cache/huggingface/hub");
  EXPECT_EQ(read({{"XDG_CACHE_HOME", "/x"}}).cache, "/x/huggingface/hub");
  EXPECT_EQ(read({{"XDG_CACHE_HOME", "/x"}, {"HF_HOME", "~/hf"}}).cache, "/no/home/hf/hub");
  EXPECT_EQ(read({{"HF_HOME", "/hf"}, {"HUGGINGFACE_HUB_CACHE", "/old"}}).cache, "/old");
  EXPECT_EQ(read({{"HUGGINGFACE_HUB_CACHE", "/old"},
                  {"HF_HUB_CACHE", "$A/${B}/$C"},
                  {"A", "/a"},
                  {"B", "b"}})
                .cache,
            "/a/b/$C");
}

TEST(Settings, TheToken) {
  const TempDir folder;
  const std::string home = folder.path().string();
  write_file(folder / "token", " hf_file\n");
  EXPECT_EQ(read({}).token, "");
  EXPECT_EQ(read({{"HF_HOME", home}}).token, "hf_file");
  EXPECT_EQ(read({{"HF_TOKEN_PATH", home + "/token"}}).token, "hf_file");
  EXPECT_EQ(read({{"HF_HOME", home}, {"HF_TOKEN", "hf_set\n"}}).token, "hf_set");
  EXPECT_EQ(read({{"HF_HOME", home}, {"HF_TOKEN", ""}}).token, "hf_file");
  EXPECT_EQ(read({{"HUGGING_FACE_HUB_TOKEN", "hf_old"}}).token, "hf_old");
  EXPECT_EQ(read({{"HF_TOKEN", "x"}, {"HF_HUB_DISABLE_IMPLICIT_TOKEN", "1"}}).token, "");
  EXPECT_ERROR(read({{"HF_TOKEN", "a\r\nX: y"}}), ErrorCode::InvalidArgument,
               "HF_TOKEN: this is not a token of the Hub");
}

TEST(Settings, TheRest) {
  EXPECT_EQ(read({}).endpoint, "https://huggingface.co");
  EXPECT_EQ(read({{"HF_ENDPOINT", "http://mirror/"}}).endpoint, "http://mirror");
  EXPECT_FALSE(read({{"HF_HUB_OFFLINE", "0"}}).offline);
  EXPECT_TRUE(read({{"HF_HUB_OFFLINE", "yes"}}).offline);
  EXPECT_TRUE(read({{"TRANSFORMERS_OFFLINE", "1"}}).offline);
  EXPECT_FALSE(read({{"TRANSFORMERS_OFFLINE", "1"}, {"HF_HUB_OFFLINE", "0"}}).offline);
  EXPECT_EQ(read({{"HF_HUB_DOWNLOAD_TIMEOUT", "42"}}).download_timeout.count(), 42);
  EXPECT_EQ(read({{"HF_HUB_ETAG_TIMEOUT", "7"}}).etag_timeout.count(), 7);
  EXPECT_EQ(read({{"SSL_CERT_FILE", "/c"}}).certificates, "/c");
  for (const char* value : {"x", "-1", "1.5", "99999999999"}) {
    SCOPED_TRACE(value);
    EXPECT_ERROR(read({{"HF_HUB_ETAG_TIMEOUT", value}}), ErrorCode::InvalidArgument,
                 "is not a number from 0 to 86400");
  }
}

HttpResponse answer(int status, std::map<std::string, std::string> headers = {}) {
  HttpResponse response;
  response.status = status;
  response.headers = std::move(headers);
  return response;
}

TEST(Retry, WhatIsWorthIt) {
  for (const int status : {0, 408, 429, 500, 502, 503, 504}) {
    EXPECT_TRUE(is_transient(answer(status))) << status;
  }
  for (const int status : {200, 206, 302, 400, 401, 403, 404, 416, 501}) {
    EXPECT_FALSE(is_transient(answer(status))) << status;
  }
  HttpResponse cut = answer(200);
  cut.failure = "cut";
  EXPECT_TRUE(is_transient(cut));
  cut.failure_is_final = true;
  EXPECT_FALSE(is_transient(cut));
}

TEST(Retry, WhatTheServerAsksFor) {
  using std::chrono::milliseconds;
  const auto now = std::chrono::system_clock::from_time_t(1445412480);  // 2015-10-21 07:28:00
  const auto wait = [&](int status, std::map<std::string, std::string> headers) {
    return asked_wait(answer(status, std::move(headers)), now);
  };
  EXPECT_EQ(wait(503, {{"retry-after", "3"}}), milliseconds(3000));
  EXPECT_EQ(wait(503, {{"retry-after", "Wed, 21 Oct 2015 07:28:09 GMT"}}), milliseconds(9000));
  EXPECT_EQ(wait(503, {{"retry-after", "Wed, 21 Oct 2015 07:00:00 GMT"}}), milliseconds(0));
  EXPECT_EQ(wait(503, {{"retry-after", "99999999999999999999"}}), milliseconds(kLongestWait));
  EXPECT_EQ(wait(429, {{"ratelimit", "\"api\";r=0;t=55"}}), milliseconds(55000));
  EXPECT_FALSE(wait(429, {{"ratelimit", "\"api\";r=7;t=55"}}));
  EXPECT_FALSE(wait(503, {{"ratelimit", "\"api\";r=0;t=55"}}));
  for (const char* text : {"", "soon", "-3", "1.5"})
    EXPECT_FALSE(wait(503, {{"retry-after", text}}));
}

TEST(Retry, Backoff) {
  Backoff backoff(3);
  int64_t last = 0;
  for (int i = 0; i < 3; ++i) {
    const auto wait = backoff.next(answer(503));
    ASSERT_TRUE(wait);
    EXPECT_GE(wait->count(), 250 << i);
    EXPECT_LE(wait->count(), (250 << i) * 5 / 4);
    EXPECT_GT(wait->count(), last);
    last = wait->count();
  }
  EXPECT_FALSE(backoff.next(answer(503)));
  backoff.progress();
  EXPECT_TRUE(backoff.next(answer(503)));
}

}  // namespace
}  // namespace pippin::hub
