//===- MatrixFactors.cpp - Factorizations of a batch of matrices ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Each matrix is a problem of runtime/math/LinearAlgebra.h by itself: its
// tensors are copied to doubles, and its results rounded once.
//===----------------------------------------------------------------------===//

#include "runtime/cpu/LibraryCallKinds.h"
#include "runtime/format/LibraryCalls.h"
#include "runtime/math/LinearAlgebra.h"

#include <algorithm>
#include <mutex>

namespace shardc::runtime {

using format::Dtype;

namespace {
template <typename T>
void loadMatrix(const TensorView &tensor, int64_t first, int64_t count,
                double *target) {
  std::copy_n(tensor.as<T>() + first, count, target);
}

template <typename T>
void storeMatrix(const double *source, const TensorView &tensor, int64_t first,
                 int64_t count) {
  std::transform(source, source + count, tensor.as<T>() + first,
                 [](double element) { return static_cast<T>(element); });
}

class MatrixFactors : public LibraryCall {
public:
  MatrixFactors(LibraryCallArguments list, MatrixFunction function)
      : operands(std::move(list.operands)), results(std::move(list.results)),
        function(function) {
    const std::vector<int64_t> &shape = operands[0].shape;
    problem.columns = shape.back();
    problem.rows = shape[shape.size() - 2];
    count = operands[0].elements() / (problem.rows * problem.columns);
    if (operands.size() > 1)
      problem.rightColumns = operands[1].shape.back();
    auto flag = [&](std::string_view name) {
      return format::attributeOr(list.attributes, name, false);
    };
    problem.checkErrors = flag("check_errors");
    problem.isUpper = flag("upper");
    problem.isUnit = flag("unitriangular");
  }

  ScratchNeed scratchNeed() const override {
    size_t doubles = 0;
    for (const auto *list : {&operands, &results})
      for (const TensorView &tensor : *list)
        doubles += static_cast<size_t>(tensor.elements() / count);
    const size_t bytes = alignScratch(doubles * sizeof(double));
    // One large matrix is one thread's.
    return parts() == 1 ? ScratchNeed{bytes, 0, 0} : ScratchNeed{0, bytes, 0};
  }

  /// Reports the first matrix that is wrong.
  Status run(WorkerPool &workers, const Scratch &scratch) override {
    std::mutex mutex;
    int64_t firstWrong = count;
    std::string why;
    workers.run(parts(), [&](int64_t part, int worker) {
      auto *memory = reinterpret_cast<double *>(
          parts() == 1 ? scratch.shared() : scratch.worker(worker));
      const int64_t end = std::min(count, (part + 1) * grain());
      for (int64_t matrix = part * grain(); matrix < end; ++matrix) {
        std::string complaint = runMatrix(matrix, memory);
        if (complaint.empty())
          continue;
        const std::lock_guard<std::mutex> lock(mutex);
        if (matrix < firstWrong) {
          firstWrong = matrix;
          why = std::move(complaint);
        }
      }
    });
    if (firstWrong == count)
      return Status();
    return Status(ErrorCode::E0504, "matrix " + std::to_string(firstWrong) +
                                        " of " + std::to_string(count) + ": " +
                                        why);
  }

private:
  /// Matrices of a part.
  int64_t grain() const {
    constexpr int64_t elements = 1 << 12;
    return std::max<int64_t>(1, elements / (problem.rows * problem.columns));
  }
  int64_t parts() const { return (count + grain() - 1) / grain(); }

  std::string runMatrix(int64_t matrix, double *memory) const {
    MatrixProblem one = problem;
    for (size_t i = 0; i < operands.size(); ++i) {
      const TensorView &tensor = operands[i];
      const int64_t size = tensor.elements() / count;
      if (tensor.dtype == Dtype::F64)
        loadMatrix<double>(tensor, matrix * size, size, memory);
      else
        loadMatrix<float>(tensor, matrix * size, size, memory);
      one.operands[i] = memory;
      memory += size;
    }
    for (size_t i = 0; i < results.size(); ++i) {
      one.results[i] = memory;
      memory += results[i].elements() / count;
    }
    std::string complaint = function(one);
    if (!complaint.empty())
      return complaint;
    for (size_t i = 0; i < results.size(); ++i) {
      const TensorView &tensor = results[i];
      const int64_t size = tensor.elements() / count;
      if (tensor.dtype == Dtype::I64)
        storeMatrix<int64_t>(one.results[i], tensor, matrix * size, size);
      else if (tensor.dtype == Dtype::F64)
        storeMatrix<double>(one.results[i], tensor, matrix * size, size);
      else
        storeMatrix<float>(one.results[i], tensor, matrix * size, size);
    }
    return "";
  }

  const std::vector<TensorView> operands, results;
  const MatrixFunction function;
  /// Without its tensors.
  MatrixProblem problem;
  int64_t count;
};
} // namespace

template <format::CallId id>
static LibraryCallOr prepareFactors(LibraryCallArguments arguments) {
  return std::unique_ptr<LibraryCall>(std::make_unique<MatrixFactors>(
      std::move(arguments), findMatrixFunction(nameOf(id))));
}

LibraryCallOr prepareLinalgCholeskyEx(LibraryCallArguments arguments) {
  return prepareFactors<format::CallId::LinalgCholeskyEx>(std::move(arguments));
}
LibraryCallOr prepareLinalgEigh(LibraryCallArguments arguments) {
  return prepareFactors<format::CallId::LinalgEigh>(std::move(arguments));
}
LibraryCallOr prepareLinalgLuFactorEx(LibraryCallArguments arguments) {
  return prepareFactors<format::CallId::LinalgLuFactorEx>(std::move(arguments));
}
LibraryCallOr prepareLinalgQr(LibraryCallArguments arguments) {
  return prepareFactors<format::CallId::LinalgQr>(std::move(arguments));
}
LibraryCallOr prepareLinalgSolveTriangular(LibraryCallArguments arguments) {
  return prepareFactors<format::CallId::LinalgSolveTriangular>(
      std::move(arguments));
}
LibraryCallOr prepareLinalgSvd(LibraryCallArguments arguments) {
  return prepareFactors<format::CallId::LinalgSvd>(std::move(arguments));
}

} // namespace shardc::runtime
