// Selects GGUF files of a repository by tag: "org/name:Q4_K_M"; and whisper.cpp's GGML files
// (ggml-*.bin): "org/name:base".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pippin::hub {

// Returns the sorted paths of one model: the model whose name ends with the tag, ignoring case;
// without a tag, the Q4_K_M model or the only one. Vision towers (mmproj*) are ignored.
// Returns an empty list if the repository has neither. Throws NotFound if no name has the tag,
// InvalidArgument with the names if several fit.
std::vector<std::string> choose_gguf(const std::vector<std::string>& paths, std::string_view tag,
                                     std::string_view repo);

// Returns the vision tower for the model of that path: a mmproj*.gguf of its folder or else of the
// top, of F16 if there are several, else of BF16 or F32; nothing if there is none.
std::optional<std::string> choose_projector(const std::vector<std::string>& paths,
                                            std::string_view model);

}  // namespace pippin::hub
