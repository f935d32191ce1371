#include "pippin/server/chat_messages.h"

#include <gtest/gtest.h>

#include "pippin/chat/json.h"
#include "pippin/server/api_error.h"

namespace pippin::server {
namespace {

std::string openai(std::string_view body) {
  return chat::to_json(openai_messages(Json::parse(body, "request")).messages);
}
std::string anthropic(std::string_view body) {
  return chat::to_json(anthropic_messages(Json::parse(body, "request")).messages);
}
template <typename Call>
std::string error(Call&& call) {
  try {
    call();
  } catch (const ApiError& failure) {
    return failure.what();
  }
  return "";
}

TEST(ChatMessages, OfOpenAi) {
  EXPECT_EQ(openai(R"({"messages":[{"role":"user","content":[{"type":"text","text":"a"},)"
                   R"({"type":"text","text":"b"}],"name":"me"}]})"),
            R"([{"role": "user", "content": "a\nb", "name": "me"}])");
  // Arguments become objects.
  EXPECT_EQ(openai(R"({"messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"1",)"
                   R"("function":{"name":"f","arguments":"{\"x\": 1}"}},{"function":)"
                   R"({"name":"g","arguments":""}}]}]})"),
            R"([{"role": "assistant", "content": "", "tool_calls": [{"id": "1", "function": )"
            R"({"name": "f", "arguments": {"x": 1}}}, {"function": {"name": "g", )"
            R"("arguments": {}}}]}])");
  EXPECT_EQ(error([] {
              openai(R"({"messages":[{"role":"assistant","tool_calls":[{"function":)"
                     R"({"name":"g","arguments":"[1]"}}]}]})");
            }),
            "messages[0].tool_calls[0].function.arguments: expected a JSON object");
  EXPECT_EQ(error([] { openai(R"({"messages":[{"role":"user","content":5}]})"); }),
            "messages[0].content: expected a string or a list of parts");
  EXPECT_EQ(error([] { openai(R"({"messages":[{"content":"x"}]})"); }), "messages[0]: has no role");
  EXPECT_EQ(error([] { openai(R"({"messages":[{"role":"user","content":[{"type":"text"}]}]})"); }),
            "messages[0].content[0]: has no text");
}

// Templates would write the word None.
TEST(ChatMessages, NullContentIsAnEmptyText) {
  for (const std::string role : {"system", "developer", "user", "assistant"}) {
    EXPECT_EQ(openai(R"({"messages":[{"role":")" + role + R"(","content":null}]})"),
              R"([{"role": ")" + role + R"(", "content": ""}])");
  }
  EXPECT_EQ(openai(R"({"messages":[{"role":"tool","tool_call_id":"1","content":null}]})"),
            R"([{"role": "tool", "tool_call_id": "1", "content": ""}])");
  // Turns with only thoughts, refusals, and calls without some members.
  EXPECT_EQ(openai(R"({"messages":[{"role":"assistant","reasoning_content":"t"}]})"),
            R"([{"role": "assistant", "reasoning_content": "t", "content": ""}])");
  EXPECT_EQ(openai(R"({"messages":[{"role":"assistant","content":null,"refusal":"no",)"
                   R"("audio":null,"tool_calls":null}]})"),
            R"([{"role": "assistant", "content": "", "refusal": "no"}])");
  EXPECT_EQ(openai(R"({"messages":[{"role":"assistant","content":null,"tool_calls":[{"id":null,)"
                   R"("type":null,"function":{"name":"f","strict":null,"arguments":null}}]}]})"),
            R"([{"role": "assistant", "content": "", "tool_calls": [{"function": )"
            R"({"name": "f", "arguments": {}}}]}])");
  EXPECT_EQ(error([] { openai(R"({"messages":[{"role":"assistant"}]})"); }),
            "messages[0]: has no content");
  EXPECT_EQ(error([] { openai(R"({"messages":[{"role":"user","reasoning":"t"}]})"); }),
            "messages[0]: has no content");
}

TEST(ChatMessages, OfAnthropic) {
  EXPECT_EQ(
      anthropic(
          R"({"system":[{"type":"text","text":"x-anthropic-billing-header: 1"},)"
          R"({"type":"text","text":"Be brief."}],"messages":[{"role":"user","content":"a"},)"
          R"({"role":"assistant","content":[{"type":"thinking","thinking":"t"},)"
          R"({"type":"text","text":"b"},{"type":"tool_use","id":"1","name":"f","input":{"x":1}}]},)"
          R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"r"}]}]})"),
      R"([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "a"}, )"
      R"({"role": "assistant", "content": "b", "reasoning_content": "t", "tool_calls": [{"id": )"
      R"("1", "type": "function", "function": {"name": "f", "arguments": {"x": 1}}}]}, )"
      R"({"role": "tool", "tool_call_id": "1", "content": "r"}])");
  EXPECT_EQ(error([] { anthropic(R"({"messages":[{"role":"tool","content":"x"}]})"); }),
            "messages.0.role: \"tool\" is not user, assistant or system");
}

