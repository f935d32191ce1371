// Files that survive a crash of the machine, and that one of several processes creates.
#pragma once

#include <filesystem>
#include <string_view>

namespace pippin {

// Returns when the content of a file, or the names in a folder, are on the disk. Throws Io.
void sync_to_disk(const std::filesystem::path& path);

// Gives a complete file of this process another name, from which moment it is there for others, on
// network disks as well. Returns false if a file has that name; of several processes only one
// creates it. Removes `draft`, a path on the same disk. Throws Io.
bool publish_draft(const std::filesystem::path& path, const std::filesystem::path& draft);

// Creates a file with this content, complete from the moment it appears, on network disks as well.
// Returns false if the file exists; of several processes only one creates it. `draft` is a path of
// this process on the same disk. Throws Io.
bool publish_file(const std::filesystem::path& path, const std::filesystem::path& draft,
                  std::string_view content);

}  // namespace pippin
