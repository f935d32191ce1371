// Input items of OpenAI's Responses API, in the form that chat templates take.
#pragma once

#include <string>
#include <vector>

#include "pippin/chat/value.h"
#include "pippin/io/json.h"

namespace pippin::server {

// An item, and its place for messages of errors: "input[2]".
struct InputItem {
  Json json;
  std::string place;
};

// The items of a request's `input`: a string is a message of the user. Throws ApiError(400).
std::vector<InputItem> input_items(const Json& input);

// Thoughts as a client without a store carries them: not secret, in a form that is read back.
std::string sealed_thoughts(const std::string& thoughts);

// `instructions` come first. Items of one role that follow each other become one message: clients
// cut turns into items as they like, and templates take turns. Thoughts and calls belong to the
// assistant's message around them. Without a turn of anyone, the user's is empty. Throws
// ApiError(400) with the place of the item for wrong roles and types, pictures, sound and files,
// and outputs without a call.
chat::Value response_messages(const std::string& instructions, const std::vector<InputItem>& items);

}  // namespace pippin::server
