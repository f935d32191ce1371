#include "pippin/compress/recipe.h"

#include <algorithm>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/base/numbers/number.h"

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
  if (!parse_number(text, value) || value < 1) return std::nullopt;
  return value;
}

std::optional<double> parse_share(std::string_view text) {
  double value = 0;
  if (!parse_number(text, value) || !(value > 0 && value < 1)) return std::nullopt;
  return value;
}

bool is_palette_width(int64_t bits) {
  return bits >= 1 && bits <= 8 && bits != 5 && bits != 7;
}

}  // namespace

std::optional<std::string> contradiction(const Scheme& scheme) {
  if (scheme.prune > 0 && scheme.ratio_m > 0) {
    return "a share and an n:m ratio exclude each other";
  }
  if (scheme.cluster_dim > 1 && scheme.channel_scale) {
    return "palettes of vectors have no scales per channel";
  }
  if (scheme.prunes() && (scheme.cluster_dim > 1 || scheme.channel_scale)) {
    return "pruning leaves palettes of single values without scales per channel only";
  }
  if (scheme.group > 0 && scheme.group % scheme.cluster_dim != 0) {
    return fmt::format("groups of {} channels are not a multiple of the cluster_dim {}",
                       scheme.group, scheme.cluster_dim);
  }
  return std::nullopt;
}

Scheme parse_scheme(std::string_view text) {
  const auto refuse = [&](std::string_view what) {
    fail(ErrorCode::InvalidArgument,
         "'{}': {}; a scheme is none, int4, uint4, int8, uint8 (with :asymmetric, :tensor, "
         ":channel, :block:32, :block:8x32), lut1 to lut8 (with :GROUP, :cluster_dim:2, "
         ":lut_dtype:int8, :per_channel_scale), prune:SHARE, n_m_ratio:N:M",
         text, what);
  };
  Scheme scheme;
  const auto words = split(text, ':');
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    const auto next = [&] { return i + 1 < words.size() ? words[++i] : std::string_view(); };
    const bool linear = scheme.kind == Scheme::Kind::Linear;
    const bool palette = scheme.kind == Scheme::Kind::Palette;
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
      const auto sizes = split(next(), 'x');  // inputs, or channels x inputs
      const auto block = parse_count(sizes.back());
      const auto channels = sizes.size() == 2 ? parse_count(sizes[0]) : std::optional<int64_t>(1);
      if (!block || !channels || sizes.size() > 2) {
        refuse("a block is a number of inputs, or CHANNELSxINPUTS");
      }
      scheme.per = Scheme::Per::Block;
      scheme.block = *block;
      scheme.block_channels = *channels;
    } else if (word == "n_m_ratio") {
      const auto n = parse_count(next()), m = parse_count(next());
      if (!n || !m || *n >= *m) refuse("n_m_ratio:N:M makes N < M of every M elements 0");
      scheme.ratio_n = *n;
      scheme.ratio_m = *m;
    } else if (palette && word == "cluster_dim") {
      const auto size = parse_count(next());
      if (!size || *size > 16) refuse("a cluster_dim is 1 to 16");
      scheme.cluster_dim = static_cast<int>(*size);
    } else if (palette && word == "lut_dtype") {
      if (next() != "int8") refuse("a lut_dtype is int8");
      scheme.int8_lut = true;
    } else if (palette && word == "per_channel_scale") {
      scheme.channel_scale = true;
    } else if (palette && parse_count(word)) {
      scheme.group = *parse_count(word);
    } else {
      refuse(fmt::format("unknown part '{}'", word));
    }
  }
  if (const auto wrong = contradiction(scheme)) refuse(*wrong);
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
    if (scheme.per == Scheme::Per::Block) {
      text += scheme.block_channels == 1
                  ? fmt::format(" per block of {}", scheme.block)
                  : fmt::format(" per block of {}x{}", scheme.block_channels, scheme.block);
    }
  } else if (scheme.kind == Scheme::Kind::Palette) {
    text = fmt::format("palette of {} bit{}", scheme.bits, scheme.bits == 1 ? "" : "s");
    if (scheme.int8_lut) text += " of int8";
    if (scheme.cluster_dim > 1) text += fmt::format(" of vectors of {}", scheme.cluster_dim);
    text += scheme.group == 0 ? " per tensor" : fmt::format(" per {} channels", scheme.group);
    if (scheme.channel_scale) text += " with a scale per channel";
  }
  if (scheme.ratio_m > 0) {
    text +=
        fmt::format("{}{} of {} pruned", text.empty() ? "" : ", ", scheme.ratio_n, scheme.ratio_m);
  }
  if (scheme.prune > 0) {
    text += fmt::format("{}{:g}% pruned", text.empty() ? "" : ", ", 100 * scheme.prune);
  }
  return text.empty() ? "none" : text;
}

bool matches(std::string_view pattern, std::string_view name) {
  // The last star consumes one more character whenever the rest does not match.
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
