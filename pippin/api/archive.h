// Values by name in NumPy's .npz files.
//
// Inside the library: the command line and State::save() share it.
#pragma once

#include <filesystem>

#include "pippin/api/tensor.h"
#include "pippin/io/npy.h"

namespace pippin {

// Bools become 0 or 1.
Tensor to_tensor(const NpyArray& array);

// All arrays of the file. Throws what NpzFile throws.
Values read_archive(const std::filesystem::path& path);

// The bytes of a .npy file; strings become a unicode array.
std::string npy_file(const Tensor& tensor);

// Stored, complete or not at all. Strings become NumPy's unicode arrays; of a dictionary NAME the
// probabilities become the array NAME and the classes the array NAME_keys. Throws Io.
void write_archive(const std::filesystem::path& path, const Values& values);

}  // namespace pippin
