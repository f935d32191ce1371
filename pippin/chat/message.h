// A text message of a conversation.
#pragma once

#include <string>

namespace pippin {

struct Message {
  std::string role;  // "system", "user", "assistant", or another that the template knows
  std::string content;
};

}  // namespace pippin
