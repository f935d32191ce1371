#include "pippin/mil/ops/einsum.h"

#include <string>

#include <gtest/gtest.h>

#include "pippin/base/testing.h"
#include "pippin/mil/ops/testing.h"

namespace pippin::mil {
namespace {

using Role = Einsum::Role;

TEST(EinsumEquation, IsReadByItsLetters) {
  const Einsum einsum = parse_einsum("nchw,nwhu->nchu");
  EXPECT_EQ(einsum.operands[0], "nchw");
  EXPECT_EQ(einsum.operands[1], "nwhu");
  EXPECT_EQ(einsum.result, "nchu");
  EXPECT_EQ(einsum.role(0, 0), Role::Batch);
  EXPECT_EQ(einsum.role(0, 1), Role::Own);
  EXPECT_EQ(einsum.role(0, 3), Role::Summed);
  EXPECT_EQ(einsum.role(1, 1), Role::Summed);
  EXPECT_EQ(einsum.role(1, 3), Role::Own);
  EXPECT_EQ(parse_einsum("abc,cd->d").role(0, 0), Role::Alone);
}

TEST(EinsumEquation, UglyOnesThatAreSound) {
  EXPECT_EQ(parse_einsum("  i j , j k - > i k").renamed(), "ab,bc->ac");
  EXPECT_EQ(parse_einsum("ij,ij->").result, "");
  EXPECT_EQ(parse_einsum(",->").operands[1], "");
  EXPECT_EQ(parse_einsum("Aa,aB->AB").renamed(), "ab,bc->ac");  // of different case, so different
  EXPECT_EQ(parse_einsum("ii,ij->j").operands[0], "ii");
}

TEST(EinsumEquation, RefusesOthers) {
  const auto refused = [](std::string_view equation, std::string_view part) {
    EXPECT_ERROR(parse_einsum(equation), ErrorCode::InvalidFile, part);
  };
  for (const char* form :
       {"", ",", "->", "ij", "ij,jk", "ij->ji", "ij->ik,jk", "ij,jk-ik", "ijjk->"})
    refused(form, "is not of the form ab,bc->ac");
  refused("ij,jk->iz", "equation \"ij,jk->iz\": no operand has the 'z' of the result");
  refused("ij,jk->ii", "equation \"ij,jk->ii\": 'i' is twice in the result");
  refused("...ij,...jk->...ik", "'.' is not a letter");
  refused("ij,jk,kl->il", "',' is not a letter");
  refused("ij,jk->ik->ik", "'-' is not a letter");
  refused("i1,1k->ik", "'1' is not a letter");
  refused("i\tj,jk->ik", "is not a letter");
  refused("i\xc3\xa9,jk->ik", "is not a letter");
}

TEST(EinsumEquation, HasALetterForEveryAxis) {
  const auto einsum = [](const char* equation) {
    return run_one("einsum", {{"values", {floats({2, 2}, {1, 2, 3, 4}), floats({2}, {1, 10})}},
                              {"equation", {text(equation)}}});
  };
  expect_tensor(einsum("ij,j->i"), {2}, {21, 43});
  expect_tensor(einsum("ii,j->j"), {2}, {5, 50});  // the diagonal
  for (const char* equation : {"ij,jk->ik", "i,j->ij", "ijk,j->i", ",->"}) {
    EXPECT_ERROR(einsum(equation), ErrorCode::InvalidFile, "does not fit ranks 2 and 1");
  }
  EXPECT_ERROR(einsum("ij,j->k"), ErrorCode::InvalidFile, "einsum ''");
}

}  // namespace
}  // namespace pippin::mil
