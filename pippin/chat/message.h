// A text message of a conversation.
#pragma once

#include <string>

namespace pippin {

// A message of a conversation.
struct Message {
  std::string role;     // "system", "user", "assistant", or another role of the template
  std::string content;  // the text, UTF-8
};

}  // namespace pippin
