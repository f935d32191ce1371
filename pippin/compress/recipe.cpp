#include "pippin/compress/recipe.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "pippin/base/error.h"

namespace pippin::compress {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t end = std::min(text.find(separator), text.size());
    parts.push_back(text.substr(0, end));
    if (end == text.size()) return parts;
    text.remove_prefix(end + 1);
  }
}

std::optional<int64_t> parse_count(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1) return std::nullopt;
  return value;
}

std::optional<double> parse_share(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (!(value > 0 && value < 1)) return std::nullopt;
  return value;
}

bool is_palette_width(int64_t bits) {
  return bits >= 1 && bits <= 8 && bits != 5 && bits != 7;
}

}  // namespace

Scheme parse_scheme(std::string_view text) {
  const auto refuse = [&](std::string_view what) {
    fail(ErrorCode::InvalidArgument,
         "'{}': {}; a scheme is none, int4, uint4, int8, uint8 (with :asymmetric, :tensor, "
         ":channel, :block:32), lut1 to lut8 (with :GROUP), prune:SHARE",
         text, what);
  };
  Scheme scheme;
  const auto words = split(text, ':');
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    const auto next = [&] { return i + 1 < words.size() ? words[++i] : std::string_view(); };
    const bool linear = scheme.kind == Scheme::Kind::Linear;
    if (word == "none" && words.size() == 1) return scheme;
    if (word == "prune") {
      const auto share = parse_share(next());
      if (!share) refuse("a share is between 0 and 1");
      scheme.prune = *share;
    } else if (i == 0 && (word == "int4" || word == "uint4" || word == "int8" || word == "uint8")) {
      scheme.kind = Scheme::Kind::Linear;
      scheme.data = *mil::parse_data_type(word);
    } else if (i == 0 && word.substr(0, 3) == "lut") {
      const auto bits = parse_count(word.substr(3));
      if (!bits || !is_palette_width(*bits)) refuse("palettes have 1, 2, 3, 4, 6 or 8 bits");
      scheme.kind = Scheme::Kind::Palette;
      scheme.bits = static_cast<int>(*bits);
    } else if (linear && (word == "symmetric" || word == "asymmetric")) {
      scheme.symmetric = word == "symmetric";
    } else if (linear && word == "tensor") {
      scheme.per = Scheme::Per::Tensor;
    } else if (linear && word == "channel") {
      scheme.per = Scheme::Per::Channel;
    } else if (linear && word == "block") {
      const auto block = parse_count(next());
      if (!block) refuse("a block is a number of elements");
      scheme.per = Scheme::Per::Block;
      scheme.block = *block;
    } else if (scheme.kind == Scheme::Kind::Palette && parse_count(word)) {
      scheme.group = *parse_count(word);
    } else {
      refuse(fmt::format("what is '{}'", word));
    }
  }
  return scheme;
}

Scheme parse_lut(std::string_view text) {
  Scheme scheme;
  if (text == "none") return scheme;
  const auto words = split(text, ',');
  const auto bits = parse_count(words[0]);
  const auto group = words.size() == 2 ? parse_count(words[1]) : std::nullopt;
  if (words.size() > 2 || !bits || !is_palette_width(*bits) || (words.size() == 2 && !group)) {
    fail(ErrorCode::InvalidArgument,
         "'{}': a palette is none, BITS or BITS,GROUP with 1, 2, 3, 4, 6 or 8 bits", text);
  }
  scheme.kind = Scheme::Kind::Palette;
  scheme.bits = static_cast<int>(*bits);
  scheme.group = group.value_or(0);
  return scheme;
}

std::string to_string(const Scheme& scheme) {
  std::string text;
  if (scheme.kind == Scheme::Kind::Linear) {
    text = fmt::format("{}{}", mil::to_string(scheme.data), scheme.symmetric ? "" : " asymmetric");
    if (scheme.per == Scheme::Per::Tensor) text += " per tensor";
    if (scheme.per == Scheme::Per::Channel) text += " per channel";
    if (scheme.per == Scheme::Per::Block) text += fmt::format(" per block of {}", scheme.block);
  } else if (scheme.kind == Scheme::Kind::Palette) {
    text = fmt::format("palette of {} bit{}", scheme.bits, scheme.bits == 1 ? "" : "s");
    text += scheme.group == 0 ? " per tensor" : fmt::format(" per {} channels", scheme.group);
  }
  if (scheme.prune > 0) {
    text += fmt::format("{}{:g}% pruned", text.empty() ? "" : ", ", 100 * scheme.prune);
  }
  return text.empty() ? "none" : text;
}

bool matches(std::string_view pattern, std::string_view name) {
  // The last star may take one character more whenever the rest does not fit.
  size_t p = 0, n = 0, star = pattern.npos, taken = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p;
      ++n;
    } else if (star != pattern.npos) {
      p = star + 1;
      n = ++taken;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace pippin::compress
