// For tests only: stored cases (data/op-cases, data/oldkinds) of the repository and of the shared
// data.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace pippin {

// Returns the folders TEST/NUMBER of a set of cases (iOS14 ... iOS18, torch), by name; a case that
// exists in both places, once. Each has model.mlpackage, in.npz, case.json and usually
// expected.npz. Cases in data/oldkinds have a model.mlmodel. Empty if there are none; throws as
// shared_data does.
std::vector<std::filesystem::path> op_case_folders(const std::string& set,
                                                   const std::string& collection = "op-cases");

}  // namespace pippin
