#include "pippin/mil/dim.h"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace pippin::mil {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

int64_t sat_add(int64_t a, int64_t b) {
  int64_t result = 0;
  if (!__builtin_add_overflow(a, b, &result)) return result;
  return a > 0 ? kMax : kMin;
}
int64_t sat_mul(int64_t a, int64_t b) {
  int64_t result = 0;
  if (!__builtin_mul_overflow(a, b, &result)) return result;
  return (a > 0) == (b > 0) ? kMax : kMin;
}

int64_t floor_div_int(int64_t a, int64_t b) {
  if (b == 0) return 0;  // reached only for symbol values that a constraint rejects
  if (b == -1) return sat_mul(a, -1);
  const int64_t quotient = a / b;
  return (a % b != 0 && (a % b < 0) != (b < 0)) ? quotient - 1 : quotient;
}
int64_t mod_int(int64_t a, int64_t b) {
  if (b == 0 || b == -1) return 0;
  const int64_t remainder = a % b;
  return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

}  // namespace

Dim::Dim(const Dim& other) = default;
Dim::Dim(Dim&& other) noexcept = default;
Dim& Dim::operator=(const Dim& other) = default;
Dim& Dim::operator=(Dim&& other) noexcept = default;
Dim::~Dim() = default;

Dim::Dim(int64_t value) : constant_(value) {}

Dim Dim::symbol(std::string name, int64_t lower, int64_t upper) {
  static std::atomic<uint64_t> next_id{1};
  if (lower == upper) return Dim(lower);
  auto atom = std::make_shared<Atom>();
  atom->kind = Atom::Kind::Symbol;
  atom->name = std::move(name);
  atom->id = next_id.fetch_add(1);
  atom->lower = lower;
  atom->upper = upper;
  return from_atom(std::move(atom));
}

Dim Dim::from_atom(AtomPtr atom) {
  Dim result;
  result.terms_.push_back({1, {std::move(atom)}});
  return result;
}

int64_t Dim::constant() const {
  assert(is_constant());
  return constant_;
}

std::optional<int64_t> Dim::try_constant() const {
  if (is_constant()) return constant_;
  return std::nullopt;
}

int Dim::compare(const Atom& a, const Atom& b) {
  if (&a == &b) return 0;
  if (a.kind != b.kind) return a.kind < b.kind ? -1 : 1;
  if (a.kind == Atom::Kind::Symbol) return a.id == b.id ? 0 : a.id < b.id ? -1 : 1;
  if (const int order = compare(a.a, b.a); order != 0) return order;
  return compare(a.b, b.b);
}

int Dim::compare(const std::vector<AtomPtr>& a, const std::vector<AtomPtr>& b) {
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  for (size_t i = 0; i < a.size(); ++i) {
    if (const int order = compare(*a[i], *b[i]); order != 0) return order;
  }
  return 0;
}

int Dim::compare(const Dim& a, const Dim& b) {
  if (a.constant_ != b.constant_) return a.constant_ < b.constant_ ? -1 : 1;
  if (a.terms_.size() != b.terms_.size()) return a.terms_.size() < b.terms_.size() ? -1 : 1;
  for (size_t i = 0; i < a.terms_.size(); ++i) {
    if (a.terms_[i].coefficient != b.terms_[i].coefficient) {
      return a.terms_[i].coefficient < b.terms_[i].coefficient ? -1 : 1;
    }
    if (const int order = compare(a.terms_[i].atoms, b.terms_[i].atoms); order != 0) return order;
  }
  return 0;
}

bool operator==(const Dim& a, const Dim& b) {
  return Dim::compare(a, b) == 0;
}

void Dim::add_term(Term term) {
  if (term.coefficient == 0) return;
  const auto place =
      std::lower_bound(terms_.begin(), terms_.end(), term,
                       [](const Term& a, const Term& b) { return compare(a.atoms, b.atoms) < 0; });
  if (place != terms_.end() && compare(place->atoms, term.atoms) == 0) {
    place->coefficient = sat_add(place->coefficient, term.coefficient);
    if (place->coefficient == 0) terms_.erase(place);
  } else {
    terms_.insert(place, std::move(term));
  }
}

Dim operator+(const Dim& a, const Dim& b) {
  Dim result = a;
  result.constant_ = sat_add(a.constant_, b.constant_);
  for (const auto& term : b.terms_) result.add_term(term);
  return result;
}

Dim Dim::operator-() const {
  return *this * Dim(-1);
}
Dim operator-(const Dim& a, const Dim& b) {
  return a + (-b);
}

Dim operator*(const Dim& a, const Dim& b) {
  Dim result(sat_mul(a.constant_, b.constant_));
  for (const auto& term : a.terms_) {
    result.add_term({sat_mul(term.coefficient, b.constant_), term.atoms});
  }
  for (const auto& term : b.terms_) {
    result.add_term({sat_mul(term.coefficient, a.constant_), term.atoms});
  }
  for (const auto& left : a.terms_) {
    for (const auto& right : b.terms_) {
      Dim::Term product{sat_mul(left.coefficient, right.coefficient), left.atoms};
      product.atoms.insert(product.atoms.end(), right.atoms.begin(), right.atoms.end());
      std::sort(product.atoms.begin(), product.atoms.end(),
                [](const auto& x, const auto& y) { return Dim::compare(*x, *y) < 0; });
      result.add_term(std::move(product));
    }
  }
  return result;
}

