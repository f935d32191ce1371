// Named values in NumPy's .npz files.
//
// Internal to the library; shared by the command line and State::save().
#pragma once

#include <filesystem>

#include "pippin/api/tensor.h"
#include "pippin/io/npy.h"

namespace pippin {

// Bools become 0 or 1.
Tensor to_tensor(const NpyArray& array);

// Reads all arrays of the file. Throws the errors of NpzFile.
Values read_archive(const std::filesystem::path& path);

// The bytes of a .npy file; strings become a unicode array.
std::string npy_file(const Tensor& tensor);

// Writes an uncompressed archive, completely or not at all. Strings become NumPy's unicode arrays;
// for a dictionary NAME, the probabilities become the array NAME and the classes the array
// NAME_keys. Throws Io.
void write_archive(const std::filesystem::path& path, const Values& values);

}  // namespace pippin
