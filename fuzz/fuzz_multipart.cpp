#include "pippin/base/bytes.h"
#include "pippin/http/multipart.h"

// The first line is the Content-Type, the rest the body. The parts lie in the body, in order.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pippin;
  using namespace pippin::http;
  const std::string_view text = as_text(std::as_bytes(std::span(data, size)));
  const size_t line = std::min(text.find('\n'), text.size());
  const std::string_view type = text.substr(0, line);
  const std::string_view body = text.substr(std::min(line + 1, text.size()));
  is_form(type);
  try {
    const char* last = body.data();
    for (const FormPart& part : parse_form(type, body)) {
      if (part.content.data() < last) __builtin_trap();
      last = part.content.data() + part.content.size();
      if (last > body.data() + body.size()) __builtin_trap();
      if (part.name.find('\n') != std::string::npos) __builtin_trap();
    }
  } catch (const Error&) {
  }
  return 0;
}
