#include "pippin/mx/loops/einsum_path.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace pippin::mx {
namespace {

using Labels = std::set<char>;

Labels labels_of(const std::string& term) {
  return {term.begin(), term.end()};
}

struct Candidate {
  int64_t freed;
  uint64_t cost;
  Labels output;
  int x, y;
};

class Search {
 public:
  explicit Search(const Subscripts& subscripts)
      : sizes_(subscripts.sizes), output_(labels_of(subscripts.output)) {
    Labels all;
    for (const std::string& term : subscripts.inputs) {
      terms_.push_back(labels_of(term));
      all.insert(terms_.back().begin(), terms_.back().end());
    }
    naive_ = flops(all, all != output_, terms_.size());
    largest_ = size_of_term(output_);
    for (const Labels& term : terms_) largest_ = std::max(largest_, size_of_term(term));
  }

  EinsumPath run(const std::string& output) {
    EinsumPath path{{}, naive_, 0, largest_};
    if (terms_.size() <= 2) {
      path.cost = naive_;
      path.steps.push_back(all_at_once(output));
      return path;
    }
    std::vector<std::pair<int, int>> pairs;
    for (int i = 0; i < count(); ++i) {
      for (int j = i + 1; j < count(); ++j) pairs.emplace_back(i, j);
    }
    uint64_t spent = 0;
    while (count() > 1) {
      for (const auto& [x, y] : pairs) consider(x, y, spent, false);
      if (candidates_.empty()) {
        for (const auto& [x, y] : pairs) consider(x, y, spent, true);
      }
      if (candidates_.empty()) {
        spent += flops_of_rest();
        path.steps.push_back(all_at_once(output));
        break;
      }
      const Candidate best = *std::min_element(
          candidates_.begin(), candidates_.end(), [](const Candidate& a, const Candidate& b) {
            return a.freed != b.freed ? a.freed > b.freed : a.cost < b.cost;
          });
      spent += best.cost;
      const bool is_last = count() == 2;
      path.steps.push_back(
          {{best.x, best.y},
           is_last ? output : std::string(best.output.begin(), best.output.end())});
      take(best);
      pairs.clear();
      for (int i = 0; i + 1 < count(); ++i) pairs.emplace_back(i, count() - 1);
    }
    path.cost = spent;
    return path;
  }

 private:
  int count() const { return static_cast<int>(terms_.size()); }
  const Labels& term(int i) const { return terms_[static_cast<size_t>(i)]; }

  uint64_t size_of_term(const Labels& labels) const {
    double size = 1;
    for (const char label : labels) size *= static_cast<double>(sizes_.at(label));
    return size < 0x1p62 ? static_cast<uint64_t>(size) : uint64_t{1} << 62;
  }
  uint64_t flops(const Labels& labels, bool sums, size_t terms) const {
    const uint64_t factor = std::max<uint64_t>(1, terms - 1) + (sums ? 1 : 0);
    return std::min(size_of_term(labels), (uint64_t{1} << 62) / factor) * factor;
  }
  uint64_t flops_of_rest() const {
    Labels all;
    for (const Labels& each : terms_) all.insert(each.begin(), each.end());
    return flops(all, all != output_, terms_.size());
  }

  EinsumStep all_at_once(const std::string& output) const {
    std::vector<int> positions(terms_.size());
    std::iota(positions.begin(), positions.end(), 0);
    return {positions, output};
  }

  void consider(int x, int y, uint64_t spent, bool also_outer) {
    Labels both = term(x);
    bool shares = false;
    for (const char label : term(y)) shares = !both.insert(label).second || shares;
    if (!shares && !also_outer) return;
    Labels kept;
    const auto keep = [&](const Labels& others) {
      for (const char label : others) {
        if (both.count(label) != 0) kept.insert(label);
      }
    };
    for (int i = 0; i < count(); ++i) {
      if (i != x && i != y) keep(term(i));
    }
    keep(output_);
    const uint64_t size = size_of_term(kept);
    if (size > largest_) return;
    const uint64_t cost = flops(both, kept.size() < both.size(), 2);
    if (spent + cost > naive_) return;
    const auto freed = static_cast<int64_t>(size_of_term(term(x)) + size_of_term(term(y))) -
                       static_cast<int64_t>(size);
    candidates_.push_back({freed, cost, std::move(kept), x, y});
  }

  void take(const Candidate& best) {
    std::vector<Candidate> left;
    for (Candidate& each : candidates_) {
      if (each.x == best.x || each.x == best.y || each.y == best.x || each.y == best.y) continue;
      const auto move = [&best](int& at) { at -= (at > best.x ? 1 : 0) + (at > best.y ? 1 : 0); };
      move(each.x);
      move(each.y);
      left.push_back(std::move(each));
    }
    terms_.erase(terms_.begin() + best.y);
    terms_.erase(terms_.begin() + best.x);
    terms_.push_back(best.output);
    candidates_ = std::move(left);
  }

  const std::map<char, int64_t>& sizes_;
  Labels output_;
  std::vector<Labels> terms_;
  std::vector<Candidate> candidates_;
  uint64_t naive_ = 0, largest_ = 0;
};

}  // namespace

EinsumPath find_path(const Subscripts& subscripts) {
  return Search(subscripts).run(subscripts.output);
}

}  // namespace pippin::mx
