//===- OneDnn.cpp - Primitives of oneDNN at fixed addresses ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Uses oneDNN's C interface to execute, because the C++ one builds a hash map
// for every call.
//===----------------------------------------------------------------------===//

#include "runtime/cpu/OneDnn.h"

// Declared here instead of by <omp.h>, which belongs to the compiler's own
// OpenMP; oneDNN uses GNU's, and one process must not have both.
extern "C" void omp_set_num_threads(int threads);

namespace shardc::runtime {

const dnnl::engine &oneDnnEngine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

dnnl::memory::data_type oneDnnType(format::Dtype dtype) {
  return dtype == format::Dtype::BF16 ? dnnl::memory::data_type::bf16
                                      : dnnl::memory::data_type::f32;
}

dnnl::primitive_attr oneDnnAttributes() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  // Whatever ONEDNN_DEFAULT_FPMATH_MODE says: f32 products have f32 operands.
  attributes.set_fpmath_mode(dnnl::fpmath_mode::strict);
  return attributes;
}

void useOneOneDnnThread() {
  thread_local bool isSet = false;
  if (!isSet)
    omp_set_num_threads(1);
  isSet = true;
}

OneDnnPrimitive::OneDnnPrimitive(dnnl::primitive primitive,
                                 const dnnl::memory::desc &scratchpad,
                                 std::vector<Argument> list)
    : primitive(std::move(primitive)), stream(oneDnnEngine()),
      scratchSize(alignScratch(scratchpad.get_size())) {
  list.push_back({DNNL_ARG_SCRATCHPAD, scratchpad, nullptr});
  for (const Argument &argument : list) {
    memories.emplace_back(argument.description, oneDnnEngine(), argument.data);
    arguments.push_back({argument.number, memories.back().get()});
  }
}

void OneDnnPrimitive::setData(int number, void *data) {
  for (const dnnl_exec_arg_t &argument : arguments)
    if (argument.arg == number)
      dnnl_memory_set_data_handle(argument.memory, data);
}

bool OneDnnPrimitive::run(void *scratch) {
  useOneOneDnnThread();
  dnnl_memory_set_data_handle(arguments.back().memory, scratch);
  return dnnl_primitive_execute(primitive.get(), stream.get(),
                                static_cast<int>(arguments.size()),
                                arguments.data()) == dnnl_success;
}

} // namespace shardc::runtime
