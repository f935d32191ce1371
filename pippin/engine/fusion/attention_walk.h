// Walks back from the weights of an attention's last product to its scores.
#pragma once

#include "pippin/engine/fusion/attention_product.h"

namespace pippin::engine {

// A term that is added to the scores on their way to the softmax.
struct MaskTerm {
  const mil::Binding* mask = nullptr;
  bool is_allowed = false;  // bools, true for keys that count
  double factor = 1;        // factor that it is multiplied with on the rest of the way
  mil::Shape shape;         // of the scores at the addition, and the roles of its axes
  Roles roles;
};

class AttentionWalk {
 public:
  // `weights` is an operand of the last product, whose axes have the roles `roles`.
  AttentionWalk(Builder& builder, const mil::Var* weights, const Roles& roles)
      : builder_(builder), var_(weights), roles_(roles) {}

  // Returns false if this is not attention.
  bool run();

  const mil::Var* scores() const { return var_; }  // the result of the first product
  const Roles& roles() const { return roles_; }    // of the scores: rows are own, keys are summed
  const std::vector<MaskTerm>& masks() const { return masks_; }
  bool reshaped() const { return reshaped_; }
  double scale() const { return cap_ > 0 ? scale_ * cap_ : scale_; }
  double softcap() const { return cap_; }               // 0: none
  const mil::Binding* sinks() const { return sinks_; }  // [1, heads, rows, 1], joined to the scores

 private:
  const mil::Operation* step() const;
  void go(const mil::Operation& operation, std::string_view parameter);
  bool move(const mil::Operation& operation);
  bool to_scores();
  bool cut_last(const mil::Operation& slice);
  bool take_sinks();
  bool take_mask(const mil::Operation& operation);
  bool leads_to_product(const mil::Var* var, int steps) const;

  Builder& builder_;
  const mil::Var* var_;
  Roles roles_;
  std::vector<MaskTerm> masks_;
  const mil::Binding* sinks_ = nullptr;
  bool cut_ = false;  // the weights lack the last element of the softmax
  double scale_ = 1, cap_ = 0;
  bool reshaped_ = false;
};

}  // namespace pippin::engine
