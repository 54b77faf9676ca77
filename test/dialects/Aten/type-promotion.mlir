// RUN: shardc-opt %s | FileCheck %s
//
// Written by type_promotion.py, with the result types of PyTorch 2.15.0. An
// operator whose declared type is not the one that it infers is rejected, so that
// parsing this file is the test.

// torch.promote_types: the wider of a category, or the higher category
// (bool < integer < floating point).
// CHECK-LABEL: @tensors
func.func @tensors(
    %a_i1: tensor<2xi1>,
    %a_ui8: tensor<2xui8>,
    %a_i8: tensor<2xi8>,
    %a_i32: tensor<2xi32>,
    %a_i64: tensor<2xi64>,
    %a_bf16: tensor<2xbf16>,
    %a_f16: tensor<2xf16>,
    %a_f32: tensor<2xf32>,
    %a_f64: tensor<2xf64>,
    %b_i1: tensor<2xi1>,
    %b_ui8: tensor<2xui8>,
    %b_i8: tensor<2xi8>,
    %b_i32: tensor<2xi32>,
    %b_i64: tensor<2xi64>,
    %b_bf16: tensor<2xbf16>,
    %b_f16: tensor<2xf16>,
    %b_f32: tensor<2xf32>,
    %b_f64: tensor<2xf64>) {
  %0 = aten.add %a_i1, %b_i1 : (tensor<2xi1>, tensor<2xi1>) -> tensor<2xi1>
  %1 = aten.add %a_i1, %b_ui8 : (tensor<2xi1>, tensor<2xui8>) -> tensor<2xui8>
  %2 = aten.add %a_i1, %b_i8 : (tensor<2xi1>, tensor<2xi8>) -> tensor<2xi8>
  %3 = aten.add %a_i1, %b_i32 : (tensor<2xi1>, tensor<2xi32>) -> tensor<2xi32>
  %4 = aten.add %a_i1, %b_i64 : (tensor<2xi1>, tensor<2xi64>) -> tensor<2xi64>
  %5 = aten.add %a_i1, %b_bf16 : (tensor<2xi1>, tensor<2xbf16>) -> tensor<2xbf16>
  %6 = aten.add %a_i1, %b_f16 : (tensor<2xi1>, tensor<2xf16>) -> tensor<2xf16>
  %7 = aten.add %a_i1, %b_f32 : (tensor<2xi1>, tensor<2xf32>) -> tensor<2xf32>
  %8 = aten.add %a_i1, %b_f64 : (tensor<2xi1>, tensor<2xf64>) -> tensor<2xf64>
  %9 = aten.add %a_ui8, %b_i1 : (tensor<2xui8>, tensor<2xi1>) -> tensor<2xui8>
  %10 = aten.add %a_ui8, %b_ui8 : (tensor<2xui8>, tensor<2xui8>) -> tensor<2xui8>
  %11 = aten.add %a_ui8, %b_i32 : (tensor<2xui8>, tensor<2xi32>) -> tensor<2xi32>
  %12 = aten.add %a_ui8, %b_i64 : (tensor<2xui8>, tensor<2xi64>) -> tensor<2xi64>
  %13 = aten.add %a_ui8, %b_bf16 : (tensor<2xui8>, tensor<2xbf16>) -> tensor<2xbf16>
  %14 = aten.add %a_ui8, %b_f16 : (tensor<2xui8>, tensor<2xf16>) -> tensor<2xf16>
  %15 = aten.add %a_ui8, %b_f32 : (tensor<2xui8>, tensor<2xf32>) -> tensor<2xf32>
  %16 = aten.add %a_ui8, %b_f64 : (tensor<2xui8>, tensor<2xf64>) -> tensor<2xf64>
  %17 = aten.add %a_i8, %b_i1 : (tensor<2xi8>, tensor<2xi1>) -> tensor<2xi8>
  %18 = aten.add %a_i8, %b_i8 : (tensor<2xi8>, tensor<2xi8>) -> tensor<2xi8>
  %19 = aten.add %a_i8, %b_i32 : (tensor<2xi8>, tensor<2xi32>) -> tensor<2xi32>
  %20 = aten.add %a_i8, %b_i64 : (tensor<2xi8>, tensor<2xi64>) -> tensor<2xi64>
  %21 = aten.add %a_i8, %b_bf16 : (tensor<2xi8>, tensor<2xbf16>) -> tensor<2xbf16>
  %22 = aten.add %a_i8, %b_f16 : (tensor<2xi8>, tensor<2xf16>) -> tensor<2xf16>
  %23 = aten.add %a_i8, %b_f32 : (tensor<2xi8>, tensor<2xf32>) -> tensor<2xf32>
  %24 = aten.add %a_i8, %b_f64 : (tensor<2xi8>, tensor<2xf64>) -> tensor<2xf64>
  %25 = aten.add %a_i32, %b_i1 : (tensor<2xi32>, tensor<2xi1>) -> tensor<2xi32>
  %26 = aten.add %a_i32, %b_ui8 : (tensor<2xi32>, tensor<2xui8>) -> tensor<2xi32>
  %27 = aten.add %a_i32, %b_i8 : (tensor<2xi32>, tensor<2xi8>) -> tensor<2xi32>
  %28 = aten.add %a_i32, %b_i32 : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
  %29 = aten.add %a_i32, %b_i64 : (tensor<2xi32>, tensor<2xi64>) -> tensor<2xi64>
  %30 = aten.add %a_i32, %b_bf16 : (tensor<2xi32>, tensor<2xbf16>) -> tensor<2xbf16>
  %31 = aten.add %a_i32, %b_f16 : (tensor<2xi32>, tensor<2xf16>) -> tensor<2xf16>
  %32 = aten.add %a_i32, %b_f32 : (tensor<2xi32>, tensor<2xf32>) -> tensor<2xf32>
  %33 = aten.add %a_i32, %b_f64 : (tensor<2xi32>, tensor<2xf64>) -> tensor<2xf64>
  %34 = aten.add %a_i64, %b_i1 : (tensor<2xi64>, tensor<2xi1>) -> tensor<2xi64>
  %35 = aten.add %a_i64, %b_ui8 : (tensor<2xi64>, tensor<2xui8>) -> tensor<2xi64>
  %36 = aten.add %a_i64, %b_i8 : (tensor<2xi64>, tensor<2xi8>) -> tensor<2xi64>
  %37 = aten.add %a_i64, %b_i32 : (tensor<2xi64>, tensor<2xi32>) -> tensor<2xi64>
  %38 = aten.add %a_i64, %b_i64 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %39 = aten.add %a_i64, %b_bf16 : (tensor<2xi64>, tensor<2xbf16>) -> tensor<2xbf16>
  %40 = aten.add %a_i64, %b_f16 : (tensor<2xi64>, tensor<2xf16>) -> tensor<2xf16>
  %41 = aten.add %a_i64, %b_f32 : (tensor<2xi64>, tensor<2xf32>) -> tensor<2xf32>
  %42 = aten.add %a_i64, %b_f64 : (tensor<2xi64>, tensor<2xf64>) -> tensor<2xf64>
  %43 = aten.add %a_bf16, %b_i1 : (tensor<2xbf16>, tensor<2xi1>) -> tensor<2xbf16>
  %44 = aten.add %a_bf16, %b_ui8 : (tensor<2xbf16>, tensor<2xui8>) -> tensor<2xbf16>
  %45 = aten.add %a_bf16, %b_i8 : (tensor<2xbf16>, tensor<2xi8>) -> tensor<2xbf16>
  %46 = aten.add %a_bf16, %b_i32 : (tensor<2xbf16>, tensor<2xi32>) -> tensor<2xbf16>
  %47 = aten.add %a_bf16, %b_i64 : (tensor<2xbf16>, tensor<2xi64>) -> tensor<2xbf16>
  %48 = aten.add %a_bf16, %b_bf16 : (tensor<2xbf16>, tensor<2xbf16>) -> tensor<2xbf16>
  %49 = aten.add %a_bf16, %b_f16 : (tensor<2xbf16>, tensor<2xf16>) -> tensor<2xf32>
  %50 = aten.add %a_bf16, %b_f32 : (tensor<2xbf16>, tensor<2xf32>) -> tensor<2xf32>
  %51 = aten.add %a_bf16, %b_f64 : (tensor<2xbf16>, tensor<2xf64>) -> tensor<2xf64>
  %52 = aten.add %a_f16, %b_i1 : (tensor<2xf16>, tensor<2xi1>) -> tensor<2xf16>
  %53 = aten.add %a_f16, %b_ui8 : (tensor<2xf16>, tensor<2xui8>) -> tensor<2xf16>
  %54 = aten.add %a_f16, %b_i8 : (tensor<2xf16>, tensor<2xi8>) -> tensor<2xf16>
  %55 = aten.add %a_f16, %b_i32 : (tensor<2xf16>, tensor<2xi32>) -> tensor<2xf16>
  %56 = aten.add %a_f16, %b_i64 : (tensor<2xf16>, tensor<2xi64>) -> tensor<2xf16>
  %57 = aten.add %a_f16, %b_bf16 : (tensor<2xf16>, tensor<2xbf16>) -> tensor<2xf32>
  %58 = aten.add %a_f16, %b_f16 : (tensor<2xf16>, tensor<2xf16>) -> tensor<2xf16>
  %59 = aten.add %a_f16, %b_f32 : (tensor<2xf16>, tensor<2xf32>) -> tensor<2xf32>
  %60 = aten.add %a_f16, %b_f64 : (tensor<2xf16>, tensor<2xf64>) -> tensor<2xf64>
  %61 = aten.add %a_f32, %b_i1 : (tensor<2xf32>, tensor<2xi1>) -> tensor<2xf32>
  %62 = aten.add %a_f32, %b_ui8 : (tensor<2xf32>, tensor<2xui8>) -> tensor<2xf32>
  %63 = aten.add %a_f32, %b_i8 : (tensor<2xf32>, tensor<2xi8>) -> tensor<2xf32>
  %64 = aten.add %a_f32, %b_i32 : (tensor<2xf32>, tensor<2xi32>) -> tensor<2xf32>
  %65 = aten.add %a_f32, %b_i64 : (tensor<2xf32>, tensor<2xi64>) -> tensor<2xf32>
  %66 = aten.add %a_f32, %b_bf16 : (tensor<2xf32>, tensor<2xbf16>) -> tensor<2xf32>
  %67 = aten.add %a_f32, %b_f16 : (tensor<2xf32>, tensor<2xf16>) -> tensor<2xf32>
  %68 = aten.add %a_f32, %b_f32 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %69 = aten.add %a_f32, %b_f64 : (tensor<2xf32>, tensor<2xf64>) -> tensor<2xf64>
  %70 = aten.add %a_f64, %b_i1 : (tensor<2xf64>, tensor<2xi1>) -> tensor<2xf64>
  %71 = aten.add %a_f64, %b_ui8 : (tensor<2xf64>, tensor<2xui8>) -> tensor<2xf64>
  %72 = aten.add %a_f64, %b_i8 : (tensor<2xf64>, tensor<2xi8>) -> tensor<2xf64>
  %73 = aten.add %a_f64, %b_i32 : (tensor<2xf64>, tensor<2xi32>) -> tensor<2xf64>
  %74 = aten.add %a_f64, %b_i64 : (tensor<2xf64>, tensor<2xi64>) -> tensor<2xf64>
  %75 = aten.add %a_f64, %b_bf16 : (tensor<2xf64>, tensor<2xbf16>) -> tensor<2xf64>
  %76 = aten.add %a_f64, %b_f16 : (tensor<2xf64>, tensor<2xf16>) -> tensor<2xf64>
  %77 = aten.add %a_f64, %b_f32 : (tensor<2xf64>, tensor<2xf32>) -> tensor<2xf64>
  %78 = aten.add %a_f64, %b_f64 : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
  return
}

