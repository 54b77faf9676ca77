//===- PickleReader.cpp - Pickles as data ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The pickle machine of Python's Lib/pickle.py cut down to data: a stack of
// values, the marks set on it, and a memo. One small function per opcode.
//===----------------------------------------------------------------------===//

#include "compiler/Pt2/PickleReader.h"

#include "compiler/Pt2/ReadFailure.h"

#include <array>
#include <map>

namespace shardc::pt2 {

namespace {

using Kind = PickleValue::Kind;

[[noreturn]] void failDamaged(const std::string &message) {
  fail(errors::damagedTorchSave, "the pickled weights are damaged: " + message,
       "copy or export the file again");
}

class PickleMachine {
public:
  explicit PickleMachine(std::span<const std::byte> bytes) : bytes(bytes) {}

  PickleDocument run() {
    while (!document.root) {
      uint8_t opcode = readByte();
      Handler handler = handlers()[opcode];
      if (!handler)
        fail(errors::forbiddenPickle,
             "the pickled weights use opcode " + std::to_string(opcode) +
                 ", which plain tensors do not need",
             "export the model with PyTorch 2.9 or later");
      handler(*this);
    }
    return std::move(document);
  }

private:
  using Handler = void (*)(PickleMachine &);

  std::span<const std::byte> bytes;
  PickleDocument document;
  std::vector<PickleValue *> stack;
  /// Heights of the stack at which marks were set.
  std::vector<size_t> marks;
  std::map<uint64_t, PickleValue *> memo;

  //===--------------------------------------------------------------------===//
  // Operands in the byte stream
  //===--------------------------------------------------------------------===//

  std::span<const std::byte> take(size_t count) {
    if (count > bytes.size())
      failDamaged("they end in the middle of an instruction");
    std::span<const std::byte> taken = bytes.first(count);
    bytes = bytes.subspan(count);
    return taken;
  }

  uint8_t readByte() { return static_cast<uint8_t>(take(1)[0]); }

  /// A little-endian number of `count` bytes.
  uint64_t readUnsigned(size_t count) {
    uint64_t value = 0;
    std::span<const std::byte> digits = take(count);
    for (size_t i = 0; i < count; ++i)
      value |= static_cast<uint64_t>(digits[i]) << (8 * i);
    return value;
  }

  /// The same in two's complement.
  int64_t readSigned(size_t count) {
    uint64_t value = readUnsigned(count);
    bool isNegative = count > 0 && (value >> (8 * count - 1)) & 1;
    if (isNegative && count < 8)
      value |= ~uint64_t(0) << (8 * count);
    return static_cast<int64_t>(value);
  }

  std::string readText(size_t count) {
    std::span<const std::byte> text = take(count);
    return {reinterpret_cast<const char *>(text.data()), text.size()};
  }

  std::string readLine() {
    std::string line;
    while (uint8_t c = readByte()) {
      if (c == '\n')
        return line;
      line.push_back(static_cast<char>(c));
    }
    failDamaged("a name has a zero byte");
  }

  //===--------------------------------------------------------------------===//
  // Stack
  //===--------------------------------------------------------------------===//

  PickleValue *make(Kind kind) {
    PickleValue &value = document.values.emplace_back();
    value.kind = kind;
    return &value;
  }

  void push(PickleValue *value) { stack.push_back(value); }

  void pushInt(int64_t integer) {
    PickleValue *value = make(Kind::Int);
    value->integer = integer;
    push(value);
  }

  void pushBool(bool flag) {
    PickleValue *value = make(Kind::Bool);
    value->integer = flag;
    push(value);
  }

  void pushText(Kind kind, std::string text) {
    PickleValue *value = make(kind);
    value->text = std::move(text);
    push(value);
  }

  /// Height below which an instruction must not reach.
  size_t floor() const { return marks.empty() ? 0 : marks.back(); }

  PickleValue *top() {
    if (stack.size() <= floor())
      failDamaged("an instruction has no operand");
    return stack.back();
  }

  PickleValue *pop() {
    PickleValue *value = top();
    stack.pop_back();
    return value;
  }

  /// Moves the values from height `start` on into `target`.
  void collect(size_t start, PickleValue *target) {
    std::span<PickleValue *const> moved = std::span(stack).subspan(start);
    target->items.insert(target->items.end(), moved.begin(), moved.end());
    stack.resize(start);
  }

  size_t popMark() {
    if (marks.empty())
      failDamaged("a mark is missing");
    size_t mark = marks.back();
    marks.pop_back();
    return mark;
  }

  void pushTuple(size_t count) {
    if (stack.size() - floor() < count)
      failDamaged("a tuple has too few elements");
    PickleValue *tuple = make(Kind::Tuple);
    collect(stack.size() - count, tuple);
    push(tuple);
  }

  void pushMarkedTuple() {
    PickleValue *tuple = make(Kind::Tuple);
    collect(popMark(), tuple);
    push(tuple);
  }

