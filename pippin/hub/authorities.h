// The system's trusted CA certificates. Linux distributions keep them in different files, and
// libcurl knows only the file of the system that it was built for, so a program that ships its own
// libcurl must look for the others.
#pragma once

#include <filesystem>
#include <string>

namespace pippin::hub {

// Returns a file to use instead of `built_in`, libcurl's compiled-in file. Returns an empty string
// to keep libcurl's default: `built_in` is empty (libcurl asks the system in another way), its file
// exists, or no other file exists. `root` is the root of the file system.
std::string other_certificates(const char* built_in, const std::filesystem::path& root = "/");

}  // namespace pippin::hub