// A 0-d tensor changes the dtype only when its category is higher.
// CHECK-LABEL: @second_is_scalar
func.func @second_is_scalar(
    %a_i1: tensor<2xi1>,
    %a_ui8: tensor<2xui8>,
    %a_i8: tensor<2xi8>,
    %a_i32: tensor<2xi32>,
    %a_i64: tensor<2xi64>,
    %a_bf16: tensor<2xbf16>,
    %a_f16: tensor<2xf16>,
    %a_f32: tensor<2xf32>,
    %a_f64: tensor<2xf64>,
    %b_i1: tensor<i1>,
    %b_ui8: tensor<ui8>,
    %b_i8: tensor<i8>,
    %b_i32: tensor<i32>,
    %b_i64: tensor<i64>,
    %b_bf16: tensor<bf16>,
    %b_f16: tensor<f16>,
    %b_f32: tensor<f32>,
    %b_f64: tensor<f64>) {
  %0 = aten.add %a_i1, %b_i1 : (tensor<2xi1>, tensor<i1>) -> tensor<2xi1>
  %1 = aten.add %a_i1, %b_ui8 : (tensor<2xi1>, tensor<ui8>) -> tensor<2xui8>
  %2 = aten.add %a_i1, %b_i8 : (tensor<2xi1>, tensor<i8>) -> tensor<2xi8>
  %3 = aten.add %a_i1, %b_i32 : (tensor<2xi1>, tensor<i32>) -> tensor<2xi32>
  %4 = aten.add %a_i1, %b_i64 : (tensor<2xi1>, tensor<i64>) -> tensor<2xi64>
  %5 = aten.add %a_i1, %b_bf16 : (tensor<2xi1>, tensor<bf16>) -> tensor<2xbf16>
  %6 = aten.add %a_i1, %b_f16 : (tensor<2xi1>, tensor<f16>) -> tensor<2xf16>
  %7 = aten.add %a_i1, %b_f32 : (tensor<2xi1>, tensor<f32>) -> tensor<2xf32>
  %8 = aten.add %a_i1, %b_f64 : (tensor<2xi1>, tensor<f64>) -> tensor<2xf64>
  %9 = aten.add %a_ui8, %b_i1 : (tensor<2xui8>, tensor<i1>) -> tensor<2xui8>
  %10 = aten.add %a_ui8, %b_ui8 : (tensor<2xui8>, tensor<ui8>) -> tensor<2xui8>
  %11 = aten.add %a_ui8, %b_i8 : (tensor<2xui8>, tensor<i8>) -> tensor<2xui8>
  %12 = aten.add %a_ui8, %b_i32 : (tensor<2xui8>, tensor<i32>) -> tensor<2xui8>
  %13 = aten.add %a_ui8, %b_i64 : (tensor<2xui8>, tensor<i64>) -> tensor<2xui8>
  %14 = aten.add %a_ui8, %b_bf16 : (tensor<2xui8>, tensor<bf16>) -> tensor<2xbf16>
  %15 = aten.add %a_ui8, %b_f16 : (tensor<2xui8>, tensor<f16>) -> tensor<2xf16>
  %16 = aten.add %a_ui8, %b_f32 : (tensor<2xui8>, tensor<f32>) -> tensor<2xf32>
  %17 = aten.add %a_ui8, %b_f64 : (tensor<2xui8>, tensor<f64>) -> tensor<2xf64>
  %18 = aten.add %a_i8, %b_i1 : (tensor<2xi8>, tensor<i1>) -> tensor<2xi8>
  %19 = aten.add %a_i8, %b_ui8 : (tensor<2xi8>, tensor<ui8>) -> tensor<2xi8>
  %20 = aten.add %a_i8, %b_i8 : (tensor<2xi8>, tensor<i8>) -> tensor<2xi8>
  %21 = aten.add %a_i8, %b_i32 : (tensor<2xi8>, tensor<i32>) -> tensor<2xi8>
  %22 = aten.add %a_i8, %b_i64 : (tensor<2xi8>, tensor<i64>) -> tensor<2xi8>
  %23 = aten.add %a_i8, %b_bf16 : (tensor<2xi8>, tensor<bf16>) -> tensor<2xbf16>
  %24 = aten.add %a_i8, %b_f16 : (tensor<2xi8>, tensor<f16>) -> tensor<2xf16>
  %25 = aten.add %a_i8, %b_f32 : (tensor<2xi8>, tensor<f32>) -> tensor<2xf32>
  %26 = aten.add %a_i8, %b_f64 : (tensor<2xi8>, tensor<f64>) -> tensor<2xf64>
  %27 = aten.add %a_i32, %b_i1 : (tensor<2xi32>, tensor<i1>) -> tensor<2xi32>
  %28 = aten.add %a_i32, %b_ui8 : (tensor<2xi32>, tensor<ui8>) -> tensor<2xi32>
  %29 = aten.add %a_i32, %b_i8 : (tensor<2xi32>, tensor<i8>) -> tensor<2xi32>
  %30 = aten.add %a_i32, %b_i32 : (tensor<2xi32>, tensor<i32>) -> tensor<2xi32>
  %31 = aten.add %a_i32, %b_i64 : (tensor<2xi32>, tensor<i64>) -> tensor<2xi32>
  %32 = aten.add %a_i32, %b_bf16 : (tensor<2xi32>, tensor<bf16>) -> tensor<2xbf16>
  %33 = aten.add %a_i32, %b_f16 : (tensor<2xi32>, tensor<f16>) -> tensor<2xf16>
  %34 = aten.add %a_i32, %b_f32 : (tensor<2xi32>, tensor<f32>) -> tensor<2xf32>
  %35 = aten.add %a_i32, %b_f64 : (tensor<2xi32>, tensor<f64>) -> tensor<2xf64>
  %36 = aten.add %a_i64, %b_i1 : (tensor<2xi64>, tensor<i1>) -> tensor<2xi64>
  %37 = aten.add %a_i64, %b_ui8 : (tensor<2xi64>, tensor<ui8>) -> tensor<2xi64>
  %38 = aten.add %a_i64, %b_i8 : (tensor<2xi64>, tensor<i8>) -> tensor<2xi64>
  %39 = aten.add %a_i64, %b_i32 : (tensor<2xi64>, tensor<i32>) -> tensor<2xi64>
  %40 = aten.add %a_i64, %b_i64 : (tensor<2xi64>, tensor<i64>) -> tensor<2xi64>
  %41 = aten.add %a_i64, %b_bf16 : (tensor<2xi64>, tensor<bf16>) -> tensor<2xbf16>
  %42 = aten.add %a_i64, %b_f16 : (tensor<2xi64>, tensor<f16>) -> tensor<2xf16>
  %43 = aten.add %a_i64, %b_f32 : (tensor<2xi64>, tensor<f32>) -> tensor<2xf32>
  %44 = aten.add %a_i64, %b_f64 : (tensor<2xi64>, tensor<f64>) -> tensor<2xf64>
  %45 = aten.add %a_bf16, %b_i1 : (tensor<2xbf16>, tensor<i1>) -> tensor<2xbf16>
  %46 = aten.add %a_bf16, %b_ui8 : (tensor<2xbf16>, tensor<ui8>) -> tensor<2xbf16>
  %47 = aten.add %a_bf16, %b_i8 : (tensor<2xbf16>, tensor<i8>) -> tensor<2xbf16>
  %48 = aten.add %a_bf16, %b_i32 : (tensor<2xbf16>, tensor<i32>) -> tensor<2xbf16>
  %49 = aten.add %a_bf16, %b_i64 : (tensor<2xbf16>, tensor<i64>) -> tensor<2xbf16>
  %50 = aten.add %a_bf16, %b_bf16 : (tensor<2xbf16>, tensor<bf16>) -> tensor<2xbf16>
  %51 = aten.add %a_bf16, %b_f16 : (tensor<2xbf16>, tensor<f16>) -> tensor<2xbf16>
  %52 = aten.add %a_bf16, %b_f32 : (tensor<2xbf16>, tensor<f32>) -> tensor<2xbf16>
  %53 = aten.add %a_bf16, %b_f64 : (tensor<2xbf16>, tensor<f64>) -> tensor<2xbf16>
  %54 = aten.add %a_f16, %b_i1 : (tensor<2xf16>, tensor<i1>) -> tensor<2xf16>
  %55 = aten.add %a_f16, %b_ui8 : (tensor<2xf16>, tensor<ui8>) -> tensor<2xf16>
  %56 = aten.add %a_f16, %b_i8 : (tensor<2xf16>, tensor<i8>) -> tensor<2xf16>
  %57 = aten.add %a_f16, %b_i32 : (tensor<2xf16>, tensor<i32>) -> tensor<2xf16>
  %58 = aten.add %a_f16, %b_i64 : (tensor<2xf16>, tensor<i64>) -> tensor<2xf16>
  %59 = aten.add %a_f16, %b_bf16 : (tensor<2xf16>, tensor<bf16>) -> tensor<2xf16>
  %60 = aten.add %a_f16, %b_f16 : (tensor<2xf16>, tensor<f16>) -> tensor<2xf16>
  %61 = aten.add %a_f16, %b_f32 : (tensor<2xf16>, tensor<f32>) -> tensor<2xf16>
  %62 = aten.add %a_f16, %b_f64 : (tensor<2xf16>, tensor<f64>) -> tensor<2xf16>
  %63 = aten.add %a_f32, %b_i1 : (tensor<2xf32>, tensor<i1>) -> tensor<2xf32>
  %64 = aten.add %a_f32, %b_ui8 : (tensor<2xf32>, tensor<ui8>) -> tensor<2xf32>
  %65 = aten.add %a_f32, %b_i8 : (tensor<2xf32>, tensor<i8>) -> tensor<2xf32>
  %66 = aten.add %a_f32, %b_i32 : (tensor<2xf32>, tensor<i32>) -> tensor<2xf32>
  %67 = aten.add %a_f32, %b_i64 : (tensor<2xf32>, tensor<i64>) -> tensor<2xf32>
  %68 = aten.add %a_f32, %b_bf16 : (tensor<2xf32>, tensor<bf16>) -> tensor<2xf32>
  %69 = aten.add %a_f32, %b_f16 : (tensor<2xf32>, tensor<f16>) -> tensor<2xf32>
  %70 = aten.add %a_f32, %b_f32 : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  %71 = aten.add %a_f32, %b_f64 : (tensor<2xf32>, tensor<f64>) -> tensor<2xf32>
  %72 = aten.add %a_f64, %b_i1 : (tensor<2xf64>, tensor<i1>) -> tensor<2xf64>
  %73 = aten.add %a_f64, %b_ui8 : (tensor<2xf64>, tensor<ui8>) -> tensor<2xf64>
  %74 = aten.add %a_f64, %b_i8 : (tensor<2xf64>, tensor<i8>) -> tensor<2xf64>
  %75 = aten.add %a_f64, %b_i32 : (tensor<2xf64>, tensor<i32>) -> tensor<2xf64>
  %76 = aten.add %a_f64, %b_i64 : (tensor<2xf64>, tensor<i64>) -> tensor<2xf64>
  %77 = aten.add %a_f64, %b_bf16 : (tensor<2xf64>, tensor<bf16>) -> tensor<2xf64>
  %78 = aten.add %a_f64, %b_f16 : (tensor<2xf64>, tensor<f16>) -> tensor<2xf64>
  %79 = aten.add %a_f64, %b_f32 : (tensor<2xf64>, tensor<f32>) -> tensor<2xf64>
  %80 = aten.add %a_f64, %b_f64 : (tensor<2xf64>, tensor<f64>) -> tensor<2xf64>
  return
}

