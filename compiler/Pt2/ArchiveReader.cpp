//===- ArchiveReader.cpp - Reads torch.export archives --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Finds the program and the weights in either container and holds them against
// each other. Entry names: torch/csrc/export/pt2_archive_constants.h for the
// PT2 archive, torch/export/__init__.py (save) of torch 2.6 for the flat zip.
//===----------------------------------------------------------------------===//

#include "compiler/Pt2/ArchiveReader.h"

#include "compiler/Pt2/PayloadConfigReader.h"
#include "compiler/Pt2/ProgramReader.h"
#include "compiler/Pt2/ReadFailure.h"
#include "compiler/Pt2/TorchSaveReader.h"
#include "compiler/Pt2/ZipArchive.h"

#include <algorithm>

namespace shardc::pt2 {

namespace {

using ArchivePointer = std::shared_ptr<const ZipArchive>;

constexpr std::string_view flatProgramName = "serialized_exported_program.json";
constexpr std::string_view modelsFolder = "models/";
constexpr std::string_view modelSuffix = ".json";

/// The place of one program in a PT2 archive. `root` is the folder of all
/// entries with its slash, named after the file the model was first saved to;
/// it is empty when there is none.
struct ModelPlace {
  std::string root;
  std::string name;
  size_t entryIndex;
};

/// Matches `[ROOT/]models/NAME.json`.
std::optional<ModelPlace> matchModel(const std::string &entry, size_t index) {
  if (!entry.ends_with(modelSuffix))
    return std::nullopt;
  size_t start = entry.starts_with(modelsFolder) ? 0 : entry.find('/') + 1;
  std::string_view rest = std::string_view(entry).substr(start);
  if (!rest.starts_with(modelsFolder))
    return std::nullopt;
  rest.remove_prefix(modelsFolder.size());
  rest.remove_suffix(modelSuffix.size());
  if (rest.empty() || rest.find('/') != std::string_view::npos)
    return std::nullopt;
  return ModelPlace{entry.substr(0, start), std::string(rest), index};
}

[[noreturn]] void failNoProgram(const ZipArchive &archive) {
  bool isCheckpoint =
      std::ranges::any_of(archive.entries(), [](const ZipEntry &entry) {
        return entry.name.ends_with("/data.pkl");
      });
  fail(errors::noProgram,
       isCheckpoint ? "this is a file written by torch.save, without a program"
                    : "the archive has no exported program (no "
                      "'models/model.json')",
       "write the file with torch.export.save(torch.export.export(model, "
       "inputs), path)");
}

/// The only program of the archive, or the one that torch.export.save calls
/// "model".
ModelPlace findModel(const ZipArchive &archive) {
  std::vector<ModelPlace> places;
  for (size_t i = 0; i < archive.entries().size(); ++i)
    if (auto place = matchModel(archive.entries()[i].name, i))
      places.push_back(std::move(*place));
  if (places.empty())
    failNoProgram(archive);
  auto model = std::ranges::find(places, "model", &ModelPlace::name);
  if (model != places.end())
    return *model;
  if (places.size() > 1)
    fail(errors::noProgram,
         "expected one program or one called 'model', got " +
             std::to_string(places.size()) + " programs: '" + places[0].name +
             "', '" + places[1].name + "', …",
         "save each program to its own file with torch.export.save");
  return places.front();
}

ExportedProgram readProgramEntry(const ZipArchive &archive, size_t index) {
  const std::string &name = archive.entries()[index].name;
  return readProgram(parseJson(asText(archive.read(index)), name));
}

/// Reads one kind of payload of a PT2 archive: a configuration beside raw
/// storages (torch 2.9), or a torch.save file (torch 2.8). `kind` is "weights"
/// or "constants".
void readPayloads(const ArchivePointer &archive, const ModelPlace &model,
                  const std::string &kind, WeightsBuilder &builder) {
  std::string folder = model.root + "data/" + kind + "/";
  // The second name is in PyTorch's list of constants, though no release is
  // known to write it.
  for (const std::string &name :
       {model.name + "_" + kind + "_config.json",
        model.name + (kind == "weights" ? "_model_param_config.json"
                                        : "_model_constants_config.json")})
    if (std::optional<size_t> index = archive->find(folder + name))
      return readPayloadConfig(archive, *index, folder, builder);
  if (std::optional<size_t> index = archive->find(folder + model.name + ".pt"))
    readTorchSave(*archive, *index, builder);
}

ExportedModel readPt2Archive(const ArchivePointer &archive) {
  ModelPlace place = findModel(*archive);
  std::optional<size_t> byteOrder = archive->find(place.root + "byteorder");
  if (byteOrder && asText(archive->read(*byteOrder)) == "big")
    fail(errors::bigEndian, "the weights were saved on a big-endian machine");
  ExportedModel model;
  model.program = readProgramEntry(*archive, place.entryIndex);
  WeightsBuilder builder;
  readPayloads(archive, place, "weights", builder);
  readPayloads(archive, place, "constants", builder);
  model.notes = readExportNotes(*archive, place.root);
  if (model.notes.shared)
    builder.setShared(*model.notes.shared);
  model.weights = builder.take();
  return model;
}

ExportedModel readFlatArchive(const ZipArchive &archive, size_t programIndex) {
  ExportedModel model;
  model.program = readProgramEntry(archive, programIndex);
  WeightsBuilder builder;
  for (const char *name :
       {"serialized_state_dict.pt", "serialized_constants.pt"})
    if (std::optional<size_t> index = archive.find(name))
      readTorchSave(archive, *index, builder);
  model.weights = builder.take();
  return model;
}

/// Fails unless the archive has the tensor that `input` stands for, with the
/// type that the graph gives it.
void checkStateInput(const InputSpec &input, const ExportedModel &model) {
  const WeightEntry *entry = model.weights.find(input.target);
  if (!entry)
    fail(errors::missingWeights,
         "the archive has no weights for '" + input.target + "'",
         "copy or export the file again");
  const TensorMeta &meta = *model.program.graph.findTensor(input.name);
  bool sameSizes = std::ranges::equal(
      meta.sizes, entry->sizes,
      [](const SymInt &size, int64_t stored) { return size.value == stored; });
  if (meta.dtype != entry->dtype || !sameSizes)
    fail(errors::inconsistentProgram,
         "the weights of '" + input.target +
             "' do not have the dtype and sizes that the graph expects");
}

void checkWeights(const ExportedModel &model) {
  for (const InputSpec &input : model.program.signature.inputs)
    if (input.kind == InputKind::Parameter || input.kind == InputKind::Buffer ||
        input.kind == InputKind::TensorConstant)
      checkStateInput(input, model);
}

} // namespace

StatusOr<ExportedModel> readArchive(const std::string &path) {
  return catchFailure<ExportedModel>([&] {
    ArchivePointer archive = ZipArchive::open(MappedFile::open(path));
    std::optional<size_t> flat = archive->find(flatProgramName);
    ExportedModel model =
        flat ? readFlatArchive(*archive, *flat) : readPt2Archive(archive);
    checkWeights(model);
    return model;
  });
}

} // namespace shardc::pt2
