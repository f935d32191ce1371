// Bodies and targets of requests: any input gives a request or an ApiError.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/chat/json.h"
#include "pippin/http/message.h"
#include "pippin/server/chat_messages.h"
#include "pippin/server/request_json.h"
#include "pippin/server/response_items.h"
#include "pippin/server/response_list.h"
#include "pippin/server/response_request.h"
#include "pippin/server/text_request.h"

namespace {

template <typename Read>
void attempt(Read&& read) {
  try {
    read();
  } catch (const pippin::server::ApiError&) {  // an error of the client
  }
}

// The messages as a template gets them.
std::string parts_of(const pippin::server::ChatInput& input) {
  std::vector<size_t> order;
  return pippin::chat::to_json(input.images.marks().with_parts(input.messages, order));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pippin;
  const std::string_view text(static_cast<const char*>(static_cast<const void*>(data)), size);
  http::Request request;
  (void)http::split_target(text, request);
  attempt([&] {
    const Json body = server::parse_body(text);
    for (const auto endpoint : {server::kChat, server::kCompletions, server::kNative}) {
      attempt([&] { (void)server::read_text_request({body, endpoint}); });
    }
    attempt([&] { (void)server::read_response_request({body, server::kResponses}); });
    attempt([&] {
      const auto input = body.find("input");
      if (!input) return;
      (void)parts_of(server::response_messages("", server::input_items(*input)));
      if (input->is_array()) (void)server::list_input_items(*input, {}, "name");
    });
    attempt([&] { (void)parts_of(server::anthropic_messages(body)); });
    attempt([&] {
      server::ChatInput input = server::openai_messages(body);
      input.messages = server::without_developer(input.messages);
      (void)parts_of(input);
    });
  });
  return 0;
}
