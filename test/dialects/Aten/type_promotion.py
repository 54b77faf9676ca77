#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes type-promotion.mlir: what PyTorch says about the types of a + b.

  python3 test/dialects/Aten/type_promotion.py > test/dialects/Aten/type-promotion.mlir

Needs PyTorch (test/models/requirements.txt); the test itself does not.
"""

import itertools

import torch

ELEMENTS = {
    torch.bool: "i1", torch.uint8: "ui8", torch.int8: "i8", torch.int16: "i16",
    torch.int32: "i32", torch.int64: "i64", torch.bfloat16: "bf16",
    torch.float16: "f16", torch.float32: "f32", torch.float64: "f64",
    torch.complex64: "complex<f32>", torch.complex128: "complex<f64>"}
SHAPES = [((2, 3), (3,)), ((2, 1), (3,)), ((2, 1, 4), (3, 1)), ((1,), (2, 3)),
          ((), (2, 3)), ((2, 3), (2, 3)), ((1, 1), (1,)), ((0, 3), (1, 3)),
          ((5, 1, 1), (5, 4, 0))]


def tensor_type(shape, element):
    return f"tensor<{''.join(f'{size}x' for size in shape)}{element}>"


def name(dtype):
    """The element type in an SSA name."""
    return ELEMENTS[dtype].replace("<", "_").replace(">", "")


def add(number, left, right, result):
    return (f"  %{number} = aten.add %{left[0]}, %{right[0]} "
            f": ({left[1]}, {right[1]}) -> {result}")


def case(name, sentence, lines, arguments):
    return "\n".join([f"// {line}" for line in sentence.splitlines()] + [
        f"// CHECK-LABEL: @{name}", f"func.func @{name}(",
        ",\n".join(f"    {argument}" for argument in arguments) + ") {",
        *lines, "  return", "}"])


def promotion(title, sentence, left_shape, right_shape):
    """One case: a tensor of each element type plus one of each."""
    lines = []
    for left, right in itertools.product(ELEMENTS, repeat=2):
        result = torch.result_type(torch.empty(left_shape, dtype=left),
                                   torch.empty(right_shape, dtype=right))
        if result not in ELEMENTS:
            continue  # f16 with complex gives complex<f16>, which the dialect lacks.
        shape = torch.broadcast_shapes(left_shape, right_shape)
        lines.append(add(
            len(lines),
            (f"a_{name(left)}", tensor_type(left_shape, ELEMENTS[left])),
            (f"b_{name(right)}", tensor_type(right_shape, ELEMENTS[right])),
            tensor_type(shape, ELEMENTS[result])))
    arguments = [f"%{side}_{name(dtype)}: {tensor_type(shape, element)}"
                 for side, shape in (("a", left_shape), ("b", right_shape))
                 for dtype, element in ELEMENTS.items()]
    return case(title, sentence, lines, arguments)


def broadcasting():
    lines, arguments = [], []
    for i, (left, right) in enumerate(SHAPES):
        types = [tensor_type(shape, "f32") for shape in
                 (left, right, torch.broadcast_shapes(left, right))]
        arguments += [f"%a{i}: {types[0]}", f"%b{i}: {types[1]}"]
        lines.append(add(i, (f"a{i}", types[0]), (f"b{i}", types[1]), types[2]))
    return case("broadcasting", "Shapes are those of torch.broadcast_shapes.",
                lines, arguments)


def main():
    print("// RUN: shardc-opt %s | FileCheck %s\n//\n"
          "// Written by type_promotion.py, with the result types of PyTorch "
          f"{torch.__version__.split('+')[0]}. An\n"
          "// operator whose declared type is not the one that it infers is "
          "rejected, so that\n// parsing this file is the test.\n")
    print("\n\n".join([
        promotion("tensors", "torch.promote_types: the wider of a category, or "
                  "the higher category\n(bool < integer < floating point < complex).",
                  (2,), (2,)),
        promotion("second_is_scalar", "A 0-d tensor changes the dtype only when "
                  "its category is higher.", (2,), ()),
        promotion("first_is_scalar", "The same on the other side.", (), (2,)),
        promotion("both_are_scalars", "Two 0-d tensors promote as tensors do.",
                  (), ()),
        broadcasting()]))


if __name__ == "__main__":
    main()
