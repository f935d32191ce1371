// Instructions anywhere in a conversation, for templates that accept them only in some places.
#pragma once

#include <functional>
#include <string>

#include "pippin/chat/value.h"

namespace pippin::server {

// Renders messages with the model's template. Throws Error if the template refuses them.
using RenderMessages = std::function<std::string(const chat::Value& messages)>;

// Returns the messages, with each message of the role "system" or "developer" that the template
// refuses, omits or moves turned into text of a user's turn: the turn before it, else the one after
// it, else a new one.
chat::Value place_systems(const chat::Value& messages, const RenderMessages& render);

}  // namespace pippin::server
