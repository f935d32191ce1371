// The files of a video without a codec.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace pippin {

struct FrameFiles {
  std::string animation;            // the bytes of an animated GIF, PNG or WebP
  std::vector<std::string> frames;  // or else those of a picture per frame
};

// Reads a file, or the files of a folder in the order of their names, shorter ones first
// (frame9.png, frame10.png); hidden files do not count. Throws NotFound, Io, and LimitExceeded
// above `max_bytes` together.
FrameFiles read_frame_files(const std::filesystem::path& path, size_t max_bytes);

}  // namespace pippin
