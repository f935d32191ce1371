// Sets of literals, and the forms of the values for which they hold.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "pippin/constrain/schema/form.h"
#include "pippin/constrain/schema/keywords.h"

namespace pippin::constrain {

class Algebra {
 public:
  Algebra(RegexPool& pool, SchemaDocument& document, const SchemaOptions& options);

  RegexPool& pool() { return pool_; }
  ValueId value(std::vector<Literal> literals);
  ValueId value(const Literal& literal) { return value(std::vector{literal}); }
  const std::vector<Literal>& literals(ValueId value) const { return *literals_[value]; }
  Literal either(std::vector<Literal> literals);  // one of them holds
  const std::vector<Literal>& alternatives(uint32_t either) const { return *eithers_[either]; }

  // Computed on first use.
  const Form& form(ValueId value);
  // Returns whether it is obvious that no value satisfies both; false if it is not, or not obvious.
  bool exclude_each_other(const Literal& a, const Literal& b);
  // If a value can only be one of a list of constants, returns these, each once.
  std::optional<std::vector<Literal>> constants(ValueId value) {
    return keywords_.constants(literals(value));
  }
  // Computes all values that a value can reach. is_possible() is valid afterwards.
  void close(ValueId root);
  // Returns whether there is such a value.
  bool is_possible(ValueId value) const { return possible_[value]; }
  size_t num_values() const { return literals_.size(); }
  Keywords& keywords() { return keywords_; }

 private:
  Form make(const Branches& branches);
  ArrayForm array(const Branch& branch);
  std::optional<ObjectForm> object(const Branch& branch);
  bool is_plainly_impossible(ValueId value, int depth);

  RegexPool& pool_;
  const SchemaOptions& options_;
  Keywords keywords_;
  std::map<std::vector<Literal>, ValueId> ids_;
  std::vector<const std::vector<Literal>*> literals_;
  std::map<std::vector<Literal>, uint32_t> either_ids_;
  std::vector<const std::vector<Literal>*> eithers_;
  std::deque<std::optional<Form>> forms_;
  std::vector<bool> possible_;
  std::set<ValueId> open_;  // in progress
};

}  // namespace pippin::constrain
