#include "pippin/cli/token_input.h"

#include <charconv>

#include <CLI/CLI.hpp>

#include "pippin/app/open/text_input.h"
#include "pippin/base/error.h"
#include "pippin/cli/options/image_files.h"

namespace pippin::cli {

std::vector<int32_t> parse_ids(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  if (text.starts_with('[') && text.ends_with(']') && text.size() > 1) {
    text = text.substr(1, text.size() - 2);
  }
  std::vector<int32_t> ids;
  const char* at = text.data();
  const char* const end = at + text.size();
  const auto skip_blanks = [&] {
    while (at != end && blank(*at)) ++at;
  };
  for (skip_blanks(); at != end; skip_blanks()) {
    int32_t id = 0;
    const auto [next, error] = std::from_chars(at, end, id);
    if (error != std::errc{} || id < 0 || (next != end && !blank(*next) && *next != ',')) {
      fail(ErrorCode::InvalidArgument, "\"{}\" at character {} is not an id; give 1,2,3",
           std::string(at, end).substr(0, 20), at - text.data() + 1);
    }
    ids.push_back(id);
    at = next;
    skip_blanks();
    if (at != end && *at == ',') ++at;
  }
  return ids;
}

app::TokenInput read_token_input(const TokenArguments& arguments) {
  const bool has_ids = !arguments.ids.empty(), has_images = !arguments.images.empty();
  if (has_ids && has_images) throw CLI::ValidationError("--image goes with texts, not --ids");
  const int given =
      (has_ids ? 1 : 0) + (arguments.text.empty() ? 0 : 1) + (arguments.words ? 1 : 0);
  if (given > 1 || (given == 0 && !has_images)) {
    throw CLI::ValidationError("one of --ids and --text is needed");
  }
  if (!has_ids) {
    const std::string text =
        arguments.text.empty() ? arguments.words.value_or("") : app::read_text(arguments.text);
    return {{}, text, read_image_files(arguments.images)};
  }
  try {
    return {parse_ids(arguments.ids), std::nullopt, {}};
  } catch (const Error& error) {
    throw CLI::ValidationError(std::string("--ids: ") + error.what());
  }
}

}  // namespace pippin::cli
