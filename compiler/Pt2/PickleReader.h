//===- PickleReader.h - Pickles as data -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Reads a Python pickle without executing it: what unpickling would call is
// recorded as a Call value, what it would import as a Global, and nothing is
// looked up. Only the opcodes that torch.save uses for dictionaries of tensors
// (protocol 2) are known; any other fails.
//
// Values live in the document, so that values which share or contain each other
// cost nothing and need no recursion to destroy.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_COMPILER_PT2_PICKLEREADER_H
#define SHARDC_COMPILER_PT2_PICKLEREADER_H

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

namespace shardc::pt2 {

struct PickleValue {
  enum class Kind {
    None,
    Bool,
    Int,
    String,
    /// `items` are the elements.
    Tuple,
    List,
    /// `items` are key, value, key, value, …
    Dict,
    /// `text` is "module name", such as "torch._utils _rebuild_tensor_v2".
    Global,
    /// `items[0]` identifies an object kept outside of the pickle.
    Persistent,
    /// `items[0]` is called with the elements of the tuple `items[1]`.
    Call,
  };

  Kind kind = Kind::None;
  int64_t integer = 0;
  std::string text;
  std::vector<const PickleValue *> items;
};

/// Owns the values of one pickle. Pointers stay valid when it moves.
struct PickleDocument {
  std::deque<PickleValue> values;
  const PickleValue *root = nullptr;
};

/// Reads the pickle that `bytes` begins with. Throws ReadFailure.
PickleDocument readPickle(std::span<const std::byte> bytes);

} // namespace shardc::pt2

#endif // SHARDC_COMPILER_PT2_PICKLEREADER_H