  //===--------------------------------------------------------------------===//
  // Containers, memo and calls
  //===--------------------------------------------------------------------===//

  /// Adds the values from height `start` on to the container below them.
  void addItems(size_t start, Kind kind) {
    if (start == 0 || start <= floor() || start > stack.size() ||
        stack[start - 1]->kind != kind ||
        (kind == Kind::Dict && (stack.size() - start) % 2 != 0))
      failDamaged("items are added to no container");
    collect(start, stack[start - 1]);
  }

  void remember(uint64_t key) { memo[key] = top(); }

  void recall(uint64_t key) {
    auto found = memo.find(key);
    if (found == memo.end())
      failDamaged("a value is used before it is made");
    push(found->second);
  }

  /// Records a call. An empty OrderedDict is a dictionary.
  void call() {
    PickleValue *arguments = pop();
    PickleValue *callable = pop();
    if (callable->kind != Kind::Global || arguments->kind != Kind::Tuple)
      failDamaged("something other than a function is called");
    if (callable->text == "collections OrderedDict" &&
        arguments->items.empty()) {
      push(make(Kind::Dict));
      return;
    }
    PickleValue *value = make(Kind::Call);
    value->items = {callable, arguments};
    push(value);
  }

  void pushPersistent() {
    PickleValue *value = make(Kind::Persistent);
    value->items = {pop()};
    push(value);
  }

  void pushGlobal() {
    std::string module = readLine();
    pushText(Kind::Global, module + " " + readLine());
  }

  void readProtocol() {
    uint8_t protocol = readByte();
    if (protocol != 2)
      fail(errors::forbiddenPickle,
           "expected pickle protocol 2, got " + std::to_string(protocol));
  }

  void readLong() {
    size_t count = readByte();
    if (count > sizeof(int64_t))
      failDamaged("an integer has more than 64 bits");
    pushInt(readSigned(count));
  }

  //===--------------------------------------------------------------------===//
  // Opcodes
  //===--------------------------------------------------------------------===//

  using Machine = PickleMachine;

  static std::array<Handler, 256> makeHandlers() {
    std::array<Handler, 256> on{};
    on[0x80] = [](Machine &m) { m.readProtocol(); };
    on['.'] = [](Machine &m) { m.document.root = m.pop(); };
    on['N'] = [](Machine &m) { m.push(m.make(Kind::None)); };
    on[0x88] = [](Machine &m) { m.pushBool(true); };
    on[0x89] = [](Machine &m) { m.pushBool(false); };
    on['K'] = [](Machine &m) { m.pushInt(m.readByte()); };
    on['M'] = [](Machine &m) { m.pushInt(m.readSigned(2) & 0xffff); };
    on['J'] = [](Machine &m) { m.pushInt(m.readSigned(4)); };
    on[0x8a] = [](Machine &m) { m.readLong(); };
    on['X'] = [](Machine &m) {
      m.pushText(Kind::String, m.readText(m.readUnsigned(4)));
    };
    on['c'] = [](Machine &m) { m.pushGlobal(); };
    on['('] = [](Machine &m) { m.marks.push_back(m.stack.size()); };
    on[')'] = [](Machine &m) { m.pushTuple(0); };
    on[0x85] = [](Machine &m) { m.pushTuple(1); };
    on[0x86] = [](Machine &m) { m.pushTuple(2); };
    on[0x87] = [](Machine &m) { m.pushTuple(3); };
    on['t'] = [](Machine &m) { m.pushMarkedTuple(); };
    on[']'] = [](Machine &m) { m.push(m.make(Kind::List)); };
    on['}'] = [](Machine &m) { m.push(m.make(Kind::Dict)); };
    on['a'] = [](Machine &m) { m.addItems(m.stack.size() - 1, Kind::List); };
    on['e'] = [](Machine &m) { m.addItems(m.popMark(), Kind::List); };
    on['s'] = [](Machine &m) { m.addItems(m.stack.size() - 2, Kind::Dict); };
    on['u'] = [](Machine &m) { m.addItems(m.popMark(), Kind::Dict); };
    on['q'] = [](Machine &m) { m.remember(m.readByte()); };
    on['r'] = [](Machine &m) { m.remember(m.readUnsigned(4)); };
    on['h'] = [](Machine &m) { m.recall(m.readByte()); };
    on['j'] = [](Machine &m) { m.recall(m.readUnsigned(4)); };
    on['R'] = [](Machine &m) { m.call(); };
    on['Q'] = [](Machine &m) { m.pushPersistent(); };
    return on;
  }

  static const std::array<Handler, 256> &handlers() {
    static const std::array<Handler, 256> table = makeHandlers();
    return table;
  }
};

} // namespace

PickleDocument readPickle(std::span<const std::byte> bytes) {
  return PickleMachine(bytes).run();
}

} // namespace shardc::pt2