// The messages as a template gets them, and the bytes or URLs of their images in that order.
std::string with_images(const ChatInput& input) {
  std::vector<size_t> order;
  std::string text = chat::to_json(input.images.marks().with_parts(input.messages, order));
  for (const size_t number : order) {
    const MessageImages::Image& image = input.images.images()[number];
    text += " " + image.place + "=" + (image.url.empty() ? image.bytes : image.url);
  }
  return text;
}

TEST(ChatMessages, HaveImages) {
  EXPECT_EQ(
      with_images(openai_messages(Json::parse(
          R"({"messages":[{"role":"system","content":"s"},{"role":"user","content":[)"
          R"({"type":"text","text":"a"},{"type":"text","text":"b"},)"
          R"({"type":"image_url","image_url":{"url":"data:image/png;base64,eA=="}},)"
          R"({"type":"image_url","image_url":"https://h/y.png"},{"type":"text","text":"c"}]}]})",
          "r"))),
      R"([{"role": "system", "content": "s"}, {"role": "user", "content": [{"type": "text", )"
      R"("text": "a\nb"}, {"type": "image"}, {"type": "image"}, {"type": "text", "text": )"
      R"("c"}]}] messages[1].content[2]=x messages[1].content[3]=https://h/y.png)");
  // Results of tools come before the text of their message.
  EXPECT_EQ(with_images(anthropic_messages(Json::parse(
                R"({"messages":[{"role":"user","content":[{"type":"image","source":{"type":)"
                R"("url","url":"http://h/z"}},{"type":"text","text":"d"},{"type":"tool_result",)"
                R"("tool_use_id":"1","content":[{"type":"text","text":"r"},{"type":"image",)"
                R"("source":{"type":"base64","media_type":"image/png","data":"eQ=="}}]}]}]})",
                "r"))),
            R"([{"role": "tool", "tool_call_id": "1", "content": [{"type": "text", "text": "r"}, )"
            R"({"type": "image"}]}, {"role": "user", "content": [{"type": "image"}, {"type": )"
            R"("text", "text": "d"}]}] messages.0.content.2.content.1=y )"
            R"(messages.0.content.0=http://h/z)");
}

TEST(ChatMessages, HaveVideos) {
  const auto video = [](const std::string& url) {
    return openai_messages(Json::parse(
        R"({"messages":[{"role":"user","content":[{"type":"video_url","video_url":{"url":")" + url +
            R"("}}]}]})",
        "r"));
  };
  EXPECT_EQ(with_images(video("data:image/gif;base64,eA==")),
            R"([{"role": "user", "content": [{"type": "video"}]}] messages[0].content[0]=x)");
  const ChatInput frames = video("data:video/jpeg;base64,eA==,eQ==");
  EXPECT_TRUE(frames.images.images().front().is_video);
  EXPECT_EQ(frames.images.images().front().frames, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(error([&] { video("data:video/jpeg;base64,eA==,"); }),
            "messages[0].content[0]: a frame is empty");
  EXPECT_EQ(error([&] { video("data:video/jpeg;base64,eA==,?"); }),
            "messages[0].content[0]: not valid base64");
  EXPECT_EQ(error([&] { video("http://h/a.mp4"); }).substr(0, 59),
            "messages[0].content[0]: expected a data URL in base64: data");
}

TEST(ChatMessages, ImagesThatCannotBe) {
  const auto image = [](const std::string& url) {
    return error([&] {
      openai(R"({"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":")" +
             url + R"("}}]}]})");
    });
  };
  EXPECT_EQ(image("data:image/png;base64,?"), "messages[0].content[0]: not valid base64");
  EXPECT_EQ(image("data:image/png;base64,"), "messages[0].content[0]: the image is empty");
  EXPECT_EQ(image("data:image/svg+xml,<svg/>"),
            "messages[0].content[0]: expected a data URL in base64: data:image/png;base64,...");
  EXPECT_EQ(image("file:///etc/passwd"),
            "messages[0].content[0]: \"file:///etc/passwd\" is not a data, http or https URL");
  EXPECT_EQ(
      error([] { openai(R"({"messages":[{"role":"user","content":[{"type":"input_audio"}]}]})"); }),
      "messages[0].content[0]: parts of type \"input_audio\" are not supported (supported: "
      "text, image_url, video_url)");
  std::string many;
  for (int i = 0; i < 101; ++i) {
    many += R"({"type":"image_url","image_url":{"url":"data:;base64,eA=="}},)";
  }
  many.pop_back();
  EXPECT_EQ(error([&] { openai(R"({"messages":[{"role":"user","content":[)" + many + "]}]}"); }),
            "messages[0].content[100]: the request has more than 100 images");
}

TEST(ChatMessages, DevelopersAreSystems) {
  const auto messages =
      openai_messages(Json::parse(R"({"messages":[{"role":"developer","content":"x"}]})", "r"));
  EXPECT_EQ(chat::to_json(without_developer(messages.messages)),
            R"([{"role": "system", "content": "x"}])");
}

}  // namespace
}  // namespace pippin::server
