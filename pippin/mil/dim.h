// Symbolic dimensions, used by shape inference.
//
// A Dim is a number or an expression over symbols (a function's flexible dimensions), kept as a
// polynomial with integer coefficients over symbols and over quotients, remainders, minima and
// maxima that do not simplify: (end - q) + q is `end`, q*8*64 / 512 is `q`. Every symbol has
// bounds, and so has every Dim. Plans are made once with symbols and evaluated for each run.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace pippin::mil {

class Dim {
 public:
  // A symbol or an irreducible operation; compared by structure, symbols by identity.
  struct Atom;
  using AtomPtr = std::shared_ptr<const Atom>;

  Dim(int64_t value = 0);  // NOLINT(google-explicit-constructor): numbers are dimensions
  // Out of line: shapes are copied and destroyed in every shape and lowering rule, where inline
  // copies of these members would be most of the code that the compiler sees.
  Dim(const Dim& other);
  Dim(Dim&& other) noexcept;
  Dim& operator=(const Dim& other);
  Dim& operator=(Dim&& other) noexcept;
  ~Dim();

  // A new symbol, different from every other. `name` is for messages; bounds are inclusive.
  static Dim symbol(std::string name, int64_t lower, int64_t upper);

  bool is_constant() const { return terms_.empty(); }
  // The number; asserts is_constant().
  int64_t constant() const;
  std::optional<int64_t> try_constant() const;

  // Bounds by interval arithmetic (saturating); equal for constants.
  int64_t lower() const;
  int64_t upper() const;

  // The symbols that occur, each once.
  std::vector<AtomPtr> symbols() const;
  using Lookup = std::function<int64_t(const Atom& symbol)>;
  int64_t evaluate(const Lookup& value_of) const;
  std::string to_string() const;

  friend Dim operator+(const Dim& a, const Dim& b);
  friend Dim operator-(const Dim& a, const Dim& b);
  friend Dim operator*(const Dim& a, const Dim& b);
  Dim operator-() const;
  // Rounds toward minus infinity; exact quotients of polynomials simplify. b must not be the
  // constant 0.
  friend Dim floor_div(const Dim& a, const Dim& b);
  friend Dim mod(const Dim& a, const Dim& b);  // sign of b
  friend Dim minimum(const Dim& a, const Dim& b);
  friend Dim maximum(const Dim& a, const Dim& b);

  // The polynomial: offset() + the sum of terms(), each a coefficient times its atoms.
  struct Term {
    int64_t coefficient;
    std::vector<AtomPtr> atoms;  // sorted, with repetition
  };
  const std::vector<Term>& terms() const { return terms_; }
  int64_t offset() const { return constant_; }

  // Structural equality: equal Dims have equal values for all values of the symbols.
  friend bool operator==(const Dim& a, const Dim& b);

 private:
  struct Bounds {
    int64_t lower, upper;
  };
  Bounds bounds() const;
  void add_term(Term term);
  static Dim from_atom(AtomPtr atom);
  static int compare(const Atom& a, const Atom& b);
  static int compare(const Dim& a, const Dim& b);
  static int compare(const std::vector<AtomPtr>& a, const std::vector<AtomPtr>& b);

  std::vector<Term> terms_;  // sorted, coefficients not 0
  int64_t constant_ = 0;
};

using Shape = std::vector<Dim>;

// Whether a relation holds for all values of the symbols (true), for none (false), or it depends
// (nullopt).
std::optional<bool> known_equal(const Dim& a, const Dim& b);
std::optional<bool> known_less(const Dim& a, const Dim& b);

Dim num_elements(const Shape& shape);
// The shape as numbers, or nullopt if a dimension is symbolic.
std::optional<std::vector<int64_t>> constant_shape(const Shape& shape);
Shape to_shape(const std::vector<int64_t>& dims);
std::string to_string(const Shape& shape);  // "[1, q, 64]"

struct Dim::Atom {
  enum class Kind : uint8_t { Symbol, FloorDiv, Mod, Minimum, Maximum };
  Kind kind;
  // Symbol:
  std::string name;
  uint64_t id = 0;
  int64_t lower = 0, upper = 0;
  // Others:
  Dim a, b;
};

}  // namespace pippin::mil
