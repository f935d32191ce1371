// Instructions anywhere in a conversation, for templates that take them only at some places.
#pragma once

#include <functional>
#include <string>

#include "pippin/chat/value.h"

namespace pippin::server {

// Renders messages by the model's template. Throws Error where the template refuses them.
using RenderMessages = std::function<std::string(const chat::Value& messages)>;

// The messages, with each message of the role "system" or "developer" that the template refuses,
// leaves out or moves as text of a user's turn: the turn before it, else the one after it, else
// one of its own.
chat::Value place_systems(const chat::Value& messages, const RenderMessages& render);

}  // namespace pippin::server
