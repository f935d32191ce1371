// A message of a conversation that has only text.
#pragma once

#include <string>

namespace pippin {

struct Message {
  std::string role;  // "system", "user", "assistant", or what else the model's template knows
  std::string content;
};

}  // namespace pippin
