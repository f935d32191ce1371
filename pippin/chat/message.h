// A text message of a conversation.
#pragma once

#include <string>

namespace pippin {

struct Message {
  std::string role;  // "system", "user", "assistant", or another role of the template
  std::string content;
};

}  // namespace pippin
