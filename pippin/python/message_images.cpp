#include "pippin/python/message_images.h"

#include <utility>

#include <fmt/format.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include "pippin/base/base64.h"
#include "pippin/base/error.h"
#include "pippin/base/files/file.h"
#include "pippin/hub/public_file.h"
#include "pippin/io/frame_files.h"
#include "pippin/python/arrays.h"
#include "pippin/python/buffers.h"
#include "pippin/python/core/lists.h"
#include "pippin/python/images.h"

namespace pippin::python {
namespace {

namespace py = pybind11;

constexpr size_t kLargestImageFile = size_t{1} << 30;

bool is_path(py::handle object) {
  return py::isinstance<py::str>(object) || py::hasattr(object, "__fspath__");
}

std::string bytes_of(py::handle object) {
  const auto bytes = py::reinterpret_steal<py::object>(PyBytes_FromObject(object.ptr()));
  if (!bytes) throw py::error_already_set();
  return bytes.cast<std::string>();
}

// A PNG keeps all modes of 8 bits, transparency and the orientation of a photograph.
std::string file_of_picture(py::handle picture, const std::string& name) {
  const auto mode = py::str(picture.attr("mode")).cast<std::string>();
  if (mode == "F" || mode.starts_with("I")) {
    fail(ErrorCode::InvalidArgument, "{}: a picture of the mode {}; expected 8 bits", name, mode);
  }
  py::object plain = py::reinterpret_borrow<py::object>(picture);
  const bool is_of_png =
      mode == "1" || mode == "L" || mode == "LA" || mode == "P" || mode == "RGB" || mode == "RGBA";
  if (!is_of_png) plain = plain.attr("convert")(mode == "PA" || mode == "La" ? "RGBA" : "RGB");
  const py::object file = py::module_::import("io").attr("BytesIO")();
  plain.attr("save")(file, "PNG", py::arg("compress_level") = 1,
                     py::arg("exif") = picture.attr("getexif")());
  return bytes_of(file.attr("getvalue")());
}

// A binary PPM or PGM.
std::string file_of_array(py::handle array, const std::string& name) {
  const Tensor pixels = to_tensor(array, name).copy();
  const std::vector<int64_t>& shape = pixels.shape();
  const int64_t channels = shape.size() == 3 ? shape[2] : 1;
  const bool is_image = shape.size() == 2 || shape.size() == 3;
  if (!is_image || (channels != 1 && channels != 3) || pixels.type() != DataType::UInt8) {
    fail(ErrorCode::InvalidArgument,
         "{}: {} [{}] is not an image; expected uint8 [height, width, 3], [height, width, 1] or "
         "[height, width]",
         name, to_string(pixels.type()), fmt::join(shape, ", "));
  }
  std::string file = fmt::format("P{}\n{} {}\n255\n", channels == 1 ? 5 : 6, shape[1], shape[0]);
  const auto bytes = pixels.bytes();
  file.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return file;
}

std::string type_of(const py::dict& part, const std::string& place) {
  if (!part.contains("type") || !py::isinstance<py::str>(part["type"])) {
    fail(ErrorCode::InvalidArgument, "{}: a part of a content has a \"type\"", place);
  }
  return part["type"].cast<std::string>();
}

}  // namespace

MessageImages::MessageImages(const py::object& more) {
  if (more.is_none()) return;
  if (!core::is_list(more.ptr())) {
    more_.push_back(image_of(more, "images"));
    return;
  }
  for (const py::handle one : more) {
    more_.push_back(image_of(one, fmt::format("images[{}]", more_.size())));
  }
}

MessageImages::Image MessageImages::image_of(py::handle given, const std::string& name) {
  if (is_path(given)) {
    return image_at(py::module_::import("os").attr("fspath")(given).cast<std::string>(), name);
  }
  if (py::isinstance<py::bytes>(given) || py::isinstance<py::bytearray>(given)) {
    return {{bytes_of(given), name}, {}, {}, {}};
  }
  if (is_picture(given)) return {{file_of_picture(given, name), name}, {}, {}, {}};
  if (py::isinstance<py::dict>(given) || given.is_none()) {
    fail(ErrorCode::InvalidArgument,
         "{}: a {} is not an image; expected a path, a URL, bytes, a PIL image or an array", name,
         type_name(given));
  }
  return {{file_of_array(given, name), name}, {}, {}, {}};
}

// A path or a URL.
MessageImages::Image MessageImages::image_at(const std::string& text, const std::string& name) {
  if (text.starts_with("http://") || text.starts_with("https://"))
    return {{{}, text}, {}, text, {}};
  constexpr std::string_view kFile = "file://";
  if (text.starts_with(kFile)) {
    const auto path =
        py::module_::import("urllib.parse").attr("unquote")(text.substr(kFile.size()));
    return {{{}, text}, path.cast<std::string>(), {}, {}};
  }
  if (text.empty()) fail(ErrorCode::InvalidArgument, "{}: the path is empty", name);
  if (!text.starts_with("data:")) return {{{}, text}, text, {}, {}};
  const auto base64 = base64_of_data_url(text);
  if (!base64) {
    fail(ErrorCode::InvalidArgument, "{}: expected a data URL in base64: data:image/png;base64,...",
         name);
  }
  return decoded(*base64, name);
}

MessageImages::Image MessageImages::decoded(std::string_view base64, const std::string& name) {
  auto bytes = decode_base64(base64);
  if (!bytes) fail(ErrorCode::InvalidArgument, "{}: not valid base64", name);
  return {{*std::move(bytes), name}, {}, {}, {}};
}

MessageImages::Image MessageImages::next(const std::string& name) {
  if (num_taken_ == more_.size()) {
    fail(ErrorCode::InvalidArgument, "{}: has no image, and images has {}", name, more_.size());
  }
  return std::move(more_[num_taken_++]);
}

MessageImages::Image MessageImages::image_of_part(const py::dict& part, const std::string& type,
                                                  const std::string& name) {
  if (type == "image_url" || part.contains("image_url")) {
    py::object url = part.contains("image_url") ? py::object(part["image_url"]) : py::none();
    if (py::isinstance<py::dict>(url) && url.contains("url")) url = url["url"];
    if (!py::isinstance<py::str>(url)) {
      fail(ErrorCode::InvalidArgument, "{}: image_url has no \"url\"", name);
    }
    return image_at(url.cast<std::string>(), name);
  }
  if (part.contains("base64") && py::isinstance<py::str>(part["base64"])) {
    return decoded(part["base64"].cast<std::string>(), name);
  }
  for (const char* const key : {"image", "path", "url"}) {
    if (part.contains(key)) return image_of(part[key], name);
  }
  return next(name);
}

MessageImages::Image MessageImages::video_of_part(const py::dict& part, const std::string& name) {
  py::object given;
  for (const char* const key : {"video", "path", "url"}) {
    if (!given && part.contains(key)) given = part[key];
  }
  if (!given) fail(ErrorCode::InvalidArgument, "{}: has no \"video\", \"path\" or \"url\"", name);
  Image video;
  const bool is_array = py::hasattr(given, "ndim") && given.attr("ndim").cast<int>() == 4;
  if (core::is_list(given.ptr()) || is_array) {
    video.image.name = name;
    const auto count = py::len(given);
    video.frames.reserve(count);
    for (size_t i = 0; i < count; ++i) {
      const py::object frame = given[py::int_(i)];
      video.frames.push_back(image_of(frame, fmt::format("{}, frame {}", name, i)));
    }
  } else {
    video = image_of(given, name);
  }
  video.image.is_video = true;
  if (part.contains("fps") && !part["fps"].is_none()) {
    if (!py::isinstance<py::int_>(part["fps"]) && !py::isinstance<py::float_>(part["fps"])) {
      fail(ErrorCode::InvalidArgument, "{}: fps is not a number", name);
    }
    video.image.fps = part["fps"].cast<double>();
    constexpr double kLeast = 1e-3, kMost = 1e3;
    if (!(video.image.fps >= kLeast && video.image.fps <= kMost)) {
      fail(ErrorCode::InvalidArgument, "{}: {} frames per second; {} to {} are possible", name,
           video.image.fps, kLeast, kMost);
    }
  }
  return video;
}

py::list MessageImages::take_parts(const py::object& parts, const std::string& place) {
  py::list result;
  for (const py::handle one : parts) {
    const std::string name = fmt::format("{}[{}]", place, result.size());
    if (!py::isinstance<py::dict>(one)) {
      fail(ErrorCode::InvalidArgument, "{}: a {} is not a part, a dict with \"type\"", name,
           type_name(one));
    }
    const auto part = py::reinterpret_borrow<py::dict>(one);
    const std::string type = type_of(part, name);
    const bool is_video = type == "video";
    if (!is_video && type != "image" && type != "image_url") {
      result.append(part);
      continue;
    }
    images_.push_back(is_video ? video_of_part(part, name) : image_of_part(part, type, name));
    py::dict plain;
    plain["type"] = is_video ? "video" : "image";
    result.append(plain);
  }
  return result;
}

py::object MessageImages::take(const py::object& messages) {
  if (!core::is_list(messages.ptr())) return messages;
  py::list result;
  for (const py::handle message : messages) {
    const bool has_content = py::isinstance<py::dict>(message) && message.contains("content");
    const py::object content = has_content ? py::object(message["content"]) : py::none();
    if (!core::is_list(content.ptr())) {
      result.append(message);
      continue;
    }
    py::dict changed(py::reinterpret_borrow<py::dict>(message).attr("copy")());
    changed["content"] = take_parts(content, fmt::format("messages[{}].content", result.size()));
    result.append(changed);
  }
  if (num_taken_ < more_.size()) {
    fail(ErrorCode::InvalidArgument,
         "images: {} images, the messages have {} parts without an image", more_.size(),
         num_taken_);
  }
  return result;
}

void MessageImages::take_rest() {
  while (num_taken_ < more_.size()) images_.push_back(next({}));
}

void MessageImages::read_file_of(Image& one) {
  if (!one.url.empty()) {
    one.image.bytes = with_context(one.url, [&] { return hub::read_public_file(one.url); });
  } else if (!one.path.empty() && one.image.is_video) {
    FrameFiles files = read_frame_files(one.path, kLargestImageFile);
    one.image.bytes = std::move(files.animation);
    one.image.frames = std::move(files.frames);
  } else if (!one.path.empty()) {
    one.image.bytes = read_file(one.path, kLargestImageFile);
  }
}

std::vector<MessageImage> MessageImages::read() {
  std::vector<MessageImage> result;
  result.reserve(images_.size());
  for (Image& one : images_) {
    read_file_of(one);
    one.image.frames.reserve(one.image.frames.size() + one.frames.size());
    for (Image& frame : one.frames) {
      read_file_of(frame);
      one.image.frames.push_back(std::move(frame.image.bytes));
    }
    result.push_back(std::move(one.image));
  }
  return result;
}

}  // namespace pippin::python
