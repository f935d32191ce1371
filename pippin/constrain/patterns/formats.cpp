#include "pippin/constrain/patterns/formats.h"

#include <array>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "pippin/base/error.h"
#include "pippin/constrain/patterns/json_text.h"
#include "pippin/constrain/patterns/pattern.h"

namespace pippin::constrain {

namespace {

RegexId whole(RegexPool& pool, const std::string& source) {
  return whole_pattern(pool, source, Writing::JsonString, "format");
}

// RFC 3339, with the leap years of its appendix C.
const std::string date_pattern =
    "(?:\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|"
    "02-(?:0[1-9]|1\\d|2[0-8]))"
    "|(?:\\d\\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)";

std::string two(unsigned number) {
  return {static_cast<char>('0' + number / 10), static_cast<char>('0' + number % 10)};
}

// A leap second is at 23:59:60 UTC, so the hours of the local time and of its offset must match,
// and the minutes as well, with or without a carry between them.
RegexId leap_times(RegexPool& pool) {
  std::vector<RegexId> all{whole(pool, "23:59:60(?:\\.\\d+)?[zZ]")};
  for (const bool is_east : {true, false}) {
    for (const unsigned carry : {0U, 1U}) {
      std::string hours, minutes;
      for (unsigned offset = 0; offset < 24; ++offset) {
        const unsigned local =
            is_east ? (23 + offset + carry) % 24 : (23 + 48 - offset - carry) % 24;
        hours +=
            (hours.empty() ? "" : "|") + two(local) + ":..:60(?:\\.\\d+)?." + two(offset) + ":..";
      }
      for (unsigned offset = 0; offset < 60; ++offset) {
        const unsigned sum = is_east ? 59 + offset : 59 + 60 - offset;
        const bool carries = is_east ? sum >= 60 : sum < 60;
        if (carries != (carry == 1)) continue;
        minutes += (minutes.empty() ? "" : "|") + ("..:" + two(sum % 60)) +
                   ":60(?:\\.\\d+)?...:" + two(offset);
      }
      if (minutes.empty()) continue;
      const std::string shape = std::string("[0-9:.]+\\") + (is_east ? '+' : '-') + "[0-9:]+";
      all.push_back(
          pool.all_of(std::array{whole(pool, shape), whole(pool, hours), whole(pool, minutes)}));
    }
  }
  return pool.any_of(all);
}

RegexId time_of_day(RegexPool& pool, bool leap_seconds) {
  const std::string hour_minute = "(?:[01]\\d|2[0-3]):[0-5]\\d";
  const RegexId usual =
      whole(pool, hour_minute + ":[0-5]\\d(?:\\.\\d+)?(?:[zZ]|[+-]" + hour_minute + ")");
  return leap_seconds ? pool.any_of(usual, leap_times(pool)) : usual;
}

RegexId date_time(RegexPool& pool, bool leap_seconds) {
  return pool.concat(whole(pool, date_pattern + "[tT]"), time_of_day(pool, leap_seconds));
}

RegexId duration(RegexPool& pool) {
  const std::string time = "T(?:\\d+H(?:\\d+M(?:\\d+S)?)?|\\d+M(?:\\d+S)?|\\d+S)";
  return whole(pool, "P(?:\\d+W|(?:\\d+Y(?:\\d+M(?:\\d+D)?)?|\\d+M(?:\\d+D)?|\\d+D)(?:" + time +
                         ")?|" + time + ")");
}

// RFC 1123, section 2.1. Labels with "--" at their third character belong to RFC 5891, which
// restricts their contents; they are left out.
RegexId hostname(RegexPool& pool) {
  const std::string end = "[A-Za-z0-9]", any = "[A-Za-z0-9-]";
  const std::string label = end + "(?:" + end + "|" + any + end + "|" + any + any + end + "|" +
                            any + "(?:" + end + any + "|-" + end + ")" + any + "{0,58}" + end +
                            ")?";
  return pool.all_of(whole(pool, label + "(?:\\." + label + ")*"), string_length(pool, 1, 253));
}

const std::string byte_pattern = "(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)";
const std::string ipv4_pattern = byte_pattern + "(?:\\." + byte_pattern + "){3}";

// RFC 4291, section 2.2: eight groups, one or more of which "::" replaces.
std::string ipv6() {
  const std::string group = "[0-9A-Fa-f]{1,4}";
  const auto groups = [&](unsigned most) {
    return most == 0 ? std::string()
                     : "(?:" + group + "(?::" + group + "){0," + std::to_string(most - 1) + "})?";
  };
  std::string all = "(?:" + group + ":){7}" + group + "|(?:" + group + ":){6}" + ipv4_pattern;
  for (unsigned before = 0; before <= 7; ++before) {
    std::string head;
    if (before > 0) {
      head.append(group).append("(?::").append(group);
      head.append("){").append(std::to_string(before - 1)).append("}");
    }
    all.append("|").append(head).append("::").append(groups(7 - before));
    if (before > 5) continue;
    all.append("|").append(head).append("::");
    if (before < 5)
      all.append("(?:" + group + ":){0,").append(std::to_string(5 - before)).append("}");
    all += ipv4_pattern;
  }
  return all;
}

// RFC 3986 and RFC 3987.
struct UriSyntax {
  std::string pchar, query, reg_name, user;

