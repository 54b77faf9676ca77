//===- ProgramReader.cpp - Exported programs from JSON --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The version is checked before anything else is looked at; the signature is
// checked against the graph last.
//===----------------------------------------------------------------------===//

#include "compiler/Pt2/ProgramReader.h"

#include "compiler/Pt2/ArgumentReader.h"
#include "compiler/Pt2/GraphReader.h"
#include "compiler/Pt2/ReadFailure.h"

namespace shardc::pt2 {

namespace {

constexpr int64_t supportedMajor = 8;

SchemaVersion readSchemaVersion(const Json &document) {
  const Json &value = member(document, "schema_version");
  SchemaVersion version{asInt(member(value, "major"), "a schema version"),
                        asInt(member(value, "minor"), "a schema version")};
  if (version.major != supportedMajor)
    fail(errors::schemaVersion,
         "expected export schema version " + std::to_string(supportedMajor) +
             ".x, got " + std::to_string(version.major) + "." +
             std::to_string(version.minor),
         version.major > supportedMajor
             ? "the file comes from a newer PyTorch than shardc supports; "
               "export it with an older one"
             : "export the model with PyTorch 2.9 or later");
  return version;
}

//===----------------------------------------------------------------------===//
// Signature
//===----------------------------------------------------------------------===//

/// The name in the `arg` member, which names a tensor or token.
std::string readArgumentName(const Json &spec) {
  return asString(member(member(spec, "arg"), "name"), "an argument's name");
}

/// A constant input's value: one of the members that ConstantValue shares with
/// Argument.
Argument readConstant(const Json &spec) {
  return readArgument(member(spec, "value"));
}

InputSpec readStateInput(InputKind kind, const Json &spec,
                         const char *targetKey) {
  InputSpec input{kind, readArgumentName(spec), {}, true, {}};
  input.target = asString(member(spec, targetKey), targetKey);
  input.argument.value = TensorRef{input.name};
  return input;
}

InputSpec readUserInput(const Json &spec) {
  InputSpec input{InputKind::UserInput, {}, {}, true, {}};
  input.argument = readArgument(member(spec, "arg"));
  if (const auto *tensor = input.argument.getIf<TensorRef>())
    input.name = tensor->name;
  else if (const auto *symbol = input.argument.getIf<SymInt>())
    input.name = symbol->name;
  return input;
}

InputSpec readInputSpec(const Json &value) {
  const auto &[tag, spec] = taggedValue(value, "an input of the signature");
  if (tag == "parameter")
    return readStateInput(InputKind::Parameter, spec, "parameter_name");
  if (tag == "tensor_constant")
    return readStateInput(InputKind::TensorConstant, spec,
                          "tensor_constant_name");
  if (tag == "buffer") {
    InputSpec input = readStateInput(InputKind::Buffer, spec, "buffer_name");
    input.persistent = asBool(member(spec, "persistent"), "persistent");
    return input;
  }
  if (tag == "user_input")
    return readUserInput(spec);
  if (tag == "constant_input") {
    const std::string &name = asString(member(spec, "name"), "an input's name");
    return {InputKind::ConstantInput, name, {}, true, readConstant(spec)};
  }
  if (tag == "token")
    return {InputKind::Token, readArgumentName(spec), {}, true, {}};
  if (tag == "custom_obj")
    fail(errors::pickledPayload,
         "the model has the script object '" +
             asString(member(spec, "custom_obj_name"), "an object's name") +
             "' as an input",
         "only tensors, numbers and strings can be compiled");
  fail(errors::unknownTag, "unknown kind of input '" + tag + "'",
       "the file may come from a newer PyTorch than shardc supports");
}

/// How an output specification is written.
struct OutputForm {
  OutputKind kind;
  /// The member that names what is mutated or differentiated; null for none.
  const char *targetKey;
};

const NameMap<OutputForm> &outputForms() {
  static const NameMap<OutputForm> forms = {
      {"user_output", {OutputKind::UserOutput, nullptr}},
      {"loss_output", {OutputKind::LossOutput, nullptr}},
      {"buffer_mutation", {OutputKind::BufferMutation, "buffer_name"}},
      {"parameter_mutation", {OutputKind::ParameterMutation, "parameter_name"}},
      {"user_input_mutation",
       {OutputKind::UserInputMutation, "user_input_name"}},
      {"gradient_to_parameter",
       {OutputKind::GradientToParameter, "parameter_name"}},
      {"gradient_to_user_input",
       {OutputKind::GradientToUserInput, "user_input_name"}},
      {"token", {OutputKind::Token, nullptr}}};
  return forms;
}

OutputSpec readOutputSpec(const Json &value) {
  const auto &[tag, spec] = taggedValue(value, "an output of the signature");
  auto form = outputForms().find(tag);
  if (form == outputForms().end())
    fail(errors::unknownTag, "unknown kind of output '" + tag + "'",
         "the file may come from a newer PyTorch than shardc supports");
  OutputSpec output{form->second.kind, {}, {}};
  if (output.kind == OutputKind::UserOutput)
    output.argument = readArgument(member(spec, "arg"));
  else if (output.kind != OutputKind::Token)
    output.argument.value = TensorRef{readArgumentName(spec)};
  if (const char *key = form->second.targetKey)
    output.target = asString(member(spec, key), key);
  return output;
}

GraphSignature readSignature(const Json &value) {
  GraphSignature signature;
  for (const Json &spec : asArray(member(value, "input_specs"), "input_specs"))
    signature.inputs.push_back(readInputSpec(spec));
  for (const Json &spec :
       asArray(member(value, "output_specs"), "output_specs"))
    signature.outputs.push_back(readOutputSpec(spec));
  return signature;
}

[[noreturn]] void failMismatch(const char *direction, size_t specified,
                               size_t present) {
  fail(errors::inconsistentProgram,
       "the signature has " + std::to_string(specified) + " " + direction +
           ", the graph has " + std::to_string(present));
}

/// Fails unless `argument` and `specified` are the same tensor, where both are
/// tensors.
void checkSameTensor(const Argument &argument, const Argument &specified,
                     const char *what) {
  const auto *tensor = argument.getIf<TensorRef>();
  const auto *expected = specified.getIf<TensorRef>();
  if (!expected || (tensor && tensor->name == expected->name))
    return;
  fail(errors::inconsistentProgram,
       "the signature calls " + std::string(what) + " '" + expected->name +
           "', the graph calls it '" + (tensor ? tensor->name : "") + "'");
}

void checkSignature(const Graph &graph, const GraphSignature &signature) {
  if (signature.inputs.size() != graph.inputs.size())
    failMismatch("inputs", signature.inputs.size(), graph.inputs.size());
  if (signature.outputs.size() != graph.outputs.size())
    failMismatch("outputs", signature.outputs.size(), graph.outputs.size());
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    checkSameTensor(graph.inputs[i], signature.inputs[i].argument, "an input");
    const auto *tensor = graph.inputs[i].getIf<TensorRef>();
    if (tensor && !graph.findTensor(tensor->name))
      fail(errors::inconsistentProgram,
           "graph input '" + tensor->name + "' has no type");
  }
  for (size_t i = 0; i < graph.outputs.size(); ++i)
    checkSameTensor(graph.outputs[i], signature.outputs[i].argument,
                    "an output");
}

//===----------------------------------------------------------------------===//
// Module calls and ranges
//===----------------------------------------------------------------------===//

ModuleCallEntry readModuleCall(const Json &value) {
  ModuleCallEntry entry{asString(member(value, "fqn"), "a module's name"), {}};
  const Json *json = optionalMember(value, "signature");
  if (!json)
    return entry;
  ModuleCallSignature signature;
  signature.inputs = readArguments(member(*json, "inputs"), "module inputs");
  signature.outputs = readArguments(member(*json, "outputs"), "module outputs");
  signature.inSpec = asString(member(*json, "in_spec"), "in_spec");
  signature.outSpec = asString(member(*json, "out_spec"), "out_spec");
  if (const Json *names = optionalMember(*json, "forward_arg_names"))
    signature.forwardArgumentNames = readStrings(*names, "forward_arg_names");
  entry.signature = std::move(signature);
  return entry;
}

std::optional<int64_t> readBound(const Json &range, const char *key) {
  const Json *bound = optionalMember(range, key);
  if (!bound)
    return std::nullopt;
  return asInt(*bound, "a bound of a symbol");
}

NameMap<RangeConstraint> readRanges(const Json &document) {
  NameMap<RangeConstraint> ranges;
  if (const Json *object = optionalMember(document, "range_constraints"))
    for (const auto &[symbol, range] :
         asObject(*object, "range_constraints").items())
      ranges.emplace(symbol, RangeConstraint{readBound(range, "min_val"),
                                             readBound(range, "max_val")});
  return ranges;
}

} // namespace

ExportedProgram readProgram(const Json &document) {
  ExportedProgram program;
  program.schemaVersion = readSchemaVersion(document);
  if (const Json *version = optionalMember(document, "torch_version"))
    program.torchVersion = asString(*version, "torch_version");
  if (const Json *verifiers = optionalMember(document, "verifiers"))
    program.verifiers = readStrings(*verifiers, "verifiers");
  program.rangeConstraints = readRanges(document);
  if (const Json *guards = optionalMember(document, "guards_code"))
    program.guards = readStrings(*guards, "guards_code");

  const Json &graphModule = member(document, "graph_module");
  program.graph = readGraph(member(graphModule, "graph"));
  program.signature = readSignature(member(graphModule, "signature"));
  for (const Json &call :
       asArray(member(graphModule, "module_call_graph"), "module_call_graph"))
    program.moduleCallGraph.push_back(readModuleCall(call));
  for (const ModuleCallEntry &call : program.moduleCallGraph)
    if (call.fqn.empty() && call.signature)
      program.forwardArgumentNames = call.signature->forwardArgumentNames;
  checkSignature(program.graph, program.signature);
  return program;
}

} // namespace shardc::pt2
