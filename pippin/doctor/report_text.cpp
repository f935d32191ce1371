#include "pippin/doctor/report_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/base/text.h"

namespace pippin::doctor {
namespace {

constexpr size_t kFewPlaces = 3;

// Prevents names from a file from moving the cursor or breaking lines.
std::string printable(std::string_view text) {
  constexpr size_t kLongest = 400;
  std::string result;
  for (size_t i = 0; i < text.size();) {
    const char32_t c = decode_utf8(text, i);
    if (result.size() > kLongest) return result + " ...";
    const bool control = c < 0x20 || (c >= 0x7F && c < 0xA0) || (c >= 0x202A && c <= 0x202E);
    append_utf8(result, control ? U' ' : c);
  }
  return result;
}

std::string place_text(const Place& place) {
  std::vector<std::string> words;
  for (const std::string* word : {&place.function, &place.name, &place.detail}) {
    if (!word->empty()) words.push_back(printable(*word));
  }
  return fmt::format("{}", fmt::join(words, ": "));
}

std::string_view color_of(Severity severity) {
  switch (severity) {
    case Severity::Error:
      return "\x1b[31m";
    case Severity::Warning:
      return "\x1b[33m";
    case Severity::Note:
      return "\x1b[36m";
  }
  return {};
}

std::string severity_text(Severity severity, const TextOptions& options) {
  const std::string word = fmt::format("{:<8}", to_string(severity));
  return options.styles ? fmt::format("{}{}\x1b[0m", color_of(severity), word) : word;
}

// Wraps words into lines of up to 100 columns.
std::string wrapped(std::string_view label, std::string_view text) {
  constexpr size_t kIndent = 18, kColumns = 100;
  std::string result = fmt::format("           {:<7}", label);
  size_t column = kIndent;
  bool first = true;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    if (!first && column + 1 + end > kColumns) {
      result += "\n" + std::string(kIndent, ' ');
      column = kIndent;
      first = true;
    }
    if (!first) {
      result += ' ';
      ++column;
    }
    result += text.substr(0, end);
    column += end;
    first = false;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result + "\n";
}

std::string finding_text(const Finding& finding, const TextOptions& options) {
  const Rule& rule = *finding.rule;
  std::string text =
      fmt::format("  {} {}  {}\n", severity_text(rule.severity, options), rule.id, rule.what);
  const size_t shown =
      options.all ? finding.places.size() : std::min(finding.places.size(), kFewPlaces);
  for (size_t i = 0; i < shown; ++i) {
    if (std::string place = place_text(finding.places[i]); !place.empty()) {
      text += fmt::format("           {} {}\n", i == 0 ? "at    " : "      ", place);
    }
  }
  if (shown < finding.places.size()) {
    text += fmt::format("                  and at {} more\n", finding.places.size() - shown);
  }
  text += wrapped("why", fmt::format("{} ({})", rule.why, rule.source));
  text += wrapped("do", rule.remedy);
  if (rule.fixable) {
    text += wrapped("fix", fmt::format("pippin repackage --fix {}", rule.id));
  }
  return text;
}

std::string estimate_text(const PackageEstimate& estimate) {
  std::string text = fmt::format(
      "  estimate {} of weights a token, caches up to {}; {} load{} of {}\n",
      format_bytes(estimate.token_bytes), format_bytes(estimate.cache_bytes), estimate.loads,
      estimate.loads == 1 ? "" : "s", format_bytes(estimate.weight_bytes));
  for (const FunctionEstimate& function : estimate.functions) {
    text += fmt::format(
        "           {}: {:.0f} % of the work can be on the Neural Engine, in {} "
        "piece{}\n",
        printable(function.name), 100 * function.engine_share, function.pieces,
        function.pieces == 1 ? "" : "s");
  }
  return text;
}

std::string counted(int64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

}  // namespace

std::string report_text(const Report& report, const TextOptions& options) {
  std::string text;
  for (const PartReport& part : report.parts) {
    text += fmt::format("{}{}{}: {}", options.styles ? "\x1b[1m" : "", printable(part.name),
                        options.styles ? "\x1b[0m" : "", part.kind);
    if (part.specification_version > 0) {
      text += fmt::format(", specification version {}", part.specification_version);
    }
    text += "\n";
    for (const Finding& finding : part.findings) text += finding_text(finding, options);
    if (part.estimate) text += estimate_text(*part.estimate);
    text += "\n";
  }
  return text + fmt::format("{}, {}, {}{}\n", counted(report.count(Severity::Error), "error"),
                            counted(report.count(Severity::Warning), "warning"),
                            counted(report.count(Severity::Note), "note"),
                            report.target ? fmt::format(" for {}", report.target->name) : "");
}

std::string rules_table() {
  std::string text =
      "| rule | severity | what | why | source | what to do |\n|---|---|---|---|---|---|\n";
  for (const Rule* rule : all_rules()) {
    text += fmt::format("| `{}` | {} | {} | {} | {} | {}{} |\n", rule->id,
                        to_string(rule->severity), rule->what, rule->why, rule->source,
                        rule->remedy, rule->fixable ? " (`--fix`)" : "");
  }
  return text;
}

}  // namespace pippin::doctor
