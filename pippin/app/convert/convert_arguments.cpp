#include "pippin/app/convert/convert_arguments.h"

#include "pippin/base/error.h"
#include "pippin/base/numbers/number.h"

namespace pippin::app {
namespace {

// NAME=DIR
models::NamedAdapter parse_adapter(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    fail(ErrorCode::InvalidArgument, "--adapter: \"{}\" is not NAME=DIR", text);
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

// HEIGHTxWIDTH
ImageSize parse_image_size(const std::string& text) {
  const size_t times = text.find('x');
  ImageSize size;
  const bool fits = times != std::string::npos &&
                    parse_number(text.substr(0, times), size.height) &&
                    parse_number(text.substr(times + 1), size.width);
  if (!fits) {
    fail(ErrorCode::InvalidArgument, "--image-size {}: HEIGHTxWIDTH is expected, 448x448 say",
         text);
  }
  return size;
}

int64_t chunks_of(const std::string& text) {
  if (text == "auto") return 0;
  int64_t number = 0;
  if (!parse_number(text, number) || number < 1) {
    fail(ErrorCode::InvalidArgument, "--chunks {}: not a number above 0", text);
  }
  return number;
}

uint64_t chunk_bytes_of(const std::string& text) {
  if (text == "ios") return kMaxChunkBytesIos;
  if (text == "macos") return kMaxChunkBytesMacos;
  constexpr double kMegabyte = 1e6, kMost = 1e9;
  double number = 0;
  if (!parse_number(text, number) || !(number * kMegabyte >= 1) || number > kMost) {
    fail(ErrorCode::InvalidArgument, "--max-chunk-mb {}: ios, macos or a number above 0", text);
  }
  return static_cast<uint64_t>(number * kMegabyte);
}

}  // namespace

ConvertOptions options_of(const ConvertArguments& arguments) {
  ConvertOptions options = arguments.options;
  for (const std::string& adapter : arguments.adapters) {
    options.adapters.push_back(parse_adapter(adapter));
  }
  if (!arguments.image_size.empty()) options.image_size = parse_image_size(arguments.image_size);
  if (options.family != "anemll") return options;
  options.chunks = chunks_of(arguments.chunks);
  if (options.chunks == 0) options.max_chunk_bytes = chunk_bytes_of(arguments.max_chunk_mb);
  return options;
}

}  // namespace pippin::app
