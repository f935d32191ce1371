// The certificates of the authorities that the system trusts. Each family of distributions keeps
// them in a file of its own, and libcurl knows only that of the system that it was built for: a
// program that brings its own libcurl has to look for the others.
#pragma once

#include <filesystem>
#include <string>

namespace pippin::hub {

// The file that replaces `built_in`, the one that libcurl was built for; empty where libcurl has to
// be left alone: it was built for none (it asks the system in another way), its file exists, or
// no other one exists. `root` is where the system's files lie.
std::string other_certificates(const char* built_in, const std::filesystem::path& root = "/");

}  // namespace pippin::hub
