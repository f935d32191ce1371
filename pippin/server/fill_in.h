// Prompts for the text between two given texts, with the fill-in tokens of code models.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pippin/server/model_list.h"

namespace pippin::server {

struct FillRequest {
  std::string prefix, suffix;
  std::string begin = {};  // the beginning of the middle
  struct File {
    std::string name, text;
  };
  std::vector<File> others = {};  // from the same repository
};

// Keeps only the end of the other files if the prompt would have more than `most` tokens. Throws
// ApiError(400) for the field `param` if the model has no fill-in tokens.
std::vector<int32_t> fill_in(const ServedModel& model, const FillRequest& request, int64_t most,
                             const std::string& param);

// Returns whether the model has fill-in tokens.
bool can_fill_in(const ServedModel& model);

// Returns the tokens that end the middle, in addition to those that end any text: file marks and
// padding.
std::vector<int32_t> fill_end_ids(const ServedModel& model);

}  // namespace pippin::server
