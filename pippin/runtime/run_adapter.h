// Adapters on a model that is opened: LoRA and DoRA folders of PEFT and mlx-lm, and GGUF files of
// llama.cpp.
#pragma once

#include <string>
#include <string_view>

#include "pippin/runtime/load_options.h"

namespace pippin::runtime {

// "[NAME=]PATH[:SCALE]". Throws InvalidArgument for an empty name or path, and a scale that is not
// a finite number.
RunAdapter parse_run_adapter(std::string_view text);

// Names the adapters without a name by their paths. Throws InvalidArgument if two have the same
// name or one has a colon or a comma in it, NotFound for a path that does not exist.
void name_run_adapters(LoadOptions& options);

}  // namespace pippin::runtime
