#include "pippin/app/open/missing_model.h"

#include <filesystem>

#include "pippin/base/error.h"

namespace pippin::app {

void check_model_exists(const std::string& model) {
  const std::filesystem::path path = model;
  if (std::filesystem::exists(path)) return;
  const bool is_name = model.find('/') == std::string::npos && !path.has_extension();
  fail(ErrorCode::NotFound, "{}: there is no such model{}", model,
       is_name
           ? " here; those on the Hub are called ORG/NAME, HuggingFaceTB/SmolLM2-135M-Instruct say"
           : "");
}

}  // namespace pippin::app
