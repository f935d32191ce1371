// A chat template is untrusted: any bytes render within the limits, or throw Error.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "pippin/base/error.h"
#include "pippin/chat/chat_template.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view source(reinterpret_cast<const char*>(data), size);
  pippin::chat::RenderOptions options;
  options.limits.steps = 50'000;
  options.limits.bytes = 8 << 20;
  try {
    const auto parsed =
        pippin::ChatTemplate::from_source(source, pippin::chat::Dict{{"bos_token", "<s>"}});
    const pippin::chat::Value message(
        pippin::chat::Dict{{"role", "user"}, {"content", "Hi \xC3\xA9"}});
    const pippin::chat::Value messages(std::vector<pippin::chat::Value>{message, message});
    for (const auto end : {pippin::PromptEnd::Generation, pippin::PromptEnd::Continuation}) {
      parsed.render(pippin::chat::Dict{{"messages", messages}}, end, options);
    }
  } catch (const pippin::Error&) {
  }
  return 0;
}
