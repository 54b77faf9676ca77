//===- ModuleStackTest.cpp - nn_module_stack in its variants --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The spellings that PyTorch versions and export modes have for the stack of
// modules around a node.
//===----------------------------------------------------------------------===//

#include "compiler/Pt2/GraphReader.h"
#include "compiler/Pt2/ReadFailure.h"

#include <gmock/gmock.h>

using namespace shardc;
using namespace shardc::pt2;

namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// The second field is the path; the first one is a key without meaning.
TEST(Pt2ModuleStack, TakesPathsAndTypes) {
  EXPECT_THAT(parseModuleStack("L__self__,,__main__.M;140672545363616,layers.0,"
                               "__main__.Block"),
              ElementsAre(ModuleFrame{"", 0, "__main__.M"},
                          ModuleFrame{"layers.0", 0, "__main__.Block"}));
}

// The key's suffix counts the calls of a shared module.
TEST(Pt2ModuleStack, CountsCalls) {
  EXPECT_THAT(parseModuleStack("L__self__layers.0@12,layers.0,__main__.Block"),
              ElementsAre(ModuleFrame{"layers.0", 12, "__main__.Block"}));
}

// Commas in brackets belong to the field.
TEST(Pt2ModuleStack, KeepsBracketedCommas) {
  EXPECT_THAT(parseModuleStack("key,net['a,b'],lib.Map[int, str]"),
              ElementsAre(ModuleFrame{"net['a,b']", 0, "lib.Map[int, str]"}));
}

// torch 2.6 in strict mode writes the argument's name when `forward` does not
// call it self.
TEST(Pt2ModuleStack, DropsTheArgumentThatHoldsTheModel) {
  EXPECT_THAT(parseModuleStack("L__s___emb,L['s'].emb,torch.nn.Embedding"),
              ElementsAre(ModuleFrame{"emb", 0, "torch.nn.Embedding"}));
}

// Nodes without modules, and those that PyTorch inserted itself.
TEST(Pt2ModuleStack, MayBeEmpty) {
  EXPECT_THAT(parseModuleStack(""), IsEmpty());
  EXPECT_THAT(parseModuleStack("_empty_nn_module_stack_from_metadata_hook,"
                               "_empty_nn_module_stack_from_metadata_hook,"
                               "_empty_nn_module_stack_from_metadata_hook"),
              IsEmpty());
}

TEST(Pt2ModuleStack, RefusesOtherForms) {
  EXPECT_THROW((void)parseModuleStack("layers.0"), ReadFailure);
  EXPECT_THROW((void)parseModuleStack("a,b,c,d"), ReadFailure);
}

} // namespace