// The same on the other side.
// CHECK-LABEL: @first_is_scalar
func.func @first_is_scalar(
    %a_i1: tensor<i1>,
    %a_ui8: tensor<ui8>,
    %a_i8: tensor<i8>,
    %a_i32: tensor<i32>,
    %a_i64: tensor<i64>,
    %a_bf16: tensor<bf16>,
    %a_f16: tensor<f16>,
    %a_f32: tensor<f32>,
    %a_f64: tensor<f64>,
    %b_i1: tensor<2xi1>,
    %b_ui8: tensor<2xui8>,
    %b_i8: tensor<2xi8>,
    %b_i32: tensor<2xi32>,
    %b_i64: tensor<2xi64>,
    %b_bf16: tensor<2xbf16>,
    %b_f16: tensor<2xf16>,
    %b_f32: tensor<2xf32>,
    %b_f64: tensor<2xf64>) {
  %0 = aten.add %a_i1, %b_i1 : (tensor<i1>, tensor<2xi1>) -> tensor<2xi1>
  %1 = aten.add %a_i1, %b_ui8 : (tensor<i1>, tensor<2xui8>) -> tensor<2xui8>
  %2 = aten.add %a_i1, %b_i8 : (tensor<i1>, tensor<2xi8>) -> tensor<2xi8>
  %3 = aten.add %a_i1, %b_i32 : (tensor<i1>, tensor<2xi32>) -> tensor<2xi32>
  %4 = aten.add %a_i1, %b_i64 : (tensor<i1>, tensor<2xi64>) -> tensor<2xi64>
  %5 = aten.add %a_i1, %b_bf16 : (tensor<i1>, tensor<2xbf16>) -> tensor<2xbf16>
  %6 = aten.add %a_i1, %b_f16 : (tensor<i1>, tensor<2xf16>) -> tensor<2xf16>
  %7 = aten.add %a_i1, %b_f32 : (tensor<i1>, tensor<2xf32>) -> tensor<2xf32>
  %8 = aten.add %a_i1, %b_f64 : (tensor<i1>, tensor<2xf64>) -> tensor<2xf64>
  %9 = aten.add %a_ui8, %b_i1 : (tensor<ui8>, tensor<2xi1>) -> tensor<2xui8>
  %10 = aten.add %a_ui8, %b_ui8 : (tensor<ui8>, tensor<2xui8>) -> tensor<2xui8>
  %11 = aten.add %a_ui8, %b_i8 : (tensor<ui8>, tensor<2xi8>) -> tensor<2xi8>
  %12 = aten.add %a_ui8, %b_i32 : (tensor<ui8>, tensor<2xi32>) -> tensor<2xi32>
  %13 = aten.add %a_ui8, %b_i64 : (tensor<ui8>, tensor<2xi64>) -> tensor<2xi64>
  %14 = aten.add %a_ui8, %b_bf16 : (tensor<ui8>, tensor<2xbf16>) -> tensor<2xbf16>
  %15 = aten.add %a_ui8, %b_f16 : (tensor<ui8>, tensor<2xf16>) -> tensor<2xf16>
  %16 = aten.add %a_ui8, %b_f32 : (tensor<ui8>, tensor<2xf32>) -> tensor<2xf32>
  %17 = aten.add %a_ui8, %b_f64 : (tensor<ui8>, tensor<2xf64>) -> tensor<2xf64>
  %18 = aten.add %a_i8, %b_i1 : (tensor<i8>, tensor<2xi1>) -> tensor<2xi8>
  %19 = aten.add %a_i8, %b_ui8 : (tensor<i8>, tensor<2xui8>) -> tensor<2xui8>
  %20 = aten.add %a_i8, %b_i8 : (tensor<i8>, tensor<2xi8>) -> tensor<2xi8>
  %21 = aten.add %a_i8, %b_i32 : (tensor<i8>, tensor<2xi32>) -> tensor<2xi32>
  %22 = aten.add %a_i8, %b_i64 : (tensor<i8>, tensor<2xi64>) -> tensor<2xi64>
  %23 = aten.add %a_i8, %b_bf16 : (tensor<i8>, tensor<2xbf16>) -> tensor<2xbf16>
  %24 = aten.add %a_i8, %b_f16 : (tensor<i8>, tensor<2xf16>) -> tensor<2xf16>
  %25 = aten.add %a_i8, %b_f32 : (tensor<i8>, tensor<2xf32>) -> tensor<2xf32>
  %26 = aten.add %a_i8, %b_f64 : (tensor<i8>, tensor<2xf64>) -> tensor<2xf64>
  %27 = aten.add %a_i32, %b_i1 : (tensor<i32>, tensor<2xi1>) -> tensor<2xi32>
  %28 = aten.add %a_i32, %b_ui8 : (tensor<i32>, tensor<2xui8>) -> tensor<2xui8>
  %29 = aten.add %a_i32, %b_i8 : (tensor<i32>, tensor<2xi8>) -> tensor<2xi8>
  %30 = aten.add %a_i32, %b_i32 : (tensor<i32>, tensor<2xi32>) -> tensor<2xi32>
  %31 = aten.add %a_i32, %b_i64 : (tensor<i32>, tensor<2xi64>) -> tensor<2xi64>
  %32 = aten.add %a_i32, %b_bf16 : (tensor<i32>, tensor<2xbf16>) -> tensor<2xbf16>
  %33 = aten.add %a_i32, %b_f16 : (tensor<i32>, tensor<2xf16>) -> tensor<2xf16>
  %34 = aten.add %a_i32, %b_f32 : (tensor<i32>, tensor<2xf32>) -> tensor<2xf32>
  %35 = aten.add %a_i32, %b_f64 : (tensor<i32>, tensor<2xf64>) -> tensor<2xf64>
  %36 = aten.add %a_i64, %b_i1 : (tensor<i64>, tensor<2xi1>) -> tensor<2xi64>
  %37 = aten.add %a_i64, %b_ui8 : (tensor<i64>, tensor<2xui8>) -> tensor<2xui8>
  %38 = aten.add %a_i64, %b_i8 : (tensor<i64>, tensor<2xi8>) -> tensor<2xi8>
  %39 = aten.add %a_i64, %b_i32 : (tensor<i64>, tensor<2xi32>) -> tensor<2xi32>
  %40 = aten.add %a_i64, %b_i64 : (tensor<i64>, tensor<2xi64>) -> tensor<2xi64>
  %41 = aten.add %a_i64, %b_bf16 : (tensor<i64>, tensor<2xbf16>) -> tensor<2xbf16>
  %42 = aten.add %a_i64, %b_f16 : (tensor<i64>, tensor<2xf16>) -> tensor<2xf16>
  %43 = aten.add %a_i64, %b_f32 : (tensor<i64>, tensor<2xf32>) -> tensor<2xf32>
  %44 = aten.add %a_i64, %b_f64 : (tensor<i64>, tensor<2xf64>) -> tensor<2xf64>
  %45 = aten.add %a_bf16, %b_i1 : (tensor<bf16>, tensor<2xi1>) -> tensor<2xbf16>
  %46 = aten.add %a_bf16, %b_ui8 : (tensor<bf16>, tensor<2xui8>) -> tensor<2xbf16>
  %47 = aten.add %a_bf16, %b_i8 : (tensor<bf16>, tensor<2xi8>) -> tensor<2xbf16>
  %48 = aten.add %a_bf16, %b_i32 : (tensor<bf16>, tensor<2xi32>) -> tensor<2xbf16>
  %49 = aten.add %a_bf16, %b_i64 : (tensor<bf16>, tensor<2xi64>) -> tensor<2xbf16>
  %50 = aten.add %a_bf16, %b_bf16 : (tensor<bf16>, tensor<2xbf16>) -> tensor<2xbf16>
  %51 = aten.add %a_bf16, %b_f16 : (tensor<bf16>, tensor<2xf16>) -> tensor<2xf16>
  %52 = aten.add %a_bf16, %b_f32 : (tensor<bf16>, tensor<2xf32>) -> tensor<2xf32>
  %53 = aten.add %a_bf16, %b_f64 : (tensor<bf16>, tensor<2xf64>) -> tensor<2xf64>
  %54 = aten.add %a_f16, %b_i1 : (tensor<f16>, tensor<2xi1>) -> tensor<2xf16>
  %55 = aten.add %a_f16, %b_ui8 : (tensor<f16>, tensor<2xui8>) -> tensor<2xf16>
  %56 = aten.add %a_f16, %b_i8 : (tensor<f16>, tensor<2xi8>) -> tensor<2xf16>
  %57 = aten.add %a_f16, %b_i32 : (tensor<f16>, tensor<2xi32>) -> tensor<2xf16>
  %58 = aten.add %a_f16, %b_i64 : (tensor<f16>, tensor<2xi64>) -> tensor<2xf16>
  %59 = aten.add %a_f16, %b_bf16 : (tensor<f16>, tensor<2xbf16>) -> tensor<2xbf16>
  %60 = aten.add %a_f16, %b_f16 : (tensor<f16>, tensor<2xf16>) -> tensor<2xf16>
  %61 = aten.add %a_f16, %b_f32 : (tensor<f16>, tensor<2xf32>) -> tensor<2xf32>
  %62 = aten.add %a_f16, %b_f64 : (tensor<f16>, tensor<2xf64>) -> tensor<2xf64>
  %63 = aten.add %a_f32, %b_i1 : (tensor<f32>, tensor<2xi1>) -> tensor<2xf32>
  %64 = aten.add %a_f32, %b_ui8 : (tensor<f32>, tensor<2xui8>) -> tensor<2xf32>
  %65 = aten.add %a_f32, %b_i8 : (tensor<f32>, tensor<2xi8>) -> tensor<2xf32>
  %66 = aten.add %a_f32, %b_i32 : (tensor<f32>, tensor<2xi32>) -> tensor<2xf32>
  %67 = aten.add %a_f32, %b_i64 : (tensor<f32>, tensor<2xi64>) -> tensor<2xf32>
  %68 = aten.add %a_f32, %b_bf16 : (tensor<f32>, tensor<2xbf16>) -> tensor<2xbf16>
  %69 = aten.add %a_f32, %b_f16 : (tensor<f32>, tensor<2xf16>) -> tensor<2xf16>
  %70 = aten.add %a_f32, %b_f32 : (tensor<f32>, tensor<2xf32>) -> tensor<2xf32>
  %71 = aten.add %a_f32, %b_f64 : (tensor<f32>, tensor<2xf64>) -> tensor<2xf64>
  %72 = aten.add %a_f64, %b_i1 : (tensor<f64>, tensor<2xi1>) -> tensor<2xf64>
  %73 = aten.add %a_f64, %b_ui8 : (tensor<f64>, tensor<2xui8>) -> tensor<2xf64>
  %74 = aten.add %a_f64, %b_i8 : (tensor<f64>, tensor<2xi8>) -> tensor<2xf64>
  %75 = aten.add %a_f64, %b_i32 : (tensor<f64>, tensor<2xi32>) -> tensor<2xf64>
  %76 = aten.add %a_f64, %b_i64 : (tensor<f64>, tensor<2xi64>) -> tensor<2xf64>
  %77 = aten.add %a_f64, %b_bf16 : (tensor<f64>, tensor<2xbf16>) -> tensor<2xbf16>
  %78 = aten.add %a_f64, %b_f16 : (tensor<f64>, tensor<2xf16>) -> tensor<2xf16>
  %79 = aten.add %a_f64, %b_f32 : (tensor<f64>, tensor<2xf32>) -> tensor<2xf32>
  %80 = aten.add %a_f64, %b_f64 : (tensor<f64>, tensor<2xf64>) -> tensor<2xf64>
  return
}