Dim floor_div(const Dim& a, const Dim& b) {
  if (b == Dim(1)) return a;
  if (a.is_constant() && b.is_constant()) return Dim(floor_div_int(a.constant_, b.constant_));
  if (a == Dim(0)) return Dim(0);
  if (a == b) return Dim(1);
  // A monomial divides term by term if every quotient is exact.
  const bool monomial = b.terms_.empty() || (b.terms_.size() == 1 && b.constant_ == 0);
  if (monomial) {
    const int64_t divisor = b.terms_.empty() ? b.constant_ : b.terms_[0].coefficient;
    static const std::vector<Dim::AtomPtr> no_atoms;
    const auto& divisor_atoms = b.terms_.empty() ? no_atoms : b.terms_[0].atoms;
    bool exact = divisor != 0 && divisor != -1 && a.constant_ % divisor == 0 &&
                 (a.constant_ == 0 || divisor_atoms.empty());
    Dim quotient(exact ? a.constant_ / divisor : 0);
    for (const auto& term : a.terms_) {
      if (!exact) break;
      Dim::Term part{0, {}};
      exact = term.coefficient % divisor == 0;
      part.coefficient = exact ? term.coefficient / divisor : 0;
      size_t next = 0;  // both atom lists are sorted: drop the divisor's from the term's
      for (const auto& atom : term.atoms) {
        if (next < divisor_atoms.size() && Dim::compare(*atom, *divisor_atoms[next]) == 0) {
          ++next;
        } else {
          part.atoms.push_back(atom);
        }
      }
      exact = exact && next == divisor_atoms.size();
      if (part.atoms.empty()) {
        quotient.constant_ = sat_add(quotient.constant_, part.coefficient);
      } else {
        quotient.add_term(std::move(part));
      }
    }
    if (exact) return quotient;
  }
  auto atom = std::make_shared<Dim::Atom>();
  atom->kind = Dim::Atom::Kind::FloorDiv;
  atom->a = a;
  atom->b = b;
  return Dim::from_atom(std::move(atom));
}

Dim mod(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return Dim(mod_int(a.constant_, b.constant_));
  Dim remainder = a - floor_div(a, b) * b;
  if (remainder.is_constant()) return remainder;
  auto atom = std::make_shared<Dim::Atom>();
  atom->kind = Dim::Atom::Kind::Mod;
  atom->a = a;
  atom->b = b;
  return Dim::from_atom(std::move(atom));
}

Dim minimum(const Dim& a, const Dim& b) {
  const Dim difference = a - b;
  if (difference.upper() <= 0) return a;
  if (difference.lower() >= 0) return b;
  auto atom = std::make_shared<Dim::Atom>();
  atom->kind = Dim::Atom::Kind::Minimum;
  const bool ordered = Dim::compare(a, b) <= 0;
  atom->a = ordered ? a : b;
  atom->b = ordered ? b : a;
  return Dim::from_atom(std::move(atom));
}

Dim maximum(const Dim& a, const Dim& b) {
  const Dim difference = a - b;
  if (difference.upper() <= 0) return b;
  if (difference.lower() >= 0) return a;
  auto atom = std::make_shared<Dim::Atom>();
  atom->kind = Dim::Atom::Kind::Maximum;
  const bool ordered = Dim::compare(a, b) <= 0;
  atom->a = ordered ? a : b;
  atom->b = ordered ? b : a;
  return Dim::from_atom(std::move(atom));
}

Dim::Bounds Dim::bounds() const {
  const auto multiply = [](Bounds a, Bounds b) {
    const int64_t products[] = {sat_mul(a.lower, b.lower), sat_mul(a.lower, b.upper),
                                sat_mul(a.upper, b.lower), sat_mul(a.upper, b.upper)};
    return Bounds{*std::min_element(products, products + 4),
                  *std::max_element(products, products + 4)};
  };
  const auto of_atom = [](const Atom& atom) -> Bounds {
    if (atom.kind == Atom::Kind::Symbol) return {atom.lower, atom.upper};
    const Bounds a = atom.a.bounds(), b = atom.b.bounds();
    switch (atom.kind) {
      case Atom::Kind::Minimum:
        return {std::min(a.lower, b.lower), std::min(a.upper, b.upper)};
      case Atom::Kind::Maximum:
        return {std::max(a.lower, b.lower), std::max(a.upper, b.upper)};
      case Atom::Kind::Mod:
        if (b.lower > 0) return {0, sat_add(b.upper, -1)};
        return {kMin, kMax};
      default:
        break;
    }
    if (b.lower <= 0) return {kMin, kMax};
    const int64_t quotients[] = {floor_div_int(a.lower, b.lower), floor_div_int(a.lower, b.upper),
                                 floor_div_int(a.upper, b.lower), floor_div_int(a.upper, b.upper)};
    return {*std::min_element(quotients, quotients + 4),
            *std::max_element(quotients, quotients + 4)};
  };
  Bounds total{constant_, constant_};
  for (const Term& term : terms_) {
    Bounds product{term.coefficient, term.coefficient};
    for (const AtomPtr& atom : term.atoms) product = multiply(product, of_atom(*atom));
    total = {sat_add(total.lower, product.lower), sat_add(total.upper, product.upper)};
  }
  return total;
}

