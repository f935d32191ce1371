// Conversion of input items of OpenAI's Responses API to the form that chat templates expect.
#pragma once

#include <string>
#include <vector>

#include "pippin/io/json.h"
#include "pippin/server/message_images.h"

namespace pippin::server {

// An item, and its place for error messages: "input[2]".
struct InputItem {
  Json json;
  std::string place;
};

// Returns the items of a request's `input`; a string is a message of the user. Throws
// ApiError(400).
std::vector<InputItem> input_items(const Json& input);

// Encodes thoughts for a client without a store: they are not secret, and are read back from this
// form.
std::string sealed_thoughts(const std::string& thoughts);

// `instructions` come first. Consecutive items of one role become one message: clients split turns
// into items freely, and templates expect turns. Thoughts and calls belong to the assistant's
// message around them. Without any turn, the user's turn is empty. Throws ApiError(400) with the
// place of the item for wrong roles and types, sound and files, and outputs without a call.
ChatInput response_messages(const std::string& instructions, const std::vector<InputItem>& items);

}  // namespace pippin::server
