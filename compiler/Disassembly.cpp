//===- Disassembly.cpp - The machine code of a GPU as text ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Has nvdisasm print the whole cubin, and keeps a kernel's section.
//===----------------------------------------------------------------------===//

#include "compiler/Disassembly.h"

#include "passes/Target/CudaToolkit.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

#include <memory>

using namespace llvm;

namespace shardc {

namespace {
/// A file in the system's folder for temporary ones, removed at the end.
class TemporaryFile {
public:
  static StatusOr<TemporaryFile> create(StringRef suffix,
                                        std::span<const std::byte> bytes) {
    TemporaryFile file;
    int descriptor = -1;
    std::error_code error =
        sys::fs::createTemporaryFile("shardc", suffix, descriptor, file.path);
    if (error)
      return Status(ErrorCode::E0601,
                    "cannot create a temporary file: " + error.message());
    file.remover = std::make_unique<FileRemover>(file.path);
    raw_fd_ostream stream(descriptor, /*shouldClose=*/true);
    stream.write(reinterpret_cast<const char *>(bytes.data()), bytes.size());
    stream.close();
    if (!stream.has_error())
      return file;
    error = stream.error();
    stream.clear_error();
    return Status(ErrorCode::E0601,
                  "cannot write '" + file.name() + "': " + error.message());
  }

  std::string name() const { return path.str().str(); }

  std::string content() const {
    ErrorOr<std::unique_ptr<MemoryBuffer>> buffer = MemoryBuffer::getFile(path);
    return buffer ? (*buffer)->getBuffer().str() : "";
  }

private:
  TemporaryFile() = default;
  SmallString<128> path;
  /// In one place: each copy of a FileRemover would remove.
  std::unique_ptr<FileRemover> remover;
};
} // namespace

/// The lines behind a section's label up to the next section.
static std::string sectionOf(StringRef text, const std::string &kernel) {
  const std::string label = "\n.text." + kernel + ":\n";
  size_t begin = text.find(label);
  if (begin == StringRef::npos)
    return "";
  begin += label.size();
  return text.slice(begin, text.find("\n//---", begin)).rtrim().str() + "\n";
}

StatusOr<std::string> disassemble(std::span<const std::byte> cubin,
                                  const std::string &kernel) {
  const std::optional<std::string> program =
      target::findToolkitProgram("nvdisasm");
  if (!program)
    return Status(ErrorCode::E0243, "nvdisasm, the CUDA toolkit's "
                                    "disassembler, is neither in "
                                    "CUDA_HOME/bin nor in PATH")
        .setHelp("install the toolkit's cuda-nvdisasm, or compile with "
                 "--format ptx and use --ptx");
  StatusOr<TemporaryFile> input = TemporaryFile::create("cubin", cubin);
  if (!input.ok())
    return input.status();
  StatusOr<TemporaryFile> output = TemporaryFile::create("sass", {});
  if (!output.ok())
    return output.status();
  StatusOr<TemporaryFile> errors = TemporaryFile::create("log", {});
  if (!errors.ok())
    return errors.status();
  const std::string in = input->name(), out = output->name(),
                    log = errors->name();
  std::string reason;
  const int code = sys::ExecuteAndWait(
      *program, {*program, "--print-code", in}, /*Env=*/std::nullopt,
      {StringRef(""), StringRef(out), StringRef(log)}, /*SecondsToWait=*/0,
      /*MemoryLimit=*/0, &reason);
  if (code == 0)
    return sectionOf("\n" + output->content(), kernel);
  Status status(
      ErrorCode::E0243,
      "'" + *program + "' fails: " +
          (reason.empty() ? "exit status " + std::to_string(code) : reason));
  const std::string said = errors->content();
  if (const StringRef line = StringRef(said).ltrim().split('\n').first;
      !line.empty())
    status.addNote(line.str());
  return status;
}

} // namespace shardc