// Two 0-d tensors promote as tensors do.
// CHECK-LABEL: @both_are_scalars
func.func @both_are_scalars(
    %a_i1: tensor<i1>,
    %a_ui8: tensor<ui8>,
    %a_i8: tensor<i8>,
    %a_i32: tensor<i32>,
    %a_i64: tensor<i64>,
    %a_bf16: tensor<bf16>,
    %a_f16: tensor<f16>,
    %a_f32: tensor<f32>,
    %a_f64: tensor<f64>,
    %b_i1: tensor<i1>,
    %b_ui8: tensor<ui8>,
    %b_i8: tensor<i8>,
    %b_i32: tensor<i32>,
    %b_i64: tensor<i64>,
    %b_bf16: tensor<bf16>,
    %b_f16: tensor<f16>,
    %b_f32: tensor<f32>,
    %b_f64: tensor<f64>) {
  %0 = aten.add %a_i1, %b_i1 : (tensor<i1>, tensor<i1>) -> tensor<i1>
  %1 = aten.add %a_i1, %b_ui8 : (tensor<i1>, tensor<ui8>) -> tensor<ui8>
  %2 = aten.add %a_i1, %b_i8 : (tensor<i1>, tensor<i8>) -> tensor<i8>
  %3 = aten.add %a_i1, %b_i32 : (tensor<i1>, tensor<i32>) -> tensor<i32>
  %4 = aten.add %a_i1, %b_i64 : (tensor<i1>, tensor<i64>) -> tensor<i64>
  %5 = aten.add %a_i1, %b_bf16 : (tensor<i1>, tensor<bf16>) -> tensor<bf16>
  %6 = aten.add %a_i1, %b_f16 : (tensor<i1>, tensor<f16>) -> tensor<f16>
  %7 = aten.add %a_i1, %b_f32 : (tensor<i1>, tensor<f32>) -> tensor<f32>
  %8 = aten.add %a_i1, %b_f64 : (tensor<i1>, tensor<f64>) -> tensor<f64>
  %9 = aten.add %a_ui8, %b_i1 : (tensor<ui8>, tensor<i1>) -> tensor<ui8>
  %10 = aten.add %a_ui8, %b_ui8 : (tensor<ui8>, tensor<ui8>) -> tensor<ui8>
  %11 = aten.add %a_ui8, %b_i32 : (tensor<ui8>, tensor<i32>) -> tensor<i32>
  %12 = aten.add %a_ui8, %b_i64 : (tensor<ui8>, tensor<i64>) -> tensor<i64>
  %13 = aten.add %a_ui8, %b_bf16 : (tensor<ui8>, tensor<bf16>) -> tensor<bf16>
  %14 = aten.add %a_ui8, %b_f16 : (tensor<ui8>, tensor<f16>) -> tensor<f16>
  %15 = aten.add %a_ui8, %b_f32 : (tensor<ui8>, tensor<f32>) -> tensor<f32>
  %16 = aten.add %a_ui8, %b_f64 : (tensor<ui8>, tensor<f64>) -> tensor<f64>
  %17 = aten.add %a_i8, %b_i1 : (tensor<i8>, tensor<i1>) -> tensor<i8>
  %18 = aten.add %a_i8, %b_i8 : (tensor<i8>, tensor<i8>) -> tensor<i8>
  %19 = aten.add %a_i8, %b_i32 : (tensor<i8>, tensor<i32>) -> tensor<i32>
  %20 = aten.add %a_i8, %b_i64 : (tensor<i8>, tensor<i64>) -> tensor<i64>
  %21 = aten.add %a_i8, %b_bf16 : (tensor<i8>, tensor<bf16>) -> tensor<bf16>
  %22 = aten.add %a_i8, %b_f16 : (tensor<i8>, tensor<f16>) -> tensor<f16>
  %23 = aten.add %a_i8, %b_f32 : (tensor<i8>, tensor<f32>) -> tensor<f32>
  %24 = aten.add %a_i8, %b_f64 : (tensor<i8>, tensor<f64>) -> tensor<f64>
  %25 = aten.add %a_i32, %b_i1 : (tensor<i32>, tensor<i1>) -> tensor<i32>
  %26 = aten.add %a_i32, %b_ui8 : (tensor<i32>, tensor<ui8>) -> tensor<i32>
  %27 = aten.add %a_i32, %b_i8 : (tensor<i32>, tensor<i8>) -> tensor<i32>
  %28 = aten.add %a_i32, %b_i32 : (tensor<i32>, tensor<i32>) -> tensor<i32>
  %29 = aten.add %a_i32, %b_i64 : (tensor<i32>, tensor<i64>) -> tensor<i64>
  %30 = aten.add %a_i32, %b_bf16 : (tensor<i32>, tensor<bf16>) -> tensor<bf16>
  %31 = aten.add %a_i32, %b_f16 : (tensor<i32>, tensor<f16>) -> tensor<f16>
  %32 = aten.add %a_i32, %b_f32 : (tensor<i32>, tensor<f32>) -> tensor<f32>
  %33 = aten.add %a_i32, %b_f64 : (tensor<i32>, tensor<f64>) -> tensor<f64>
  %34 = aten.add %a_i64, %b_i1 : (tensor<i64>, tensor<i1>) -> tensor<i64>
  %35 = aten.add %a_i64, %b_ui8 : (tensor<i64>, tensor<ui8>) -> tensor<i64>
  %36 = aten.add %a_i64, %b_i8 : (tensor<i64>, tensor<i8>) -> tensor<i64>
  %37 = aten.add %a_i64, %b_i32 : (tensor<i64>, tensor<i32>) -> tensor<i64>
  %38 = aten.add %a_i64, %b_i64 : (tensor<i64>, tensor<i64>) -> tensor<i64>
  %39 = aten.add %a_i64, %b_bf16 : (tensor<i64>, tensor<bf16>) -> tensor<bf16>
  %40 = aten.add %a_i64, %b_f16 : (tensor<i64>, tensor<f16>) -> tensor<f16>
  %41 = aten.add %a_i64, %b_f32 : (tensor<i64>, tensor<f32>) -> tensor<f32>
  %42 = aten.add %a_i64, %b_f64 : (tensor<i64>, tensor<f64>) -> tensor<f64>
  %43 = aten.add %a_bf16, %b_i1 : (tensor<bf16>, tensor<i1>) -> tensor<bf16>
  %44 = aten.add %a_bf16, %b_ui8 : (tensor<bf16>, tensor<ui8>) -> tensor<bf16>
  %45 = aten.add %a_bf16, %b_i8 : (tensor<bf16>, tensor<i8>) -> tensor<bf16>
  %46 = aten.add %a_bf16, %b_i32 : (tensor<bf16>, tensor<i32>) -> tensor<bf16>
  %47 = aten.add %a_bf16, %b_i64 : (tensor<bf16>, tensor<i64>) -> tensor<bf16>
  %48 = aten.add %a_bf16, %b_bf16 : (tensor<bf16>, tensor<bf16>) -> tensor<bf16>
  %49 = aten.add %a_bf16, %b_f16 : (tensor<bf16>, tensor<f16>) -> tensor<f32>
  %50 = aten.add %a_bf16, %b_f32 : (tensor<bf16>, tensor<f32>) -> tensor<f32>
  %51 = aten.add %a_bf16, %b_f64 : (tensor<bf16>, tensor<f64>) -> tensor<f64>
  %52 = aten.add %a_f16, %b_i1 : (tensor<f16>, tensor<i1>) -> tensor<f16>
  %53 = aten.add %a_f16, %b_ui8 : (tensor<f16>, tensor<ui8>) -> tensor<f16>
  %54 = aten.add %a_f16, %b_i8 : (tensor<f16>, tensor<i8>) -> tensor<f16>
  %55 = aten.add %a_f16, %b_i32 : (tensor<f16>, tensor<i32>) -> tensor<f16>
  %56 = aten.add %a_f16, %b_i64 : (tensor<f16>, tensor<i64>) -> tensor<f16>
  %57 = aten.add %a_f16, %b_bf16 : (tensor<f16>, tensor<bf16>) -> tensor<f32>
  %58 = aten.add %a_f16, %b_f16 : (tensor<f16>, tensor<f16>) -> tensor<f16>
  %59 = aten.add %a_f16, %b_f32 : (tensor<f16>, tensor<f32>) -> tensor<f32>
  %60 = aten.add %a_f16, %b_f64 : (tensor<f16>, tensor<f64>) -> tensor<f64>
  %61 = aten.add %a_f32, %b_i1 : (tensor<f32>, tensor<i1>) -> tensor<f32>
  %62 = aten.add %a_f32, %b_ui8 : (tensor<f32>, tensor<ui8>) -> tensor<f32>
  %63 = aten.add %a_f32, %b_i8 : (tensor<f32>, tensor<i8>) -> tensor<f32>
  %64 = aten.add %a_f32, %b_i32 : (tensor<f32>, tensor<i32>) -> tensor<f32>
  %65 = aten.add %a_f32, %b_i64 : (tensor<f32>, tensor<i64>) -> tensor<f32>
  %66 = aten.add %a_f32, %b_bf16 : (tensor<f32>, tensor<bf16>) -> tensor<f32>
  %67 = aten.add %a_f32, %b_f16 : (tensor<f32>, tensor<f16>) -> tensor<f32>
  %68 = aten.add %a_f32, %b_f32 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %69 = aten.add %a_f32, %b_f64 : (tensor<f32>, tensor<f64>) -> tensor<f64>
  %70 = aten.add %a_f64, %b_i1 : (tensor<f64>, tensor<i1>) -> tensor<f64>
  %71 = aten.add %a_f64, %b_ui8 : (tensor<f64>, tensor<ui8>) -> tensor<f64>
  %72 = aten.add %a_f64, %b_i8 : (tensor<f64>, tensor<i8>) -> tensor<f64>
  %73 = aten.add %a_f64, %b_i32 : (tensor<f64>, tensor<i32>) -> tensor<f64>
  %74 = aten.add %a_f64, %b_i64 : (tensor<f64>, tensor<i64>) -> tensor<f64>
  %75 = aten.add %a_f64, %b_bf16 : (tensor<f64>, tensor<bf16>) -> tensor<f64>
  %76 = aten.add %a_f64, %b_f16 : (tensor<f64>, tensor<f16>) -> tensor<f64>
  %77 = aten.add %a_f64, %b_f32 : (tensor<f64>, tensor<f32>) -> tensor<f64>
  %78 = aten.add %a_f64, %b_f64 : (tensor<f64>, tensor<f64>) -> tensor<f64>
  return
}

