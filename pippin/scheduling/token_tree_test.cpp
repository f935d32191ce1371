#include "pippin/scheduling/token_tree.h"

#include <functional>
#include <numeric>

#include <gtest/gtest.h>
#include <pthread.h>

namespace pippin::scheduling {
namespace {

// Runs on a thread whose stack has room for a few hundred calls, also under a sanitizer.
void run_on_small_stack(std::function<void()> body) {
  constexpr size_t kBytes = size_t{256} << 10;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, kBytes), 0);
  pthread_t thread{};
  const auto call = [](void* what) -> void* {
    (*static_cast<std::function<void()>*>(what))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, call, &body), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

// A chain with one node per token: a text that grew token by token.
void fill(TokenTree& tree, int64_t count) {
  std::vector<int32_t> tokens(static_cast<size_t>(count));
  std::iota(tokens.begin(), tokens.end(), 0);
  // From the end on, so that each new node is the upper part of the first.
  for (size_t size = tokens.size(); size > 0; --size) {
    tree.node_at(std::span(tokens).first(size));
  }
  // Two texts with different ends.
  tokens.back() = -1;
  tree.node_at(tokens);
  tree.node_at(std::vector<int32_t>{7, 8, 9});
}

constexpr int64_t kDeep = 20000;

TEST(TokenTree, ManyNodesOnAPathTakeNoStackToDestroy) {
  auto tree = std::make_unique<TokenTree>(runtime::RowLayout{});
  fill(*tree, kDeep);
  EXPECT_EQ(tree->num_nodes(), kDeep + 2);
  run_on_small_stack([&] { tree.reset(); });
  EXPECT_EQ(tree, nullptr);
}

TEST(TokenTree, ManyNodesOnAPathTakeNoStackToPrune) {
  TokenTree tree{runtime::RowLayout{}};
  fill(tree, kDeep);
  run_on_small_stack([&] { tree.prune_all(); });
  EXPECT_EQ(tree.num_nodes(), 0);
}

TEST(TokenTree, PruningKeepsWhatLeadsToSomething) {
  TokenTree tree{runtime::RowLayout{}};
  fill(tree, 10);
  std::vector<int32_t> tokens{0, 1, 2, 3, 4};
  TokenNode& kept = tree.node_at(tokens);
  auto bytes = std::make_shared<runtime::RowMemory>(8);
  tree.put(kept, ItemKind::Rest, {.parts = {}, .bytes = bytes});
  tree.prune_all();
  EXPECT_EQ(tree.num_nodes(), 5);
  EXPECT_EQ(tree.match(tokens).path.back(), &kept);
  EXPECT_EQ(kept.all_tokens(), tokens);
  tree.drop(kept, ItemKind::Rest);
  tree.prune(&kept);
  EXPECT_EQ(tree.num_nodes(), 0);
}

}  // namespace
}  // namespace pippin::scheduling