  explicit UriSyntax(bool international) {
    const std::string more =
        international
            ? "\\u00A0-\\uD7FF\\uF900-\\uFDCF\\uFDF0-\\uFFEF\\u{10000}-\\u{1FFFD}\\u{20000}-\\u{"
              "2FFFD}"
              "\\u{30000}-\\u{3FFFD}\\u{40000}-\\u{4FFFD}\\u{50000}-\\u{5FFFD}\\u{60000}-\\u{6FFFD}"
              "\\u{70000}-\\u{7FFFD}\\u{80000}-\\u{8FFFD}\\u{90000}-\\u{9FFFD}\\u{A0000}-\\u{AFFFD}"
              "\\u{B0000}-\\u{BFFFD}\\u{C0000}-\\u{CFFFD}\\u{D0000}-\\u{DFFFD}\\u{E1000}-\\u{EFFFD}"
            : "";
    const std::string unreserved = "A-Za-z0-9\\-._~" + more,
                      delims = "!$&'()*+,;=", percent = "%[0-9A-Fa-f]{2}";
    pchar = "(?:[" + unreserved + delims + ":@]|" + percent + ")";
    query = "(?:[" + unreserved + delims + ":@/?" +
            (international ? "\\uE000-\\uF8FF\\u{F0000}-\\u{FFFFD}\\u{100000}-\\u{10FFFD}" : "") +
            "]|" + percent + ")*";
    reg_name = "(?:[" + unreserved + delims + "]|" + percent + ")*";
    user = "(?:[" + unreserved + delims + ":]|" + percent + ")*";
  }

  std::string make(bool may_be_relative) const {
    const std::string literal =
        "\\[(?:" + ipv6() + "|[vV][0-9A-Fa-f]+\\.[A-Za-z0-9\\-._~!$&'()*+,;=:]+)\\]";
    const std::string authority =
        "(?:" + user + "@)?(?:" + literal + "|" + reg_name + ")(?::\\d*)?";
    const std::string absolute_path = "/(?:" + pchar + "+(?:/" + pchar + "*)*)?",
                      rootless = pchar + "+(?:/" + pchar + "*)*";
    const std::string hierarchy =
        "(?://" + authority + "(?:/" + pchar + "*)*|" + absolute_path + "|" + rootless + "|)";
    const std::string behind = "(?:\\?" + query + ")?(?:#" + fragment() + ")?";
    std::string absolute = "[A-Za-z][A-Za-z0-9+\\-.]*:" + hierarchy + behind;
    if (!may_be_relative) return absolute;
    // A colon in the first segment of a relative path would end a scheme.
    std::string no_colon = pchar;
    no_colon.replace(no_colon.find(":@]"), 3, "@]");
    const std::string relative = "(?://" + authority + "(?:/" + pchar + "*)*|" + absolute_path +
                                 "|" + no_colon + "+(?:/" + pchar + "*)*|)";
    return absolute + "|" + relative + behind;
  }