// Shapes are those of torch.broadcast_shapes.
// CHECK-LABEL: @broadcasting
func.func @broadcasting(
    %a0: tensor<2x3xf32>,
    %b0: tensor<3xf32>,
    %a1: tensor<2x1xf32>,
    %b1: tensor<3xf32>,
    %a2: tensor<2x1x4xf32>,
    %b2: tensor<3x1xf32>,
    %a3: tensor<1xf32>,
    %b3: tensor<2x3xf32>,
    %a4: tensor<f32>,
    %b4: tensor<2x3xf32>,
    %a5: tensor<2x3xf32>,
    %b5: tensor<2x3xf32>,
    %a6: tensor<1x1xf32>,
    %b6: tensor<1xf32>,
    %a7: tensor<0x3xf32>,
    %b7: tensor<1x3xf32>,
    %a8: tensor<5x1x1xf32>,
    %b8: tensor<5x4x0xf32>) {
  %0 = aten.add %a0, %b0 : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %1 = aten.add %a1, %b1 : (tensor<2x1xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %2 = aten.add %a2, %b2 : (tensor<2x1x4xf32>, tensor<3x1xf32>) -> tensor<2x3x4xf32>
  %3 = aten.add %a3, %b3 : (tensor<1xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %4 = aten.add %a4, %b4 : (tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %5 = aten.add %a5, %b5 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %6 = aten.add %a6, %b6 : (tensor<1x1xf32>, tensor<1xf32>) -> tensor<1x1xf32>
  %7 = aten.add %a7, %b7 : (tensor<0x3xf32>, tensor<1x3xf32>) -> tensor<0x3xf32>
  %8 = aten.add %a8, %b8 : (tensor<5x1x1xf32>, tensor<5x4x0xf32>) -> tensor<5x4x0xf32>
  return
}
