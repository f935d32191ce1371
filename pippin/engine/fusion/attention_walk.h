// The way back from the weights of an attention's last product to its scores.
#pragma once

#include "pippin/engine/fusion/attention_product.h"

namespace pippin::engine {

class AttentionWalk {
 public:
  // `weights` is an operand of the last product, whose axes are for `roles`.
  AttentionWalk(Builder& builder, const mil::Var* weights, const Roles& roles)
      : builder_(builder), var_(weights), roles_(roles) {}

  // False where this is no attention.
  bool run();

  const mil::Var* scores() const { return var_; }  // what the first product makes
  const Roles& roles() const { return roles_; }    // of the scores: rows are own, keys are summed
  const mil::Binding* mask() const { return mask_; }
  // Whether the mask is bools, true for keys that count.
  bool mask_is_allowed() const { return mask_is_allowed_; }
  // Of the scores where the mask is added, and what its axes are for.
  const mil::Shape& mask_shape() const { return mask_shape_; }
  const Roles& mask_roles() const { return mask_roles_; }
  bool reshaped() const { return reshaped_; }
  double scale() const { return cap_ > 0 ? scale_ * cap_ : scale_; }
  double softcap() const { return cap_; }               // 0: none
  const mil::Binding* sinks() const { return sinks_; }  // [1, heads, rows, 1] behind the scores

 private:
  const mil::Operation* step() const;
  void go(const mil::Operation& operation, std::string_view parameter);
  bool move(const mil::Operation& operation);
  bool to_scores();
  bool cut_last(const mil::Operation& slice);
  bool take_sinks();
  bool take_mask(const mil::Operation& operation);
  bool leads_to_product(const mil::Var* var) const;

  Builder& builder_;
  const mil::Var* var_;
  Roles roles_;
  const mil::Binding* mask_ = nullptr;
  const mil::Binding* sinks_ = nullptr;
  bool cut_ = false;  // the weights are without the last of those that the softmax gave
  bool mask_is_allowed_ = false;
  mil::Shape mask_shape_;
  Roles mask_roles_;
  double scale_ = 1, cap_ = 0;
  bool scaled_ = false, reshaped_ = false;
};

}  // namespace pippin::engine
