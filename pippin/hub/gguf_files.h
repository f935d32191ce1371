// Which GGUF files of a repository are meant: "org/name:Q4_K_M".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pippin::hub {

// Of the paths of a repository those of one model, sorted: the one whose name ends with the tag,
// whatever the case; without a tag the one of Q4_K_M, or the only one. Files of other parts
// (mmproj*) are none. Empty where the repository has no GGUF at all; throws NotFound where none has
// the tag, InvalidArgument where several could be meant, with their names.
std::vector<std::string> choose_gguf(const std::vector<std::string>& paths, std::string_view tag,
                                     std::string_view repo);

}  // namespace pippin::hub
