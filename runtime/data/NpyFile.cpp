//===- NpyFile.cpp - Arrays in NumPy's file format ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A reader for the one form of dictionary that NumPy writes:
// {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
//===----------------------------------------------------------------------===//

#include "runtime/data/NpyFile.h"

#include <charconv>
#include <map>
#include <optional>

namespace shardc::runtime {

using format::Dtype;

static constexpr std::string_view magic = "\x93NUMPY";

bool isNpyFile(format::Bytes file) {
  return format::textOf(file).starts_with(magic);
}

/// The text behind 'key': and spaces, or none.
static std::optional<std::string_view> valueOf(std::string_view header,
                                               const std::string &key) {
  const std::string quoted = "'" + key + "':";
  const size_t place = header.find(quoted);
  if (place == std::string_view::npos)
    return std::nullopt;
  header.remove_prefix(place + quoted.size());
  header.remove_prefix(std::min(header.find_first_not_of(' '), header.size()));
  return header;
}

static std::optional<Dtype> parseDescription(std::string_view value) {
  static const std::map<std::string_view, Dtype> dtypes = {
      {"<f8", Dtype::F64}, {"<f4", Dtype::F32}, {"<f2", Dtype::F16},
      {"<i8", Dtype::I64}, {"<i4", Dtype::I32}, {"<i2", Dtype::I16},
      {"|i1", Dtype::I8},  {"<u8", Dtype::U64}, {"<u4", Dtype::U32},
      {"<u2", Dtype::U16}, {"|u1", Dtype::U8},  {"|b1", Dtype::Bool}};
  if (value.size() < 5 || value[0] != '\'' || value[4] != '\'')
    return std::nullopt;
  auto found = dtypes.find(value.substr(1, 3));
  return found == dtypes.end() ? std::nullopt : std::optional(found->second);
}

/// The numbers of "(3, 4)", "(3,)" or "()".
static std::optional<std::vector<int64_t>> parseShape(std::string_view value) {
  const size_t end = value.find(')');
  if (!value.starts_with('(') || end == std::string_view::npos)
    return std::nullopt;
  const char *place = value.data() + 1, *const last = value.data() + end;
  std::vector<int64_t> shape;
  while (place != last) {
    if (*place == ' ' || *place == ',') {
      ++place;
      continue;
    }
    int64_t extent = 0;
    const auto parsed = std::from_chars(place, last, extent);
    if (parsed.ec != std::errc() || extent < 0)
      return std::nullopt;
    shape.push_back(extent);
    place = parsed.ptr;
  }
  return shape;
}

/// Whether `shape` has exactly `bytes` bytes of `dtype`.
static bool fits(const std::vector<int64_t> &shape, Dtype dtype, size_t bytes) {
  uint64_t total = static_cast<uint64_t>(byteSize(dtype));
  for (const int64_t extent : shape)
    if (__builtin_mul_overflow(total, static_cast<uint64_t>(extent), &total))
      return false;
  return total == bytes;
}

StatusOr<format::NamedTensor> readNpy(format::Bytes file,
                                      const std::string &name) {
  const auto malformed = [&](const std::string &reason) {
    return Status(ErrorCode::E0404, "'" + name + "' is malformed: " + reason);
  };
  if (!isNpyFile(file) || file.size() < 12)
    return malformed("it does not begin like a .npy file");
  const size_t lengthBytes = file[6] == std::byte(1) ? 2 : 4;
  size_t headerBytes = 0;
  for (size_t i = 0; i < lengthBytes; ++i)
    headerBytes |= static_cast<size_t>(file[8 + i]) << (8 * i);
  const size_t begin = 8 + lengthBytes;
  if (headerBytes > file.size() - begin)
    return malformed("its header is cut off");
  const std::string_view header =
      format::textOf(file.subspan(begin, headerBytes));

  const auto description = valueOf(header, "descr");
  const auto order = valueOf(header, "fortran_order");
  const auto shapeText = valueOf(header, "shape");
  if (!description || !order || !shapeText)
    return malformed("its header lacks descr, fortran_order or shape");
  const std::optional<Dtype> dtype = parseDescription(*description);
  const auto shape = parseShape(*shapeText);
  if (!dtype || !shape)
    return malformed("unsupported dtype or shape in '" + std::string(header) +
                     "'");
  if (!order->starts_with("False"))
    return malformed("arrays in column (Fortran) order are not supported");
  const format::Bytes data = file.subspan(begin + headerBytes);
  if (!fits(*shape, *dtype, data.size()))
    return malformed("its " + std::to_string(data.size()) +
                     " bytes of data do not fit its dtype and shape");
  return format::NamedTensor{name, *dtype, *shape, data};
}

} // namespace shardc::runtime
