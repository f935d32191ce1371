// build_time.sh measures a machine's compiler with this: only templates of the standard library, so
// that no change of the project affects it.
#include <algorithm>
#include <functional>
#include <map>
#include <regex>
#include <string>
#include <variant>
#include <vector>

std::map<std::string, std::vector<std::string>> words_by_pattern(
    const std::vector<std::string>& patterns, const std::string& text) {
  std::map<std::string, std::vector<std::string>> result;
  for (const std::string& pattern : patterns) {
    const std::regex expression(pattern);
    for (std::sregex_iterator match(text.begin(), text.end(), expression), end; match != end;
         ++match) {
      result[pattern].push_back(match->str());
    }
    std::stable_sort(result[pattern].begin(), result[pattern].end(), std::greater<>());
  }
  return result;
}

size_t total(const std::vector<std::variant<int, std::string, std::vector<double>>>& values) {
  size_t sum = 0;
  for (const auto& value : values) {
    std::visit([&](const auto& held) { sum += sizeof held; }, value);
  }
  return sum;
}
