#include "pippin/runtime/end_of_turn.h"

#include <string>

#include "pippin/base/error.h"

namespace pippin::runtime {

std::optional<int32_t> end_of_turn(const ChatTemplate& chat, const Tokenizer& tokenizer) {
  const std::string answer = "pippin-end-of-turn";
  const Message messages[] = {{"user", "Hi"}, {"assistant", answer}};
  std::string text;
  try {
    text = chat.render(messages, false);
  } catch (const Error&) {
    return std::nullopt;  // a conversation of one user message may still be valid
  }
  const size_t found = text.rfind(answer);
  if (found == std::string::npos) return std::nullopt;
  const size_t next = text.find_first_not_of(" \t\r\n", found + answer.size());
  if (next == std::string::npos) return std::nullopt;
  const auto ids = tokenizer.encode(std::string_view(text).substr(next), false);
  if (ids.empty() || !tokenizer.is_special(ids.front())) return std::nullopt;
  return ids.front();
}

}  // namespace pippin::runtime