  // Like a query, but without private-use characters.
  std::string fragment() const {
    std::string text = query;
    if (const size_t at = text.find("\\uE000-\\uF8FF"); at != std::string::npos)
      text.erase(at, text.find(']', at) - at);
    return text;
  }
};

// RFC 6570.
std::string uri_template() {
  const std::string name = "(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2})+",
                    dotted = name + "(?:\\." + name + ")*";
  const std::string variable = dotted + "(?::[1-9]\\d{0,3}|\\*)?";
  const std::string literal = "[^\\x00-\\x20\"%<>\\\\^`{|}\\x7F]|%[0-9A-Fa-f]{2}";
  return "(?:" + literal + "|\\{[+#./;?&=,!@|]?" + variable + "(?:," + variable + ")*\\})*";
}

RegexId email(RegexPool& pool) {
  // RFC 5321, section 4.1.2.
  const std::string atom = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+";
  const std::string local = "(?:" + atom + "(?:\\." + atom +
                            ")*|\"(?:[\\x20\\x21\\x23-\\x5B\\x5D-\\x7E]|\\\\[\\x20-\\x7E])*\")";
  const std::string literal = "\\[(?:" + ipv4_pattern + "|IPv6:(?:" + ipv6() + "))\\]";
  return pool.any_of(pool.concat(whole(pool, local + "@"), hostname(pool)),
                     whole(pool, local + "@" + literal));
}

using Make = RegexId (*)(RegexPool&);

const std::map<std::string_view, Make>& formats() {
  static const std::map<std::string_view, Make> list{
      {"date", [](RegexPool& p) { return whole(p, date_pattern); }},
      {"duration", duration},
      {"email", email},
      {"hostname", hostname},
      {"ipv4", [](RegexPool& p) { return whole(p, ipv4_pattern); }},
      {"ipv6", [](RegexPool& p) { return whole(p, ipv6()); }},
      {"uri", [](RegexPool& p) { return whole(p, UriSyntax(false).make(false)); }},
      {"uri-reference", [](RegexPool& p) { return whole(p, UriSyntax(false).make(true)); }},
      {"iri", [](RegexPool& p) { return whole(p, UriSyntax(true).make(false)); }},
      {"iri-reference", [](RegexPool& p) { return whole(p, UriSyntax(true).make(true)); }},
      {"uri-template", [](RegexPool& p) { return whole(p, uri_template()); }},
      {"uuid",
       [](RegexPool& p) {
         return whole(p, "[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}");
       }},
      {"json-pointer", [](RegexPool& p) { return whole(p, "(?:/(?:[^~/]|~[01])*)*"); }},
      {"relative-json-pointer",
       [](RegexPool& p) { return whole(p, "(?:0|[1-9]\\d*)(?:#|(?:/(?:[^~/]|~[01])*)*)"); }},
  };
  return list;
}

}  // namespace

std::optional<RegexId> format_content(RegexPool& pool, std::string_view format, bool leap_seconds) {
  if (format == "time") return time_of_day(pool, leap_seconds);
  if (format == "date-time") return date_time(pool, leap_seconds);
  for (const std::string_view inexact : {"idn-email", "idn-hostname", "regex"}) {
    if (format == inexact)
      fail(ErrorCode::Unsupported, "the format \"{}\" is not supported", format);
  }
  const auto it = formats().find(format);
  if (it == formats().end()) return std::nullopt;
  return it->second(pool);
}

}  // namespace pippin::constrain
