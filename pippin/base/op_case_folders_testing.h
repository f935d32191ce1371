// For tests only: the stored op cases (data/op-cases), of the repository and of the shared data.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace pippin {

// The folders TEST/NUMBER of a set of cases (iOS14 ... iOS18, torch), by name; a case that both
// places have, once. Each holds model.mlpackage, in.npz, case.json and mostly expected.npz. Empty
// without any; shared_data says when that throws.
std::vector<std::filesystem::path> op_case_folders(const std::string& set);

}  // namespace pippin
