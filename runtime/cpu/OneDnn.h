//===- OneDnn.h - Primitives of oneDNN at fixed addresses -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// oneDNN does the heavy lifting of matrix products and convolutions. It is
// always told to use one thread, because the runtime cuts work into parts
// itself, and it takes its working memory from the caller.
//===----------------------------------------------------------------------===//

#ifndef SHARDC_RUNTIME_CPU_ONEDNN_H
#define SHARDC_RUNTIME_CPU_ONEDNN_H

#include "runtime/cpu/LibraryCall.h"

#include <dnnl.hpp>

#include <utility>
#include <vector>

namespace shardc::runtime {

/// The engine that all primitives of the process share.
const dnnl::engine &oneDnnEngine();

/// The data type of oneDNN for f32 and bf16.
dnnl::memory::data_type oneDnnType(format::Dtype dtype);

/// Attributes that every primitive is made with: working memory is passed in.
dnnl::primitive_attr oneDnnAttributes();

/// Makes oneDNN use one thread for what the calling thread prepares and runs.
void useOneOneDnnThread();

/// One primitive with its arguments. Made once, run often; the same object
/// must not run on two threads at a time. Making one throws dnnl::error.
class OneDnnPrimitive {
public:
  /// An argument number of oneDNN (DNNL_ARG_SRC, …), what it is, and where;
  /// null when the address is set before each run.
  struct Argument {
    int number;
    dnnl::memory::desc description;
    void *data;
  };

  template <typename Description>
  OneDnnPrimitive(const Description &description,
                  std::vector<Argument> arguments)
      : OneDnnPrimitive(dnnl::primitive(description.get()),
                        description.scratchpad_desc(), std::move(arguments)) {}

  /// Bytes of working memory, rounded up to the alignment of scratch.
  size_t scratchBytes() const { return scratchSize; }

  /// Sets the address of the argument with this number.
  void setData(int number, void *data);

  /// Runs the primitive with its working memory at `scratch`; false if oneDNN
  /// reports a failure.
  bool run(void *scratch);

private:
  OneDnnPrimitive(dnnl::primitive primitive,
                  const dnnl::memory::desc &scratchpad,
                  std::vector<Argument> arguments);

  dnnl::primitive primitive;
  dnnl::stream stream;
  size_t scratchSize;
  /// The last one is the scratchpad.
  std::vector<dnnl::memory> memories;
  std::vector<dnnl_exec_arg_t> arguments;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_CPU_ONEDNN_H
