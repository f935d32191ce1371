// Images and videos from files in messages.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace pippin::repl {

// Returns the content of an image file as a data URL: "data:image/png;base64,...". Throws NotFound,
// Io, InvalidArgument for a name without the ending of an image, LimitExceeded above 20 MB.
std::string image_url(const std::filesystem::path& file);

// Returns an animation, or the pictures of a folder (io/frame_files.h), as a data URL that begins
// with kVideoUrl, with commas between the frames of a folder. Throws the errors of
// read_frame_files(), and LimitExceeded above 20 MB.
inline constexpr std::string_view kVideoUrl = "data:video/";
std::string video_url(const std::filesystem::path& path);

// Returns whether the first word of a message names an image file that exists.
bool begins_with_image(std::string_view message);

// Removes the paths of image files that exist from a message, as terminals paste them when files
// are dropped: between quotes, or with backslashes before blanks. Returns their data URLs. Throws
// the errors of image_url().
std::vector<std::string> take_images(std::string& message);

}  // namespace pippin::repl
