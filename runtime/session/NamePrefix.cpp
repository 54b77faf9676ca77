//===- NamePrefix.cpp - Names of a model and of its weights ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A prefix is a candidate if it makes one name of one side one of the other's.
//===----------------------------------------------------------------------===//

#include "runtime/session/NamePrefix.h"

#include <algorithm>
#include <map>
#include <unordered_set>

namespace shardc::runtime {

/// Where the model's part of "exp_avg/NAME" begins.
static size_t beginOfName(const std::string &name) {
  const size_t slash = name.rfind('/');
  return slash == std::string::npos ? 0 : slash + 1;
}

static std::string insert(const std::string &name, const std::string &prefix) {
  return std::string(name).insert(beginOfName(name), prefix);
}

static std::optional<std::string> remove(const std::string &name,
                                         const std::string &prefix) {
  const size_t begin = beginOfName(name);
  if (name.compare(begin, prefix.size(), prefix) != 0)
    return std::nullopt;
  return std::string(name).erase(begin, prefix.size());
}

std::string NamePrefix::toModel(const std::string &name) const {
  return inModel ? insert(name, text) : remove(name, text).value_or(name);
}

std::optional<std::string> NamePrefix::toFile(const std::string &name) const {
  return inModel ? remove(name, text) : insert(name, text);
}

namespace {
using Names = std::unordered_set<std::string>;
using Key = std::pair<std::string, bool>;

class PrefixSearch {
public:
  PrefixSearch(const std::vector<TensorNames> &model,
               const std::vector<std::string> &file)
      : model(model), inFile(file.begin(), file.end()) {
    for (const TensorNames &names : model)
      inModel.insert(names.begin(), names.end());
  }

  /// How many tensors of the model the file has.
  size_t countFound(const NamePrefix &prefix) const {
    return static_cast<size_t>(std::count_if(
        model.begin(), model.end(), [&](const TensorNames &names) {
          return std::any_of(
              names.begin(), names.end(), [&](const std::string &name) {
                const std::optional<std::string> other = prefix.toFile(name);
                return other && inFile.find(*other) != inFile.end();
              });
        }));
  }

  /// Prefixes in the order of their texts.
  std::vector<NamePrefix> candidates() const {
    std::map<Key, size_t> counts;
    count(inModel, inFile, /*isModel=*/true, counts);
    count(inFile, inModel, /*isModel=*/false, counts);
    std::vector<NamePrefix> list;
    for (const auto &[key, number] : counts)
      list.push_back({key.first, key.second});
    return list;
  }

private:
  /// Counts what names of `longer` have before a name of `shorter`.
  static void count(const Names &longer, const Names &shorter, bool isModel,
                    std::map<Key, size_t> &counts) {
    for (const std::string &name : longer)
      for (size_t dot = name.find('.'); dot != std::string::npos;
           dot = name.find('.', dot + 1))
        if (shorter.find(name.substr(dot + 1)) != shorter.end())
          ++counts[{name.substr(0, dot + 1), isModel}];
  }

  const std::vector<TensorNames> &model;
  Names inFile, inModel;
};
} // namespace

static Status ambiguous(const std::vector<NamePrefix> &fitting) {
  std::string list;
  for (const NamePrefix &prefix : fitting)
    list += (list.empty() ? "'" : ", '") + prefix.text + "'";
  return Status(ErrorCode::E0402,
                "weights fit the model with more than one prefix: " + list)
      .setHelp("choose one with --weights-prefix PREFIX");
}

StatusOr<NamePrefix> findPrefix(const std::vector<TensorNames> &model,
                                const std::vector<std::string> &file,
                                const std::optional<std::string> &given) {
  const PrefixSearch search(model, file);
  if (given) {
    const NamePrefix onModel = {*given, true}, onFile = {*given, false};
    const size_t withFile = search.countFound(onFile);
    const size_t withModel = search.countFound(onModel);
    if (withFile + withModel == 0 && !model.empty())
      return Status(ErrorCode::E0402,
                    "--weights-prefix '" + *given +
                        "': neither adding nor removing this prefix matches a "
                        "name in the file with one in the model")
          .setHelp("omit --weights-prefix to detect the prefix automatically");
    return withFile > withModel ? onFile : onModel;
  }
  NamePrefix best;
  size_t max = search.countFound(best);
  if (max == model.size())
    return best;
  std::vector<NamePrefix> fitting;
  for (const NamePrefix &candidate : search.candidates()) {
    const size_t found = search.countFound(candidate);
    if (found == model.size())
      fitting.push_back(candidate);
    if (found > max) {
      max = found;
      best = candidate;
    }
  }
  if (fitting.size() > 1)
    return ambiguous(fitting);
  return best;
}

} // namespace shardc::runtime