int64_t Dim::lower() const {
  return bounds().lower;
}
int64_t Dim::upper() const {
  return bounds().upper;
}

std::vector<Dim::AtomPtr> Dim::symbols() const {
  std::vector<AtomPtr> found;
  const auto add = [&](const AtomPtr& atom) {
    const bool known = std::any_of(found.begin(), found.end(),
                                   [&](const AtomPtr& other) { return other->id == atom->id; });
    if (!known) found.push_back(atom);
  };
  for (const Term& term : terms_) {
    for (const AtomPtr& atom : term.atoms) {
      if (atom->kind == Atom::Kind::Symbol) {
        add(atom);
      } else {
        for (const AtomPtr& inner : atom->a.symbols()) add(inner);
        for (const AtomPtr& inner : atom->b.symbols()) add(inner);
      }
    }
  }
  return found;
}

int64_t Dim::evaluate(const Lookup& value_of) const {
  int64_t total = constant_;
  for (const Term& term : terms_) {
    int64_t product = term.coefficient;
    for (const AtomPtr& atom : term.atoms) {
      int64_t value = 0;
      if (atom->kind == Atom::Kind::Symbol) {
        value = value_of(*atom);
      } else {
        const int64_t a = atom->a.evaluate(value_of), b = atom->b.evaluate(value_of);
        switch (atom->kind) {
          case Atom::Kind::FloorDiv:
            value = floor_div_int(a, b);
            break;
          case Atom::Kind::Mod:
            value = mod_int(a, b);
            break;
          case Atom::Kind::Minimum:
            value = std::min(a, b);
            break;
          default:
            value = std::max(a, b);
            break;
        }
      }
      product = sat_mul(product, value);
    }
    total = sat_add(total, product);
  }
  return total;
}

std::string Dim::to_string() const {
  if (is_constant()) return std::to_string(constant_);
  std::string text;
  for (const Term& term : terms_) {
    const bool negative = term.coefficient < 0;
    const int64_t magnitude = negative ? -term.coefficient : term.coefficient;
    text += text.empty() ? (negative ? "-" : "") : (negative ? " - " : " + ");
    if (magnitude != 1) text += fmt::format("{}*", magnitude);
    for (size_t i = 0; i < term.atoms.size(); ++i) {
      const Atom& atom = *term.atoms[i];
      if (i > 0) text += "*";
      switch (atom.kind) {
        case Atom::Kind::Symbol:
          text += atom.name;
          break;
        case Atom::Kind::FloorDiv:
          text += fmt::format("floor(({})/({}))", atom.a.to_string(), atom.b.to_string());
          break;
        case Atom::Kind::Mod:
          text += fmt::format("mod({}, {})", atom.a.to_string(), atom.b.to_string());
          break;
        case Atom::Kind::Minimum:
          text += fmt::format("min({}, {})", atom.a.to_string(), atom.b.to_string());
          break;
        case Atom::Kind::Maximum:
          text += fmt::format("max({}, {})", atom.a.to_string(), atom.b.to_string());
          break;
      }
    }
  }
  if (constant_ != 0) text += fmt::format(" {} {}", constant_ < 0 ? "-" : "+", std::abs(constant_));
  return text;
}

std::optional<bool> known_equal(const Dim& a, const Dim& b) {
  const Dim difference = a - b;
  if (const auto constant = difference.try_constant()) return *constant == 0;
  if (difference.lower() > 0 || difference.upper() < 0) return false;
  return std::nullopt;
}

std::optional<bool> known_less(const Dim& a, const Dim& b) {
  const Dim difference = a - b;
  if (difference.upper() < 0) return true;
  if (difference.lower() >= 0) return false;
  return std::nullopt;
}

Dim num_elements(const Shape& shape) {
  Dim count(1);
  for (const Dim& dim : shape) count = count * dim;
  return count;
}

std::optional<std::vector<int64_t>> constant_shape(const Shape& shape) {
  std::vector<int64_t> dims;
  for (const Dim& dim : shape) {
    const auto constant = dim.try_constant();
    if (!constant) return std::nullopt;
    dims.push_back(*constant);
  }
  return dims;
}

Shape to_shape(const std::vector<int64_t>& dims) {
  return Shape(dims.begin(), dims.end());
}

std::string to_string(const Shape& shape) {
  std::vector<std::string> parts;
  for (const Dim& dim : shape) parts.push_back(dim.to_string());
  return fmt::format("[{}]", fmt::join(parts, ", "));
}

}  // namespace pippin::mil
