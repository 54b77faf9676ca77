//===- ModelOptions.cpp - Options of every command that reads a model -----===//
// SPDX-License-Identifier: Apache-2.0
//
// How a model is read: its symbolic sizes and its loss.
//===----------------------------------------------------------------------===//

#include "compiler/OptionTable.h"
#include "compiler/Pt2/SymbolBindings.h"
#include "tools/shardc/Commands.h"

#include <charconv>

namespace shardc {

/// "s77=32" as a name and a number; throws a usage error.
static std::pair<std::string, int64_t> parseBinding(const std::string &text) {
  size_t equals = text.find('=');
  int64_t value = 0;
  const char *end = text.data() + text.size();
  if (equals != std::string::npos && equals > 0) {
    auto [stop, error] = std::from_chars(text.data() + equals + 1, end, value);
    if (error == std::errc() && stop == end)
      return {text.substr(0, equals), value};
  }
  throw CLI::ValidationError("--bind",
                             "expected NAME=NUMBER, got '" + text + "'");
}

/// The samples that a micro-batch may have.
static std::string describeInvalidSamples(const std::string &text) {
  double value = 0;
  return CLI::detail::lexical_cast(text, value)
             ? describeOutOfRange(value, {1, 1e9})
             : std::string();
}

void bindMicroBatch(InputOptions &options, int64_t size) {
  options.bindings.insert_or_assign(pt2::anyBatch, size);
}

void addBindOption(CLI::App &command, InputOptions &options) {
  command
      .add_option_function<std::vector<std::string>>(
          "--bind",
          [&options](const std::vector<std::string> &bindings) {
            for (const std::string &binding : bindings)
              options.bindings.insert_or_assign(parseBinding(binding).first,
                                                parseBinding(binding).second);
          },
          "Size of a symbolic dimension, by symbol (s77) or input dimension "
          "(x.0) (default: that of the example input)")
      ->type_name("NAME=N")
      ->group("Model")
      ->trigger_on_parse()
      ->expected(1);
  command
      .add_option_function<int64_t>(
          "--micro-batch",
          [&options](int64_t size) { bindMicroBatch(options, size); },
          "Size of a micro-batch in samples; needs a model exported with "
          "shardc_export.py --dynamic-batch")
      ->check(CLI::Validator(describeInvalidSamples, ""))
      ->type_name("N")
      ->group("Model");
}

void addInputOptions(CLI::App &command, InputOptions &options) {
  addBindOption(command, options);
  command
      .add_option("--loss", options.loss,
                  "Add this loss to a model that returns predictions; the "
                  "targets become the input 'target'")
      ->check(oneOf({"cross_entropy", "mse"}))
      ->type_name("cross_entropy|mse")
      ->group("Model");
}

} // namespace shardc
