// Prompts for the text between two others, with the fill-in tokens of code models.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pippin/server/model_list.h"

namespace pippin::server {

struct FillRequest {
  std::string prefix, suffix;
  std::string begin = {};  // of the middle
  struct File {
    std::string name, text;
  };
  std::vector<File> others = {};  // of the same repository
};

// Of the other files only the end where all has more than `most` tokens. Throws ApiError(400), for
// the field `param`, where the model has no such tokens.
std::vector<int32_t> fill_in(const ServedModel& model, const FillRequest& request, int64_t most,
                             const std::string& param);

// Whether the model has such tokens.
bool can_fill_in(const ServedModel& model);

// Tokens that end the middle, in addition to those that end any text: marks of files and padding.
std::vector<int32_t> fill_end_ids(const ServedModel& model);

}  // namespace pippin::server
