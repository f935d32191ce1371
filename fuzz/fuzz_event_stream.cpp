// A server's stream to a chat: for any bytes, the chat gets an answer or an Error.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "pippin/base/error.h"
#include "pippin/repl/client.h"

namespace {

using namespace pippin;

// Delivers the bytes in pieces; the first byte selects their size.
class Bytes final : public repl::Transport {
 public:
  explicit Bytes(std::string_view bytes) : bytes_(bytes) {}
  repl::Reply call(const std::string& /*path*/, const std::string& /*body*/,
                   const repl::OnBytes& on_bytes, const std::atomic<bool>* /*stop*/) override {
    if (!on_bytes) return {200, std::string(bytes_)};
    const size_t piece = bytes_.empty() ? 1 : 1 + static_cast<unsigned char>(bytes_[0]) % 64;
    for (size_t at = 1; at < bytes_.size(); at += piece) {
      if (!on_bytes(bytes_.substr(at, piece))) break;
    }
    return {200, {}};
  }

 private:
  std::string_view bytes_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(static_cast<const char*>(static_cast<const void*>(data)), size);
  repl::Client client(std::make_unique<Bytes>(text));
  const std::atomic<bool> stop{false};
  try {
    (void)client.answer(
        {.name = "m"}, {}, false, [](const repl::AnswerPart&) {}, stop);
  } catch (const Error&) {  // an error of the server
  }
  try {
    (void)client.models();
  } catch (const Error&) {
  }
  return 0;
}
