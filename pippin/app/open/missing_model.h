// The error for a MODEL that does not exist.
#pragma once

#include <string>

namespace pippin::app {

// Throws NotFound if `model`, a path after resolve_model(), does not exist; the message tells about
// models on the Hub if it could be the name of one.
void check_model_exists(const std::string& model);

}  // namespace pippin::app
