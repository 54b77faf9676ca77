// RUN: shardc-opt %s | FileCheck %s
//
// Written by type_promotion.py, with the result types of PyTorch 2.15.0. An
// operator whose declared type is not the one that it infers is rejected, so that
// parsing this file is the test.

// torch.promote_types: the wider of a category, or the higher category
// (bool < integer < floating point < complex).
// CHECK-LABEL: @tensors
func.func @tensors(
    %a_i1: tensor<2xi1>,
    %a_ui8: tensor<2xui8>,
    %a_i8: tensor<2xi8>,
    %a_i16: tensor<2xi16>,
    %a_i32: tensor<2xi32>,
    %a_i64: tensor<2xi64>,
    %a_bf16: tensor<2xbf16>,
    %a_f16: tensor<2xf16>,
    %a_f32: tensor<2xf32>,
    %a_f64: tensor<2xf64>,
    %a_complex_f32: tensor<2xcomplex<f32>>,
    %a_complex_f64: tensor<2xcomplex<f64>>,
    %b_i1: tensor<2xi1>,
    %b_ui8: tensor<2xui8>,
    %b_i8: tensor<2xi8>,
    %b_i16: tensor<2xi16>,
    %b_i32: tensor<2xi32>,
    %b_i64: tensor<2xi64>,
    %b_bf16: tensor<2xbf16>,
    %b_f16: tensor<2xf16>,
    %b_f32: tensor<2xf32>,
    %b_f64: tensor<2xf64>,
    %b_complex_f32: tensor<2xcomplex<f32>>,
    %b_complex_f64: tensor<2xcomplex<f64>>) {
  %0 = aten.add %a_i1, %b_i1 : (tensor<2xi1>, tensor<2xi1>) -> tensor<2xi1>
  %1 = aten.add %a_i1, %b_ui8 : (tensor<2xi1>, tensor<2xui8>) -> tensor<2xui8>
  %2 = aten.add %a_i1, %b_i8 : (tensor<2xi1>, tensor<2xi8>) -> tensor<2xi8>
  %3 = aten.add %a_i1, %b_i16 : (tensor<2xi1>, tensor<2xi16>) -> tensor<2xi16>
  %4 = aten.add %a_i1, %b_i32 : (tensor<2xi1>, tensor<2xi32>) -> tensor<2xi32>
  %5 = aten.add %a_i1, %b_i64 : (tensor<2xi1>, tensor<2xi64>) -> tensor<2xi64>
  %6 = aten.add %a_i1, %b_bf16 : (tensor<2xi1>, tensor<2xbf16>) -> tensor<2xbf16>
  %7 = aten.add %a_i1, %b_f16 : (tensor<2xi1>, tensor<2xf16>) -> tensor<2xf16>
  %8 = aten.add %a_i1, %b_f32 : (tensor<2xi1>, tensor<2xf32>) -> tensor<2xf32>
  %9 = aten.add %a_i1, %b_f64 : (tensor<2xi1>, tensor<2xf64>) -> tensor<2xf64>
  %10 = aten.add %a_i1, %b_complex_f32 : (tensor<2xi1>, tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
  %11 = aten.add %a_i1, %b_complex_f64 : (tensor<2xi1>, tensor<2xcomplex<f64>>) -> tensor<2xcomplex<f64>>
  %12 = aten.add %a_ui8, %b_i1 : (tensor<2xui8>, tensor<2xi1>) -> tensor<2xui8>
  %13 = aten.add %a_ui8, %b_ui8 : (tensor<2xui8>, tensor<2xui8>) -> tensor<2xui8>
  %14 = aten.add %a_ui8, %b_i8 : (tensor<2xui8>, tensor<2xi8>) -> tensor<2xi16>
  %15 = aten.add %a_ui8, %b_i16 : (tensor<2xui8>, tensor<2xi16>) -> tensor<2xi16>
  %16 = aten.add %a_ui8, %b_i32 : (tensor<2xui8>, tensor<2xi32>) -> tensor<2xi32>
  %17 = aten.add %a_ui8, %b_i64 : (tensor<2xui8>, tensor<2xi64>) -> tensor<2xi64>
  %18 = aten.add %a_ui8, %b_bf16 : (tensor<2xui8>, tensor<2xbf16>) -> tensor<2xbf16>
  %19 = aten.add %a_ui8, %b_f16 : (tensor<2xui8>, tensor<2xf16>) -> tensor<2xf16>
  %20 = aten.add %a_ui8, %b_f32 : (tensor<2xui8>, tensor<2xf32>) -> tensor<2xf32>
  %21 = aten.add %a_ui8, %b_f64 : (tensor<2xui8>, tensor<2xf64>) -> tensor<2xf64>
  %22 = aten.add %a_ui8, %b_complex_f32 : (tensor<2xui8>, tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
  %23 = aten.add %a_ui8, %b_complex_f64 : (tensor<2xui8>, tensor<2xcomplex<f64>>) -> tensor<2xcomplex<f64>>
  %24 = aten.add %a_i8, %b_i1 : (tensor<2xi8>, tensor<2xi1>) -> tensor<2xi8>
  %25 = aten.add %a_i8, %b_ui8 : (tensor<2xi8>, tensor<2xui8>) -> tensor<2xi16>
  %26 = aten.add %a_i8, %b_i8 : (tensor<2xi8>, tensor<2xi8>) -> tensor<2xi8>
  %27 = aten.add %a_i8, %b_i16 : (tensor<2xi8>, tensor<2xi16>) -> tensor<2xi16>
  %28 = aten.add %a_i8, %b_i32 : (tensor<2xi8>, tensor<2xi32>) -> tensor<2xi32>
  %29 = aten.add %a_i8, %b_i64 : (tensor<2xi8>, tensor<2xi64>) -> tensor<2xi64>
  %30 = aten.add %a_i8, %b_bf16 : (tensor<2xi8>, tensor<2xbf16>) -> tensor<2xbf16>
  %31 = aten.add %a_i8, %b_f16 : (tensor<2xi8>, tensor<2xf16>) -> tensor<2xf16>
  %32 = aten.add %a_i8, %b_f32 : (tensor<2xi8>, tensor<2xf32>) -> tensor<2xf32>
  %33 = aten.add %a_i8, %b_f64 : (tensor<2xi8>, tensor<2xf64>) -> tensor<2xf64>
  %34 = aten.add %a_i8, %b_complex_f32 : (tensor<2xi8>, tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
  %35 = aten.add %a_i8, %b_complex_f64 : (tensor<2xi8>, tensor<2xcomplex<f64>>) -> tensor<2xcomplex<f64>>
  %36 = aten.add %a_i16, %b_i1 : (tensor<2xi16>, tensor<2xi1>) -> tensor<2xi16>
  %37 = aten.add %a_i16, %b_ui8 : (tensor<2xi16>, tensor<2xui8>) -> tensor<2xi16>
  %38 = aten.add %a_i16, %b_i8 : (tensor<2xi16>, tensor<2xi8>) -> tensor<2xi16>
  %39 = aten.add %a_i16, %b_i16 : (tensor<2xi16>, tensor<2xi16>) -> tensor<2xi16>
  %40 = aten.add %a_i16, %b_i32 : (tensor<2xi16>, tensor<2xi32>) -> tensor<2xi32>
  %41 = aten.add %a_i16, %b_i64 : (tensor<2xi16>, tensor<2xi64>) -> tensor<2xi64>
  %42 = aten.add %a_i16, %b_bf16 : (tensor<2xi16>, tensor<2xbf16>) -> tensor<2xbf16>
  %43 = aten.add %a_i16, %b_f16 : (tensor<2xi16>, tensor<2xf16>) -> tensor<2xf16>
  %44 = aten.add %a_i16, %b_f32 : (tensor<2xi16>, tensor<2xf32>) -> tensor<2xf32>
  %45 = aten.add %a_i16, %b_f64 : (tensor<2xi16>, tensor<2xf64>) -> tensor<2xf64>
  %46 = aten.add %a_i16, %b_complex_f32 : (tensor<2xi16>, tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
  %47 = aten.add %a_i16, %b_complex_f64 : (tensor<2xi16>, tensor<2xcomplex<f64>>) -> tensor<2xcomplex<f64>>
  %48 = aten.add %a_i32, %b_i1 : (tensor<2xi32>, tensor<2xi1>) -> tensor<2xi32>
  %49 = aten.add %a_i32, %b_ui8 : (tensor<2xi32>, tensor<2xui8>) -> tensor<2xi32>
  %50 = aten.add %a_i32, %b_i8 : (tensor<2xi32>, tensor<2xi8>) -> tensor<2xi32>
  %51 = aten.add %a_i32, %b_i16 : (tensor<2xi32>, tensor<2xi16>) -> tensor<2xi32>
  %52 = aten.add %a_i32, %b_i32 : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
  %53 = aten.add %a_i32, %b_i64 : (tensor<2xi32>, tensor<2xi64>) -> tensor<2xi64>
  %54 = aten.add %a_i32, %b_bf16 : (tensor<2xi32>, tensor<2xbf16>) -> tensor<2xbf16>
  %55 = aten.add %a_i32, %b_f16 : (tensor<2xi32>, tensor<2xf16>) -> tensor<2xf16>
  %56 = aten.add %a_i32, %b_f32 : (tensor<2xi32>, tensor<2xf32>) -> tensor<2xf32>
  %57 = aten.add %a_i32, %b_f64 : (tensor<2xi32>, tensor<2xf64>) -> tensor<2xf64>
  %58 = aten.add %a_i32, %b_complex_f32 : (tensor<2xi32>, tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
  %59 = aten.add %a_i32, %b_complex_f64 : (tensor<2xi32>, tensor<2xcomplex<f64>>) -> tensor<2xcomplex<f64>>
  %60 = aten.add %a_i64, %b_i1 : (tensor<2xi64>, tensor<2xi1>) -> tensor<2xi64>
  %61 = aten.add %a_i64, %b_ui8 : (tensor<2xi64>, tensor<2xui8>) -> tensor<2xi64>
  %62 = aten.add %a_i64, %b_i8 : (tensor<2xi64>, tensor<2xi8>) -> tensor<2xi64>
  %63 = aten.add %a_i64, %b_i16 : (tensor<2xi64>, tensor<2xi16>) -> tensor<2xi64>
  %64 = aten.add %a_i64, %b_i32 : (tensor<2xi64>, tensor<2xi32>) -> tensor<2xi64>
  %65 = aten.add %a_i64, %b_i64 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %66 = aten.add %a_i64, %b_bf16 : (tensor<2xi64>, tensor<2xbf16>) -> tensor<2xbf16>
  %67 = aten.add %a_i64, %b_f16 : (tensor<2xi64>, tensor<2xf16>) -> tensor<2xf16>
  %68 = aten.add %a_i64, %b_f32 : (tensor<2xi64>, tensor<2xf32>) -> tensor<2xf32>
  %69 = aten.add %a_i64, %b_f64 : (tensor<2xi64>, tensor<2xf64>) -> tensor<2xf64>
  %70 = aten.add %a_i64, %b_complex_f32 : (tensor<2xi64>, tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
  %71 = aten.add %a_i64, %b_complex_f64 : (tensor<2xi64>, tensor<2xcomplex<f64>>) -> tensor<2xcomplex<f64>>
  %72 = aten.add %a_bf16, %b_i1 : (tensor<2xbf16>, tensor<2xi1>) -> tensor<2xbf16>
  %73 = aten.add %a_bf16, %b_ui8 : (tensor<2xbf16>, tensor<2xui8>) -> tensor<2xbf16>
  %74 = aten.add %a_bf16, %b_i8 : (tensor<2xbf16>, tensor<2xi8>) -> tensor<2xbf16>
  %75 = aten.add %a_bf16, %b_i16 : (tensor<2xbf16>, tensor<2xi16>) -> tensor<2xbf16>
  %76 = aten.add %a_bf16, %b_i32 : (tensor<2xbf16>, tensor<2xi32>) -> tensor<2xbf16>
  %77 = aten.add %a_bf16, %b_i64 : (tensor<2xbf16>, tensor<2xi64>) -> tensor<2xbf16>
  %78 = aten.add %a_bf16, %b_bf16 : (tensor<2xbf16>, tensor<2xbf16>) -> tensor<2xbf16>
  %79 = aten.add %a_bf16, %b_f16 : (tensor<2xbf16>, tensor<2xf16>) -> tensor<2xf32>
  %80 = aten.add %a_bf16, %b_f32 : (tensor<2xbf16>, tensor<2xf32>) -> tensor<2xf32>
  %81 = aten.add %a_bf16, %b_f64 : (tensor<2xbf16>, tensor<2xf64>) -> tensor<2xf64>
  %82 = aten.add %a_bf16, %b_complex_f32 : (tensor<2xbf16>, tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
  %83 = aten.add %a_bf16, %b_complex_f64 : (tensor<2xbf16>, tensor<2xcomplex<f64>>) -> tensor<2xcomplex<f64>>
  %84 = aten.add %a_f16, %b_i1 : (tensor<2xf16>, tensor<2xi1>) -> tensor<2xf16>
  %85 = aten.add %a_f16, %b_ui8 : (tensor<2xf16>, tensor<2xui8>) -> tensor<2xf16>
  %86 = aten.add %a_f16, %b_i8 : (tensor<2xf16>, tensor<2xi8>) -> tensor<2xf16>
  %87 = aten.add %a_f16, %b_i16 : (tensor<2xf16>, tensor<2xi16>) -> tensor<2xf16>
  %88 = aten.add %a_f16, %b_i32 : (tensor<2xf16>, tensor<2xi32>) -> tensor<2xf16>
  %89 = aten.add %a_f16, %b_i64 : (tensor<2xf16>, tensor<2xi64>) -> tensor<2xf16>
  %90 = aten.add %a_f16, %b_bf16 : (tensor<2xf16>, tensor<2xbf16>) -> tensor<2xf32>
  %91 = aten.add %a_f16, %b_f16 : (tensor<2xf16>, tensor<2xf16>) -> tensor<2xf16>
  %92 = aten.add %a_f16, %b_f32 : (tensor<2xf16>, tensor<2xf32>) -> tensor<2xf32>
  %93 = aten.add %a_f16, %b_f64 : (tensor<2xf16>, tensor<2xf64>) -> tensor<2xf64>
  %94 = aten.add %a_f16, %b_complex_f32 : (tensor<2xf16>, tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
  %95 = aten.add %a_f16, %b_complex_f64 : (tensor<2xf16>, tensor<2xcomplex<f64>>) -> tensor<2xcomplex<f64>>
  %96 = aten.add %a_f32, %b_i1 : (tensor<2xf32>, tensor<2xi1>) -> tensor<2xf32>
  %97 = aten.add %a_f32, %b_ui8 : (tensor<2xf32>, tensor<2xui8>) -> tensor<2xf32>
  %98 = aten.add %a_f32, %b_i8 : (tensor<2xf32>, tensor<2xi8>) -> tensor<2xf32>
  %99 = aten.add %a_f32, %b_i16 : (tensor<2xf32>, tensor<2xi16>) -> tensor<2xf32>
  %100 = aten.add %a_f32, %b_i32 : (tensor<2xf32>, tensor<2xi32>) -> tensor<2xf32>
  %101 = aten.add %a_f32, %b_i64 : (tensor<2xf32>, tensor<2xi64>) -> tensor<2xf32>
  %102 = aten.add %a_f32, %b_bf16 : (tensor<2xf32>, tensor<2xbf16>) -> tensor<2xf32>
  %103 = aten.add %a_f32, %b_f16 : (tensor<2xf32>, tensor<2xf16>) -> tensor<2xf32>
  %104 = aten.add %a_f32, %b_f32 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %105 = aten.add %a_f32, %b_f64 : (tensor<2xf32>, tensor<2xf64>) -> tensor<2xf64>
  %106 = aten.add %a_f32, %b_complex_f32 : (tensor<2xf32>, tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
  %107 = aten.add %a_f32, %b_complex_f64 : (tensor<2xf32>, tensor<2xcomplex<f64>>) -> tensor<2xcomplex<f64>>
  %108 = aten.add %a_f64, %b_i1 : (tensor<2xf64>, tensor<2xi1>) -> tensor<2xf64>
  %109 = aten.add %a_f64, %b_ui8 : (tensor<2xf64>, tensor<2xui8>) -> tensor<2xf64>
  %110 = aten.add %a_f64, %b_i8 : (tensor<2xf64>, tensor<2xi8>) -> tensor<2xf64>
  %111 = aten.add %a_f64, %b_i16 : (tensor<2xf64>, tensor<2xi16>) -> tensor<2xf64>
  %112 = aten.add %a_f64, %b_i32 : (tensor<2xf64>, tensor<2xi32>) -> tensor<2xf64>
  %113 = aten.add %a_f64, %b_i64 : (tensor<2xf64>, tensor<2xi64>) -> tensor<2xf64>
  %114 = aten.add %a_f64, %b_bf16 : (tensor<2xf64>, tensor<2xbf16>) -> tensor<2xf64>
  %115 = aten.add %a_f64, %b_f16 : (tensor<2xf64>, tensor<2xf16>) -> tensor<2xf64>
  %116 = aten.add %a_f64, %b_f32 : (tensor<2xf64>, tensor<2xf32>) -> tensor<2xf64>
  %117 = aten.add %a_f64, %b_f64 : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
  %118 = aten.add %a_f64, %b_complex_f32 : (tensor<2xf64>, tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f64>>
  %119 = aten.add %a_f64, %b_complex_f64 : (tensor<2xf64>, tensor<2xcomplex<f64>>) -> tensor<2xcomplex<f64>>
  %120 = aten.add %a_complex_f32, %b_i1 : (tensor<2xcomplex<f32>>, tensor<2xi1>) -> tensor<2xcomplex<f32>>
  %121 = aten.add %a_complex_f32, %b_ui8 : (tensor<2xcomplex<f32>>, tensor<2xui8>) -> tensor<2xcomplex<f32>>
  %122 = aten.add %a_complex_f32, %b_i8 : (tensor<2xcomplex<f32>>, tensor<2xi8>) -> tensor<2xcomplex<f32>>
  %123 = aten.add %a_complex_f32, %b_i16 : (tensor<2xcomplex<f32>>, tensor<2xi16>) -> tensor<2xcomplex<f32>>
  %124 = aten.add %a_complex_f32, %b_i32 : (tensor<2xcomplex<f32>>, tensor<2xi32>) -> tensor<2xcomplex<f32>>
  %125 = aten.add %a_complex_f32, %b_i64 : (tensor<2xcomplex<f32>>, tensor<2xi64>) -> tensor<2xcomplex<f32>>
  %126 = aten.add %a_complex_f32, %b_bf16 : (tensor<2xcomplex<f32>>, tensor<2xbf16>) -> tensor<2xcomplex<f32>>
  %127 = aten.add %a_complex_f32, %b_f16 : (tensor<2xcomplex<f32>>, tensor<2xf16>) -> tensor<2xcomplex<f32>>
  %128 = aten.add %a_complex_f32, %b_f32 : (tensor<2xcomplex<f32>>, tensor<2xf32>) -> tensor<2xcomplex<f32>>
  %129 = aten.add %a_complex_f32, %b_f64 : (tensor<2xcomplex<f32>>, tensor<2xf64>) -> tensor<2xcomplex<f64>>
  %130 = aten.add %a_complex_f32, %b_complex_f32 : (tensor<2xcomplex<f32>>, tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
  %131 = aten.add %a_complex_f32, %b_complex_f64 : (tensor<2xcomplex<f32>>, tensor<2xcomplex<f64>>) -> tensor<2xcomplex<f64>>
  %132 = aten.add %a_complex_f64, %b_i1 : (tensor<2xcomplex<f64>>, tensor<2xi1>) -> tensor<2xcomplex<f64>>
  %133 = aten.add %a_complex_f64, %b_ui8 : (tensor<2xcomplex<f64>>, tensor<2xui8>) -> tensor<2xcomplex<f64>>
  %134 = aten.add %a_complex_f64, %b_i8 : (tensor<2xcomplex<f64>>, tensor<2xi8>) -> tensor<2xcomplex<f64>>
  %135 = aten.add %a_complex_f64, %b_i16 : (tensor<2xcomplex<f64>>, tensor<2xi16>) -> tensor<2xcomplex<f64>>
  %136 = aten.add %a_complex_f64, %b_i32 : (tensor<2xcomplex<f64>>, tensor<2xi32>) -> tensor<2xcomplex<f64>>
  %137 = aten.add %a_complex_f64, %b_i64 : (tensor<2xcomplex<f64>>, tensor<2xi64>) -> tensor<2xcomplex<f64>>
  %138 = aten.add %a_complex_f64, %b_bf16 : (tensor<2xcomplex<f64>>, tensor<2xbf16>) -> tensor<2xcomplex<f64>>
  %139 = aten.add %a_complex_f64, %b_f16 : (tensor<2xcomplex<f64>>, tensor<2xf16>) -> tensor<2xcomplex<f64>>
  %140 = aten.add %a_complex_f64, %b_f32 : (tensor<2xcomplex<f64>>, tensor<2xf32>) -> tensor<2xcomplex<f64>>
  %141 = aten.add %a_complex_f64, %b_f64 : (tensor<2xcomplex<f64>>, tensor<2xf64>) -> tensor<2xcomplex<f64>>
  %142 = aten.add %a_complex_f64, %b_complex_f32 : (tensor<2xcomplex<f64>>, tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f64>>
  %143 = aten.add %a_complex_f64, %b_complex_f64 : (tensor<2xcomplex<f64>>, tensor<2xcomplex<f64>>) -> tensor<2xcomplex<f64>>
  return
}

// A 0-d tensor changes the dtype only when its category is higher.
// CHECK-LABEL: @second_is_scalar
func.func @second_is_scalar(
    %a_i1: tensor<2xi1>,
    %a_ui8: tensor<2xui8>,
    %a_i8: tensor<2xi8>,
    %a_i16: tensor<2xi16>,
    %a_i32: tensor<2xi32>,
    %a_i64: tensor<2xi64>,
    %a_bf16: tensor<2xbf16>,
    %a_f16: tensor<2xf16>,
    %a_f32: tensor<2xf32>,
    %a_f64: tensor<2xf64>,
    %a_complex_f32: tensor<2xcomplex<f32>>,
    %a_complex_f64: tensor<2xcomplex<f64>>,
    %b_i1: tensor<i1>,
    %b_ui8: tensor<ui8>,
    %b_i8: tensor<i8>,
    %b_i16: tensor<i16>,
    %b_i32: tensor<i32>,
    %b_i64: tensor<i64>,
    %b_bf16: tensor<bf16>,
    %b_f16: tensor<f16>,
    %b_f32: tensor<f32>,
    %b_f64: tensor<f64>,
    %b_complex_f32: tensor<complex<f32>>,
    %b_complex_f64: tensor<complex<f64>>) {
  %0 = aten.add %a_i1, %b_i1 : (tensor<2xi1>, tensor<i1>) -> tensor<2xi1>
  %1 = aten.add %a_i1, %b_ui8 : (tensor<2xi1>, tensor<ui8>) -> tensor<2xui8>
  %2 = aten.add %a_i1, %b_i8 : (tensor<2xi1>, tensor<i8>) -> tensor<2xi8>
  %3 = aten.add %a_i1, %b_i16 : (tensor<2xi1>, tensor<i16>) -> tensor<2xi16>
  %4 = aten.add %a_i1, %b_i32 : (tensor<2xi1>, tensor<i32>) -> tensor<2xi32>
  %5 = aten.add %a_i1, %b_i64 : (tensor<2xi1>, tensor<i64>) -> tensor<2xi64>
  %6 = aten.add %a_i1, %b_bf16 : (tensor<2xi1>, tensor<bf16>) -> tensor<2xbf16>
  %7 = aten.add %a_i1, %b_f16 : (tensor<2xi1>, tensor<f16>) -> tensor<2xf16>
  %8 = aten.add %a_i1, %b_f32 : (tensor<2xi1>, tensor<f32>) -> tensor<2xf32>
  %9 = aten.add %a_i1, %b_f64 : (tensor<2xi1>, tensor<f64>) -> tensor<2xf64>
  %10 = aten.add %a_i1, %b_complex_f32 : (tensor<2xi1>, tensor<complex<f32>>) -> tensor<2xcomplex<f32>>
  %11 = aten.add %a_i1, %b_complex_f64 : (tensor<2xi1>, tensor<complex<f64>>) -> tensor<2xcomplex<f64>>
  %12 = aten.add %a_ui8, %b_i1 : (tensor<2xui8>, tensor<i1>) -> tensor<2xui8>
  %13 = aten.add %a_ui8, %b_ui8 : (tensor<2xui8>, tensor<ui8>) -> tensor<2xui8>
  %14 = aten.add %a_ui8, %b_i8 : (tensor<2xui8>, tensor<i8>) -> tensor<2xui8>
  %15 = aten.add %a_ui8, %b_i16 : (tensor<2xui8>, tensor<i16>) -> tensor<2xui8>
  %16 = aten.add %a_ui8, %b_i32 : (tensor<2xui8>, tensor<i32>) -> tensor<2xui8>
  %17 = aten.add %a_ui8, %b_i64 : (tensor<2xui8>, tensor<i64>) -> tensor<2xui8>
  %18 = aten.add %a_ui8, %b_bf16 : (tensor<2xui8>, tensor<bf16>) -> tensor<2xbf16>
  %19 = aten.add %a_ui8, %b_f16 : (tensor<2xui8>, tensor<f16>) -> tensor<2xf16>
  %20 = aten.add %a_ui8, %b_f32 : (tensor<2xui8>, tensor<f32>) -> tensor<2xf32>
  %21 = aten.add %a_ui8, %b_f64 : (tensor<2xui8>, tensor<f64>) -> tensor<2xf64>
  %22 = aten.add %a_ui8, %b_complex_f32 : (tensor<2xui8>, tensor<complex<f32>>) -> tensor<2xcomplex<f32>>
  %23 = aten.add %a_ui8, %b_complex_f64 : (tensor<2xui8>, tensor<complex<f64>>) -> tensor<2xcomplex<f64>>
  %24 = aten.add %a_i8, %b_i1 : (tensor<2xi8>, tensor<i1>) -> tensor<2xi8>
  %25 = aten.add %a_i8, %b_ui8 : (tensor<2xi8>, tensor<ui8>) -> tensor<2xi8>
  %26 = aten.add %a_i8, %b_i8 : (tensor<2xi8>, tensor<i8>) -> tensor<2xi8>
  %27 = aten.add %a_i8, %b_i16 : (tensor<2xi8>, tensor<i16>) -> tensor<2xi8>
  %28 = aten.add %a_i8, %b_i32 : (tensor<2xi8>, tensor<i32>) -> tensor<2xi8>
  %29 = aten.add %a_i8, %b_i64 : (tensor<2xi8>, tensor<i64>) -> tensor<2xi8>
  %30 = aten.add %a_i8, %b_bf16 : (tensor<2xi8>, tensor<bf16>) -> tensor<2xbf16>
  %31 = aten.add %a_i8, %b_f16 : (tensor<2xi8>, tensor<f16>) -> tensor<2xf16>
  %32 = aten.add %a_i8, %b_f32 : (tensor<2xi8>, tensor<f32>) -> tensor<2xf32>
  %33 = aten.add %a_i8, %b_f64 : (tensor<2xi8>, tensor<f64>) -> tensor<2xf64>
  %34 = aten.add %a_i8, %b_complex_f32 : (tensor<2xi8>, tensor<complex<f32>>) -> tensor<2xcomplex<f32>>
  %35 = aten.add %a_i8, %b_complex_f64 : (tensor<2xi8>, tensor<complex<f64>>) -> tensor<2xcomplex<f64>>
  %36 = aten.add %a_i16, %b_i1 : (tensor<2xi16>, tensor<i1>) -> tensor<2xi16>
  %37 = aten.add %a_i16, %b_ui8 : (tensor<2xi16>, tensor<ui8>) -> tensor<2xi16>
  %38 = aten.add %a_i16, %b_i8 : (tensor<2xi16>, tensor<i8>) -> tensor<2xi16>
  %39 = aten.add %a_i16, %b_i16 : (tensor<2xi16>, tensor<i16>) -> tensor<2xi16>
  %40 = aten.add %a_i16, %b_i32 : (tensor<2xi16>, tensor<i32>) -> tensor<2xi16>
  %41 = aten.add %a_i16, %b_i64 : (tensor<2xi16>, tensor<i64>) -> tensor<2xi16>
  %42 = aten.add %a_i16, %b_bf16 : (tensor<2xi16>, tensor<bf16>) -> tensor<2xbf16>
  %43 = aten.add %a_i16, %b_f16 : (tensor<2xi16>, tensor<f16>) -> tensor<2xf16>
  %44 = aten.add %a_i16, %b_f32 : (tensor<2xi16>, tensor<f32>) -> tensor<2xf32>
  %45 = aten.add %a_i16, %b_f64 : (tensor<2xi16>, tensor<f64>) -> tensor<2xf64>
  %46 = aten.add %a_i16, %b_complex_f32 : (tensor<2xi16>, tensor<complex<f32>>) -> tensor<2xcomplex<f32>>
  %47 = aten.add %a_i16, %b_complex_f64 : (tensor<2xi16>, tensor<complex<f64>>) -> tensor<2xcomplex<f64>>
  %48 = aten.add %a_i32, %b_i1 : (tensor<2xi32>, tensor<i1>) -> tensor<2xi32>
  %49 = aten.add %a_i32, %b_ui8 : (tensor<2xi32>, tensor<ui8>) -> tensor<2xi32>
  %50 = aten.add %a_i32, %b_i8 : (tensor<2xi32>, tensor<i8>) -> tensor<2xi32>
  %51 = aten.add %a_i32, %b_i16 : (tensor<2xi32>, tensor<i16>) -> tensor<2xi32>
  %52 = aten.add %a_i32, %b_i32 : (tensor<2xi32>, tensor<i32>) -> tensor<2xi32>
  %53 = aten.add %a_i32, %b_i64 : (tensor<2xi32>, tensor<i64>) -> tensor<2xi32>
  %54 = aten.add %a_i32, %b_bf16 : (tensor<2xi32>, tensor<bf16>) -> tensor<2xbf16>
  %55 = aten.add %a_i32, %b_f16 : (tensor<2xi32>, tensor<f16>) -> tensor<2xf16>
  %56 = aten.add %a_i32, %b_f32 : (tensor<2xi32>, tensor<f32>) -> tensor<2xf32>
  %57 = aten.add %a_i32, %b_f64 : (tensor<2xi32>, tensor<f64>) -> tensor<2xf64>
  %58 = aten.add %a_i32, %b_complex_f32 : (tensor<2xi32>, tensor<complex<f32>>) -> tensor<2xcomplex<f32>>
  %59 = aten.add %a_i32, %b_complex_f64 : (tensor<2xi32>, tensor<complex<f64>>) -> tensor<2xcomplex<f64>>
  %60 = aten.add %a_i64, %b_i1 : (tensor<2xi64>, tensor<i1>) -> tensor<2xi64>
  %61 = aten.add %a_i64, %b_ui8 : (tensor<2xi64>, tensor<ui8>) -> tensor<2xi64>
  %62 = aten.add %a_i64, %b_i8 : (tensor<2xi64>, tensor<i8>) -> tensor<2xi64>
  %63 = aten.add %a_i64, %b_i16 : (tensor<2xi64>, tensor<i16>) -> tensor<2xi64>
  %64 = aten.add %a_i64, %b_i32 : (tensor<2xi64>, tensor<i32>) -> tensor<2xi64>
  %65 = aten.add %a_i64, %b_i64 : (tensor<2xi64>, tensor<i64>) -> tensor<2xi64>
  %66 = aten.add %a_i64, %b_bf16 : (tensor<2xi64>, tensor<bf16>) -> tensor<2xbf16>
  %67 = aten.add %a_i64, %b_f16 : (tensor<2xi64>, tensor<f16>) -> tensor<2xf16>
  %68 = aten.add %a_i64, %b_f32 : (tensor<2xi64>, tensor<f32>) -> tensor<2xf32>
  %69 = aten.add %a_i64, %b_f64 : (tensor<2xi64>, tensor<f64>) -> tensor<2xf64>
  %70 = aten.add %a_i64, %b_complex_f32 : (tensor<2xi64>, tensor<complex<f32>>) -> tensor<2xcomplex<f32>>
  %71 = aten.add %a_i64, %b_complex_f64 : (tensor<2xi64>, tensor<complex<f64>>) -> tensor<2xcomplex<f64>>
  %72 = aten.add %a_bf16, %b_i1 : (tensor<2xbf16>, tensor<i1>) -> tensor<2xbf16>
  %73 = aten.add %a_bf16, %b_ui8 : (tensor<2xbf16>, tensor<ui8>) -> tensor<2xbf16>
  %74 = aten.add %a_bf16, %b_i8 : (tensor<2xbf16>, tensor<i8>) -> tensor<2xbf16>
  %75 = aten.add %a_bf16, %b_i16 : (tensor<2xbf16>, tensor<i16>) -> tensor<2xbf16>
  %76 = aten.add %a_bf16, %b_i32 : (tensor<2xbf16>, tensor<i32>) -> tensor<2xbf16>
  %77 = aten.add %a_bf16, %b_i64 : (tensor<2xbf16>, tensor<i64>) -> tensor<2xbf16>
  %78 = aten.add %a_bf16, %b_bf16 : (tensor<2xbf16>, tensor<bf16>) -> tensor<2xbf16>
  %79 = aten.add %a_bf16, %b_f16 : (tensor<2xbf16>, tensor<f16>) -> tensor<2xbf16>
  %80 = aten.add %a_bf16, %b_f32 : (tensor<2xbf16>, tensor<f32>) -> tensor<2xbf16>
  %81 = aten.add %a_bf16, %b_f64 : (tensor<2xbf16>, tensor<f64>) -> tensor<2xbf16>
  %82 = aten.add %a_f16, %b_i1 : (tensor<2xf16>, tensor<i1>) -> tensor<2xf16>
  %83 = aten.add %a_f16, %b_ui8 : (tensor<2xf16>, tensor<ui8>) -> tensor<2xf16>
  %84 = aten.add %a_f16, %b_i8 : (tensor<2xf16>, tensor<i8>) -> tensor<2xf16>
  %85 = aten.add %a_f16, %b_i16 : (tensor<2xf16>, tensor<i16>) -> tensor<2xf16>
  %86 = aten.add %a_f16, %b_i32 : (tensor<2xf16>, tensor<i32>) -> tensor<2xf16>
  %87 = aten.add %a_f16, %b_i64 : (tensor<2xf16>, tensor<i64>) -> tensor<2xf16>
  %88 = aten.add %a_f16, %b_bf16 : (tensor<2xf16>, tensor<bf16>) -> tensor<2xf16>
  %89 = aten.add %a_f16, %b_f16 : (tensor<2xf16>, tensor<f16>) -> tensor<2xf16>
  %90 = aten.add %a_f16, %b_f32 : (tensor<2xf16>, tensor<f32>) -> tensor<2xf16>
  %91 = aten.add %a_f16, %b_f64 : (tensor<2xf16>, tensor<f64>) -> tensor<2xf16>
  %92 = aten.add %a_f32, %b_i1 : (tensor<2xf32>, tensor<i1>) -> tensor<2xf32>
  %93 = aten.add %a_f32, %b_ui8 : (tensor<2xf32>, tensor<ui8>) -> tensor<2xf32>
  %94 = aten.add %a_f32, %b_i8 : (tensor<2xf32>, tensor<i8>) -> tensor<2xf32>
  %95 = aten.add %a_f32, %b_i16 : (tensor<2xf32>, tensor<i16>) -> tensor<2xf32>
  %96 = aten.add %a_f32, %b_i32 : (tensor<2xf32>, tensor<i32>) -> tensor<2xf32>
  %97 = aten.add %a_f32, %b_i64 : (tensor<2xf32>, tensor<i64>) -> tensor<2xf32>
  %98 = aten.add %a_f32, %b_bf16 : (tensor<2xf32>, tensor<bf16>) -> tensor<2xf32>
  %99 = aten.add %a_f32, %b_f16 : (tensor<2xf32>, tensor<f16>) -> tensor<2xf32>
  %100 = aten.add %a_f32, %b_f32 : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  %101 = aten.add %a_f32, %b_f64 : (tensor<2xf32>, tensor<f64>) -> tensor<2xf32>
  %102 = aten.add %a_f32, %b_complex_f32 : (tensor<2xf32>, tensor<complex<f32>>) -> tensor<2xcomplex<f32>>
  %103 = aten.add %a_f32, %b_complex_f64 : (tensor<2xf32>, tensor<complex<f64>>) -> tensor<2xcomplex<f32>>
  %104 = aten.add %a_f64, %b_i1 : (tensor<2xf64>, tensor<i1>) -> tensor<2xf64>
  %105 = aten.add %a_f64, %b_ui8 : (tensor<2xf64>, tensor<ui8>) -> tensor<2xf64>
  %106 = aten.add %a_f64, %b_i8 : (tensor<2xf64>, tensor<i8>) -> tensor<2xf64>
  %107 = aten.add %a_f64, %b_i16 : (tensor<2xf64>, tensor<i16>) -> tensor<2xf64>
  %108 = aten.add %a_f64, %b_i32 : (tensor<2xf64>, tensor<i32>) -> tensor<2xf64>
  %109 = aten.add %a_f64, %b_i64 : (tensor<2xf64>, tensor<i64>) -> tensor<2xf64>
  %110 = aten.add %a_f64, %b_bf16 : (tensor<2xf64>, tensor<bf16>) -> tensor<2xf64>
  %111 = aten.add %a_f64, %b_f16 : (tensor<2xf64>, tensor<f16>) -> tensor<2xf64>
  %112 = aten.add %a_f64, %b_f32 : (tensor<2xf64>, tensor<f32>) -> tensor<2xf64>
  %113 = aten.add %a_f64, %b_f64 : (tensor<2xf64>, tensor<f64>) -> tensor<2xf64>
  %114 = aten.add %a_f64, %b_complex_f32 : (tensor<2xf64>, tensor<complex<f32>>) -> tensor<2xcomplex<f64>>
  %115 = aten.add %a_f64, %b_complex_f64 : (tensor<2xf64>, tensor<complex<f64>>) -> tensor<2xcomplex<f64>>
  %116 = aten.add %a_complex_f32, %b_i1 : (tensor<2xcomplex<f32>>, tensor<i1>) -> tensor<2xcomplex<f32>>
  %117 = aten.add %a_complex_f32, %b_ui8 : (tensor<2xcomplex<f32>>, tensor<ui8>) -> tensor<2xcomplex<f32>>
  %118 = aten.add %a_complex_f32, %b_i8 : (tensor<2xcomplex<f32>>, tensor<i8>) -> tensor<2xcomplex<f32>>
  %119 = aten.add %a_complex_f32, %b_i16 : (tensor<2xcomplex<f32>>, tensor<i16>) -> tensor<2xcomplex<f32>>
  %120 = aten.add %a_complex_f32, %b_i32 : (tensor<2xcomplex<f32>>, tensor<i32>) -> tensor<2xcomplex<f32>>
  %121 = aten.add %a_complex_f32, %b_i64 : (tensor<2xcomplex<f32>>, tensor<i64>) -> tensor<2xcomplex<f32>>
  %122 = aten.add %a_complex_f32, %b_bf16 : (tensor<2xcomplex<f32>>, tensor<bf16>) -> tensor<2xcomplex<f32>>
  %123 = aten.add %a_complex_f32, %b_f16 : (tensor<2xcomplex<f32>>, tensor<f16>) -> tensor<2xcomplex<f32>>
  %124 = aten.add %a_complex_f32, %b_f32 : (tensor<2xcomplex<f32>>, tensor<f32>) -> tensor<2xcomplex<f32>>
  %125 = aten.add %a_complex_f32, %b_f64 : (tensor<2xcomplex<f32>>, tensor<f64>) -> tensor<2xcomplex<f32>>
  %126 = aten.add %a_complex_f32, %b_complex_f32 : (tensor<2xcomplex<f32>>, tensor<complex<f32>>) -> tensor<2xcomplex<f32>>
  %127 = aten.add %a_complex_f32, %b_complex_f64 : (tensor<2xcomplex<f32>>, tensor<complex<f64>>) -> tensor<2xcomplex<f32>>
  %128 = aten.add %a_complex_f64, %b_i1 : (tensor<2xcomplex<f64>>, tensor<i1>) -> tensor<2xcomplex<f64>>
  %129 = aten.add %a_complex_f64, %b_ui8 : (tensor<2xcomplex<f64>>, tensor<ui8>) -> tensor<2xcomplex<f64>>
  %130 = aten.add %a_complex_f64, %b_i8 : (tensor<2xcomplex<f64>>, tensor<i8>) -> tensor<2xcomplex<f64>>
  %131 = aten.add %a_complex_f64, %b_i16 : (tensor<2xcomplex<f64>>, tensor<i16>) -> tensor<2xcomplex<f64>>
  %132 = aten.add %a_complex_f64, %b_i32 : (tensor<2xcomplex<f64>>, tensor<i32>) -> tensor<2xcomplex<f64>>
  %133 = aten.add %a_complex_f64, %b_i64 : (tensor<2xcomplex<f64>>, tensor<i64>) -> tensor<2xcomplex<f64>>
  %134 = aten.add %a_complex_f64, %b_bf16 : (tensor<2xcomplex<f64>>, tensor<bf16>) -> tensor<2xcomplex<f64>>
  %135 = aten.add %a_complex_f64, %b_f16 : (tensor<2xcomplex<f64>>, tensor<f16>) -> tensor<2xcomplex<f64>>
  %136 = aten.add %a_complex_f64, %b_f32 : (tensor<2xcomplex<f64>>, tensor<f32>) -> tensor<2xcomplex<f64>>
  %137 = aten.add %a_complex_f64, %b_f64 : (tensor<2xcomplex<f64>>, tensor<f64>) -> tensor<2xcomplex<f64>>
  %138 = aten.add %a_complex_f64, %b_complex_f32 : (tensor<2xcomplex<f64>>, tensor<complex<f32>>) -> tensor<2xcomplex<f64>>
  %139 = aten.add %a_complex_f64, %b_complex_f64 : (tensor<2xcomplex<f64>>, tensor<complex<f64>>) -> tensor<2xcomplex<f64>>
  return
}

// The same on the other side.
// CHECK-LABEL: @first_is_scalar
func.func @first_is_scalar(
    %a_i1: tensor<i1>,
    %a_ui8: tensor<ui8>,
    %a_i8: tensor<i8>,
    %a_i16: tensor<i16>,
    %a_i32: tensor<i32>,
    %a_i64: tensor<i64>,
    %a_bf16: tensor<bf16>,
    %a_f16: tensor<f16>,
    %a_f32: tensor<f32>,
    %a_f64: tensor<f64>,
    %a_complex_f32: tensor<complex<f32>>,
    %a_complex_f64: tensor<complex<f64>>,
    %b_i1: tensor<2xi1>,
    %b_ui8: tensor<2xui8>,
    %b_i8: tensor<2xi8>,
    %b_i16: tensor<2xi16>,
    %b_i32: tensor<2xi32>,
    %b_i64: tensor<2xi64>,
    %b_bf16: tensor<2xbf16>,
    %b_f16: tensor<2xf16>,
    %b_f32: tensor<2xf32>,
    %b_f64: tensor<2xf64>,
    %b_complex_f32: tensor<2xcomplex<f32>>,
    %b_complex_f64: tensor<2xcomplex<f64>>) {
  %0 = aten.add %a_i1, %b_i1 : (tensor<i1>, tensor<2xi1>) -> tensor<2xi1>
  %1 = aten.add %a_i1, %b_ui8 : (tensor<i1>, tensor<2xui8>) -> tensor<2xui8>
  %2 = aten.add %a_i1, %b_i8 : (tensor<i1>, tensor<2xi8>) -> tensor<2xi8>
  %3 = aten.add %a_i1, %b_i16 : (tensor<i1>, tensor<2xi16>) -> tensor<2xi16>
  %4 = aten.add %a_i1, %b_i32 : (tensor<i1>, tensor<2xi32>) -> tensor<2xi32>
  %5 = aten.add %a_i1, %b_i64 : (tensor<i1>, tensor<2xi64>) -> tensor<2xi64>
  %6 = aten.add %a_i1, %b_bf16 : (tensor<i1>, tensor<2xbf16>) -> tensor<2xbf16>
  %7 = aten.add %a_i1, %b_f16 : (tensor<i1>, tensor<2xf16>) -> tensor<2xf16>
  %8 = aten.add %a_i1, %b_f32 : (tensor<i1>, tensor<2xf32>) -> tensor<2xf32>
  %9 = aten.add %a_i1, %b_f64 : (tensor<i1>, tensor<2xf64>) -> tensor<2xf64>
  %10 = aten.add %a_i1, %b_complex_f32 : (tensor<i1>, tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
  %11 = aten.add %a_i1, %b_complex_f64 : (tensor<i1>, tensor<2xcomplex<f64>>) -> tensor<2xcomplex<f64>>
  %12 = aten.add %a_ui8, %b_i1 : (tensor<ui8>, tensor<2xi1>) -> tensor<2xui8>
  %13 = aten.add %a_ui8, %b_ui8 : (tensor<ui8>, tensor<2xui8>) -> tensor<2xui8>
  %14 = aten.add %a_ui8, %b_i8 : (tensor<ui8>, tensor<2xi8>) -> tensor<2xi8>
  %15 = aten.add %a_ui8, %b_i16 : (tensor<ui8>, tensor<2xi16>) -> tensor<2xi16>
  %16 = aten.add %a_ui8, %b_i32 : (tensor<ui8>, tensor<2xi32>) -> tensor<2xi32>
  %17 = aten.add %a_ui8, %b_i64 : (tensor<ui8>, tensor<2xi64>) -> tensor<2xi64>
  %18 = aten.add %a_ui8, %b_bf16 : (tensor<ui8>, tensor<2xbf16>) -> tensor<2xbf16>
  %19 = aten.add %a_ui8, %b_f16 : (tensor<ui8>, tensor<2xf16>) -> tensor<2xf16>
  %20 = aten.add %a_ui8, %b_f32 : (tensor<ui8>, tensor<2xf32>) -> tensor<2xf32>
  %21 = aten.add %a_ui8, %b_f64 : (tensor<ui8>, tensor<2xf64>) -> tensor<2xf64>
  %22 = aten.add %a_ui8, %b_complex_f32 : (tensor<ui8>, tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
  %23 = aten.add %a_ui8, %b_complex_f64 : (tensor<ui8>, tensor<2xcomplex<f64>>) -> tensor<2xcomplex<f64>>
  %24 = aten.add %a_i8, %b_i1 : (tensor<i8>, tensor<2xi1>) -> tensor<2xi8>
  %25 = aten.add %a_i8, %b_ui8 : (tensor<i8>, tensor<2xui8>) -> tensor<2xui8>
  %26 = aten.add %a_i8, %b_i8 : (tensor<i8>, tensor<2xi8>) -> tensor<2xi8>
  %27 = aten.add %a_i8, %b_i16 : (tensor<i8>, tensor<2xi16>) -> tensor<2xi16>
  %28 = aten.add %a_i8, %b_i32 : (tensor<i8>, tensor<2xi32>) -> tensor<2xi32>
  %29 = aten.add %a_i8, %b_i64 : (tensor<i8>, tensor<2xi64>) -> tensor<2xi64>
  %30 = aten.add %a_i8, %b_bf16 : (tensor<i8>, tensor<2xbf16>) -> tensor<2xbf16>
  %31 = aten.add %a_i8, %b_f16 : (tensor<i8>, tensor<2xf16>) -> tensor<2xf16>
  %32 = aten.add %a_i8, %b_f32 : (tensor<i8>, tensor<2xf32>) -> tensor<2xf32>
  %33 = aten.add %a_i8, %b_f64 : (tensor<i8>, tensor<2xf64>) -> tensor<2xf64>
  %34 = aten.add %a_i8, %b_complex_f32 : (tensor<i8>, tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
  %35 = aten.add %a_i8, %b_complex_f64 : (tensor<i8>, tensor<2xcomplex<f64>>) -> tensor<2xcomplex<f64>>
  %36 = aten.add %a_i16, %b_i1 : (tensor<i16>, tensor<2xi1>) -> tensor<2xi16>
  %37 = aten.add %a_i16, %b_ui8 : (tensor<i16>, tensor<2xui8>) -> tensor<2xui8>
  %38 = aten.add %a_i16, %b_i8 : (tensor<i16>, tensor<2xi8>) -> tensor<2xi8>
  %39 = aten.add %a_i16, %b_i16 : (tensor<i16>, tensor<2xi16>) -> tensor<2xi16>
  %40 = aten.add %a_i16, %b_i32 : (tensor<i16>, tensor<2xi32>) -> tensor<2xi32>
  %41 = aten.add %a_i16, %b_i64 : (tensor<i16>, tensor<2xi64>) -> tensor<2xi64>
  %42 = aten.add %a_i16, %b_bf16 : (tensor<i16>, tensor<2xbf16>) -> tensor<2xbf16>
  %43 = aten.add %a_i16, %b_f16 : (tensor<i16>, tensor<2xf16>) -> tensor<2xf16>
  %44 = aten.add %a_i16, %b_f32 : (tensor<i16>, tensor<2xf32>) -> tensor<2xf32>
  %45 = aten.add %a_i16, %b_f64 : (tensor<i16>, tensor<2xf64>) -> tensor<2xf64>
  %46 = aten.add %a_i16, %b_complex_f32 : (tensor<i16>, tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
  %47 = aten.add %a_i16, %b_complex_f64 : (tensor<i16>, tensor<2xcomplex<f64>>) -> tensor<2xcomplex<f64>>
  %48 = aten.add %a_i32, %b_i1 : (tensor<i32>, tensor<2xi1>) -> tensor<2xi32>
  %49 = aten.add %a_i32, %b_ui8 : (tensor<i32>, tensor<2xui8>) -> tensor<2xui8>
  %50 = aten.add %a_i32, %b_i8 : (tensor<i32>, tensor<2xi8>) -> tensor<2xi8>
  %51 = aten.add %a_i32, %b_i16 : (tensor<i32>, tensor<2xi16>) -> tensor<2xi16>
  %52 = aten.add %a_i32, %b_i32 : (tensor<i32>, tensor<2xi32>) -> tensor<2xi32>
  %53 = aten.add %a_i32, %b_i64 : (tensor<i32>, tensor<2xi64>) -> tensor<2xi64>
  %54 = aten.add %a_i32, %b_bf16 : (tensor<i32>, tensor<2xbf16>) -> tensor<2xbf16>
  %55 = aten.add %a_i32, %b_f16 : (tensor<i32>, tensor<2xf16>) -> tensor<2xf16>
  %56 = aten.add %a_i32, %b_f32 : (tensor<i32>, tensor<2xf32>) -> tensor<2xf32>
  %57 = aten.add %a_i32, %b_f64 : (tensor<i32>, tensor<2xf64>) -> tensor<2xf64>
  %58 = aten.add %a_i32, %b_complex_f32 : (tensor<i32>, tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
  %59 = aten.add %a_i32, %b_complex_f64 : (tensor<i32>, tensor<2xcomplex<f64>>) -> tensor<2xcomplex<f64>>
  %60 = aten.add %a_i64, %b_i1 : (tensor<i64>, tensor<2xi1>) -> tensor<2xi64>
  %61 = aten.add %a_i64, %b_ui8 : (tensor<i64>, tensor<2xui8>) -> tensor<2xui8>
  %62 = aten.add %a_i64, %b_i8 : (tensor<i64>, tensor<2xi8>) -> tensor<2xi8>
  %63 = aten.add %a_i64, %b_i16 : (tensor<i64>, tensor<2xi16>) -> tensor<2xi16>
  %64 = aten.add %a_i64, %b_i32 : (tensor<i64>, tensor<2xi32>) -> tensor<2xi32>
  %65 = aten.add %a_i64, %b_i64 : (tensor<i64>, tensor<2xi64>) -> tensor<2xi64>
  %66 = aten.add %a_i64, %b_bf16 : (tensor<i64>, tensor<2xbf16>) -> tensor<2xbf16>
  %67 = aten.add %a_i64, %b_f16 : (tensor<i64>, tensor<2xf16>) -> tensor<2xf16>
  %68 = aten.add %a_i64, %b_f32 : (tensor<i64>, tensor<2xf32>) -> tensor<2xf32>
  %69 = aten.add %a_i64, %b_f64 : (tensor<i64>, tensor<2xf64>) -> tensor<2xf64>
  %70 = aten.add %a_i64, %b_complex_f32 : (tensor<i64>, tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
  %71 = aten.add %a_i64, %b_complex_f64 : (tensor<i64>, tensor<2xcomplex<f64>>) -> tensor<2xcomplex<f64>>
  %72 = aten.add %a_bf16, %b_i1 : (tensor<bf16>, tensor<2xi1>) -> tensor<2xbf16>
  %73 = aten.add %a_bf16, %b_ui8 : (tensor<bf16>, tensor<2xui8>) -> tensor<2xbf16>
  %74 = aten.add %a_bf16, %b_i8 : (tensor<bf16>, tensor<2xi8>) -> tensor<2xbf16>
  %75 = aten.add %a_bf16, %b_i16 : (tensor<bf16>, tensor<2xi16>) -> tensor<2xbf16>
  %76 = aten.add %a_bf16, %b_i32 : (tensor<bf16>, tensor<2xi32>) -> tensor<2xbf16>
  %77 = aten.add %a_bf16, %b_i64 : (tensor<bf16>, tensor<2xi64>) -> tensor<2xbf16>
  %78 = aten.add %a_bf16, %b_bf16 : (tensor<bf16>, tensor<2xbf16>) -> tensor<2xbf16>
  %79 = aten.add %a_bf16, %b_f16 : (tensor<bf16>, tensor<2xf16>) -> tensor<2xf16>
  %80 = aten.add %a_bf16, %b_f32 : (tensor<bf16>, tensor<2xf32>) -> tensor<2xf32>
  %81 = aten.add %a_bf16, %b_f64 : (tensor<bf16>, tensor<2xf64>) -> tensor<2xf64>
  %82 = aten.add %a_bf16, %b_complex_f32 : (tensor<bf16>, tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
  %83 = aten.add %a_bf16, %b_complex_f64 : (tensor<bf16>, tensor<2xcomplex<f64>>) -> tensor<2xcomplex<f64>>
  %84 = aten.add %a_f16, %b_i1 : (tensor<f16>, tensor<2xi1>) -> tensor<2xf16>
  %85 = aten.add %a_f16, %b_ui8 : (tensor<f16>, tensor<2xui8>) -> tensor<2xf16>
  %86 = aten.add %a_f16, %b_i8 : (tensor<f16>, tensor<2xi8>) -> tensor<2xf16>
  %87 = aten.add %a_f16, %b_i16 : (tensor<f16>, tensor<2xi16>) -> tensor<2xf16>
  %88 = aten.add %a_f16, %b_i32 : (tensor<f16>, tensor<2xi32>) -> tensor<2xf16>
  %89 = aten.add %a_f16, %b_i64 : (tensor<f16>, tensor<2xi64>) -> tensor<2xf16>
  %90 = aten.add %a_f16, %b_bf16 : (tensor<f16>, tensor<2xbf16>) -> tensor<2xbf16>
  %91 = aten.add %a_f16, %b_f16 : (tensor<f16>, tensor<2xf16>) -> tensor<2xf16>
  %92 = aten.add %a_f16, %b_f32 : (tensor<f16>, tensor<2xf32>) -> tensor<2xf32>
  %93 = aten.add %a_f16, %b_f64 : (tensor<f16>, tensor<2xf64>) -> tensor<2xf64>
  %94 = aten.add %a_f16, %b_complex_f32 : (tensor<f16>, tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
  %95 = aten.add %a_f16, %b_complex_f64 : (tensor<f16>, tensor<2xcomplex<f64>>) -> tensor<2xcomplex<f64>>
  %96 = aten.add %a_f32, %b_i1 : (tensor<f32>, tensor<2xi1>) -> tensor<2xf32>
  %97 = aten.add %a_f32, %b_ui8 : (tensor<f32>, tensor<2xui8>) -> tensor<2xf32>
  %98 = aten.add %a_f32, %b_i8 : (tensor<f32>, tensor<2xi8>) -> tensor<2xf32>
  %99 = aten.add %a_f32, %b_i16 : (tensor<f32>, tensor<2xi16>) -> tensor<2xf32>
  %100 = aten.add %a_f32, %b_i32 : (tensor<f32>, tensor<2xi32>) -> tensor<2xf32>
  %101 = aten.add %a_f32, %b_i64 : (tensor<f32>, tensor<2xi64>) -> tensor<2xf32>
  %102 = aten.add %a_f32, %b_bf16 : (tensor<f32>, tensor<2xbf16>) -> tensor<2xbf16>
  %103 = aten.add %a_f32, %b_f16 : (tensor<f32>, tensor<2xf16>) -> tensor<2xf16>
  %104 = aten.add %a_f32, %b_f32 : (tensor<f32>, tensor<2xf32>) -> tensor<2xf32>
  %105 = aten.add %a_f32, %b_f64 : (tensor<f32>, tensor<2xf64>) -> tensor<2xf64>
  %106 = aten.add %a_f32, %b_complex_f32 : (tensor<f32>, tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
  %107 = aten.add %a_f32, %b_complex_f64 : (tensor<f32>, tensor<2xcomplex<f64>>) -> tensor<2xcomplex<f64>>
  %108 = aten.add %a_f64, %b_i1 : (tensor<f64>, tensor<2xi1>) -> tensor<2xf64>
  %109 = aten.add %a_f64, %b_ui8 : (tensor<f64>, tensor<2xui8>) -> tensor<2xf64>
  %110 = aten.add %a_f64, %b_i8 : (tensor<f64>, tensor<2xi8>) -> tensor<2xf64>
  %111 = aten.add %a_f64, %b_i16 : (tensor<f64>, tensor<2xi16>) -> tensor<2xf64>
  %112 = aten.add %a_f64, %b_i32 : (tensor<f64>, tensor<2xi32>) -> tensor<2xf64>
  %113 = aten.add %a_f64, %b_i64 : (tensor<f64>, tensor<2xi64>) -> tensor<2xf64>
  %114 = aten.add %a_f64, %b_bf16 : (tensor<f64>, tensor<2xbf16>) -> tensor<2xbf16>
  %115 = aten.add %a_f64, %b_f16 : (tensor<f64>, tensor<2xf16>) -> tensor<2xf16>
  %116 = aten.add %a_f64, %b_f32 : (tensor<f64>, tensor<2xf32>) -> tensor<2xf32>
  %117 = aten.add %a_f64, %b_f64 : (tensor<f64>, tensor<2xf64>) -> tensor<2xf64>
  %118 = aten.add %a_f64, %b_complex_f32 : (tensor<f64>, tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
  %119 = aten.add %a_f64, %b_complex_f64 : (tensor<f64>, tensor<2xcomplex<f64>>) -> tensor<2xcomplex<f64>>
  %120 = aten.add %a_complex_f32, %b_i1 : (tensor<complex<f32>>, tensor<2xi1>) -> tensor<2xcomplex<f32>>
  %121 = aten.add %a_complex_f32, %b_ui8 : (tensor<complex<f32>>, tensor<2xui8>) -> tensor<2xcomplex<f32>>
  %122 = aten.add %a_complex_f32, %b_i8 : (tensor<complex<f32>>, tensor<2xi8>) -> tensor<2xcomplex<f32>>
  %123 = aten.add %a_complex_f32, %b_i16 : (tensor<complex<f32>>, tensor<2xi16>) -> tensor<2xcomplex<f32>>
  %124 = aten.add %a_complex_f32, %b_i32 : (tensor<complex<f32>>, tensor<2xi32>) -> tensor<2xcomplex<f32>>
  %125 = aten.add %a_complex_f32, %b_i64 : (tensor<complex<f32>>, tensor<2xi64>) -> tensor<2xcomplex<f32>>
  %126 = aten.add %a_complex_f32, %b_f32 : (tensor<complex<f32>>, tensor<2xf32>) -> tensor<2xcomplex<f32>>
  %127 = aten.add %a_complex_f32, %b_f64 : (tensor<complex<f32>>, tensor<2xf64>) -> tensor<2xcomplex<f64>>
  %128 = aten.add %a_complex_f32, %b_complex_f32 : (tensor<complex<f32>>, tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
  %129 = aten.add %a_complex_f32, %b_complex_f64 : (tensor<complex<f32>>, tensor<2xcomplex<f64>>) -> tensor<2xcomplex<f64>>
  %130 = aten.add %a_complex_f64, %b_i1 : (tensor<complex<f64>>, tensor<2xi1>) -> tensor<2xcomplex<f64>>
  %131 = aten.add %a_complex_f64, %b_ui8 : (tensor<complex<f64>>, tensor<2xui8>) -> tensor<2xcomplex<f64>>
  %132 = aten.add %a_complex_f64, %b_i8 : (tensor<complex<f64>>, tensor<2xi8>) -> tensor<2xcomplex<f64>>
  %133 = aten.add %a_complex_f64, %b_i16 : (tensor<complex<f64>>, tensor<2xi16>) -> tensor<2xcomplex<f64>>
  %134 = aten.add %a_complex_f64, %b_i32 : (tensor<complex<f64>>, tensor<2xi32>) -> tensor<2xcomplex<f64>>
  %135 = aten.add %a_complex_f64, %b_i64 : (tensor<complex<f64>>, tensor<2xi64>) -> tensor<2xcomplex<f64>>
  %136 = aten.add %a_complex_f64, %b_f32 : (tensor<complex<f64>>, tensor<2xf32>) -> tensor<2xcomplex<f32>>
  %137 = aten.add %a_complex_f64, %b_f64 : (tensor<complex<f64>>, tensor<2xf64>) -> tensor<2xcomplex<f64>>
  %138 = aten.add %a_complex_f64, %b_complex_f32 : (tensor<complex<f64>>, tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
  %139 = aten.add %a_complex_f64, %b_complex_f64 : (tensor<complex<f64>>, tensor<2xcomplex<f64>>) -> tensor<2xcomplex<f64>>
  return
}

// Two 0-d tensors promote as tensors do.
// CHECK-LABEL: @both_are_scalars
func.func @both_are_scalars(
    %a_i1: tensor<i1>,
    %a_ui8: tensor<ui8>,
    %a_i8: tensor<i8>,
    %a_i16: tensor<i16>,
    %a_i32: tensor<i32>,
    %a_i64: tensor<i64>,
    %a_bf16: tensor<bf16>,
    %a_f16: tensor<f16>,
    %a_f32: tensor<f32>,
    %a_f64: tensor<f64>,
    %a_complex_f32: tensor<complex<f32>>,
    %a_complex_f64: tensor<complex<f64>>,
    %b_i1: tensor<i1>,
    %b_ui8: tensor<ui8>,
    %b_i8: tensor<i8>,
    %b_i16: tensor<i16>,
    %b_i32: tensor<i32>,
    %b_i64: tensor<i64>,
    %b_bf16: tensor<bf16>,
    %b_f16: tensor<f16>,
    %b_f32: tensor<f32>,
    %b_f64: tensor<f64>,
    %b_complex_f32: tensor<complex<f32>>,
    %b_complex_f64: tensor<complex<f64>>) {
  %0 = aten.add %a_i1, %b_i1 : (tensor<i1>, tensor<i1>) -> tensor<i1>
  %1 = aten.add %a_i1, %b_ui8 : (tensor<i1>, tensor<ui8>) -> tensor<ui8>
  %2 = aten.add %a_i1, %b_i8 : (tensor<i1>, tensor<i8>) -> tensor<i8>
  %3 = aten.add %a_i1, %b_i16 : (tensor<i1>, tensor<i16>) -> tensor<i16>
  %4 = aten.add %a_i1, %b_i32 : (tensor<i1>, tensor<i32>) -> tensor<i32>
  %5 = aten.add %a_i1, %b_i64 : (tensor<i1>, tensor<i64>) -> tensor<i64>
  %6 = aten.add %a_i1, %b_bf16 : (tensor<i1>, tensor<bf16>) -> tensor<bf16>
  %7 = aten.add %a_i1, %b_f16 : (tensor<i1>, tensor<f16>) -> tensor<f16>
  %8 = aten.add %a_i1, %b_f32 : (tensor<i1>, tensor<f32>) -> tensor<f32>
  %9 = aten.add %a_i1, %b_f64 : (tensor<i1>, tensor<f64>) -> tensor<f64>
  %10 = aten.add %a_i1, %b_complex_f32 : (tensor<i1>, tensor<complex<f32>>) -> tensor<complex<f32>>
  %11 = aten.add %a_i1, %b_complex_f64 : (tensor<i1>, tensor<complex<f64>>) -> tensor<complex<f64>>
  %12 = aten.add %a_ui8, %b_i1 : (tensor<ui8>, tensor<i1>) -> tensor<ui8>
  %13 = aten.add %a_ui8, %b_ui8 : (tensor<ui8>, tensor<ui8>) -> tensor<ui8>
  %14 = aten.add %a_ui8, %b_i8 : (tensor<ui8>, tensor<i8>) -> tensor<i16>
  %15 = aten.add %a_ui8, %b_i16 : (tensor<ui8>, tensor<i16>) -> tensor<i16>
  %16 = aten.add %a_ui8, %b_i32 : (tensor<ui8>, tensor<i32>) -> tensor<i32>
  %17 = aten.add %a_ui8, %b_i64 : (tensor<ui8>, tensor<i64>) -> tensor<i64>
  %18 = aten.add %a_ui8, %b_bf16 : (tensor<ui8>, tensor<bf16>) -> tensor<bf16>
  %19 = aten.add %a_ui8, %b_f16 : (tensor<ui8>, tensor<f16>) -> tensor<f16>
  %20 = aten.add %a_ui8, %b_f32 : (tensor<ui8>, tensor<f32>) -> tensor<f32>
  %21 = aten.add %a_ui8, %b_f64 : (tensor<ui8>, tensor<f64>) -> tensor<f64>
  %22 = aten.add %a_ui8, %b_complex_f32 : (tensor<ui8>, tensor<complex<f32>>) -> tensor<complex<f32>>
  %23 = aten.add %a_ui8, %b_complex_f64 : (tensor<ui8>, tensor<complex<f64>>) -> tensor<complex<f64>>
  %24 = aten.add %a_i8, %b_i1 : (tensor<i8>, tensor<i1>) -> tensor<i8>
  %25 = aten.add %a_i8, %b_ui8 : (tensor<i8>, tensor<ui8>) -> tensor<i16>
  %26 = aten.add %a_i8, %b_i8 : (tensor<i8>, tensor<i8>) -> tensor<i8>
  %27 = aten.add %a_i8, %b_i16 : (tensor<i8>, tensor<i16>) -> tensor<i16>
  %28 = aten.add %a_i8, %b_i32 : (tensor<i8>, tensor<i32>) -> tensor<i32>
  %29 = aten.add %a_i8, %b_i64 : (tensor<i8>, tensor<i64>) -> tensor<i64>
  %30 = aten.add %a_i8, %b_bf16 : (tensor<i8>, tensor<bf16>) -> tensor<bf16>
  %31 = aten.add %a_i8, %b_f16 : (tensor<i8>, tensor<f16>) -> tensor<f16>
  %32 = aten.add %a_i8, %b_f32 : (tensor<i8>, tensor<f32>) -> tensor<f32>
  %33 = aten.add %a_i8, %b_f64 : (tensor<i8>, tensor<f64>) -> tensor<f64>
  %34 = aten.add %a_i8, %b_complex_f32 : (tensor<i8>, tensor<complex<f32>>) -> tensor<complex<f32>>
  %35 = aten.add %a_i8, %b_complex_f64 : (tensor<i8>, tensor<complex<f64>>) -> tensor<complex<f64>>
  %36 = aten.add %a_i16, %b_i1 : (tensor<i16>, tensor<i1>) -> tensor<i16>
  %37 = aten.add %a_i16, %b_ui8 : (tensor<i16>, tensor<ui8>) -> tensor<i16>
  %38 = aten.add %a_i16, %b_i8 : (tensor<i16>, tensor<i8>) -> tensor<i16>
  %39 = aten.add %a_i16, %b_i16 : (tensor<i16>, tensor<i16>) -> tensor<i16>
  %40 = aten.add %a_i16, %b_i32 : (tensor<i16>, tensor<i32>) -> tensor<i32>
  %41 = aten.add %a_i16, %b_i64 : (tensor<i16>, tensor<i64>) -> tensor<i64>
  %42 = aten.add %a_i16, %b_bf16 : (tensor<i16>, tensor<bf16>) -> tensor<bf16>
  %43 = aten.add %a_i16, %b_f16 : (tensor<i16>, tensor<f16>) -> tensor<f16>
  %44 = aten.add %a_i16, %b_f32 : (tensor<i16>, tensor<f32>) -> tensor<f32>
  %45 = aten.add %a_i16, %b_f64 : (tensor<i16>, tensor<f64>) -> tensor<f64>
  %46 = aten.add %a_i16, %b_complex_f32 : (tensor<i16>, tensor<complex<f32>>) -> tensor<complex<f32>>
  %47 = aten.add %a_i16, %b_complex_f64 : (tensor<i16>, tensor<complex<f64>>) -> tensor<complex<f64>>
  %48 = aten.add %a_i32, %b_i1 : (tensor<i32>, tensor<i1>) -> tensor<i32>
  %49 = aten.add %a_i32, %b_ui8 : (tensor<i32>, tensor<ui8>) -> tensor<i32>
  %50 = aten.add %a_i32, %b_i8 : (tensor<i32>, tensor<i8>) -> tensor<i32>
  %51 = aten.add %a_i32, %b_i16 : (tensor<i32>, tensor<i16>) -> tensor<i32>
  %52 = aten.add %a_i32, %b_i32 : (tensor<i32>, tensor<i32>) -> tensor<i32>
  %53 = aten.add %a_i32, %b_i64 : (tensor<i32>, tensor<i64>) -> tensor<i64>
  %54 = aten.add %a_i32, %b_bf16 : (tensor<i32>, tensor<bf16>) -> tensor<bf16>
  %55 = aten.add %a_i32, %b_f16 : (tensor<i32>, tensor<f16>) -> tensor<f16>
  %56 = aten.add %a_i32, %b_f32 : (tensor<i32>, tensor<f32>) -> tensor<f32>
  %57 = aten.add %a_i32, %b_f64 : (tensor<i32>, tensor<f64>) -> tensor<f64>
  %58 = aten.add %a_i32, %b_complex_f32 : (tensor<i32>, tensor<complex<f32>>) -> tensor<complex<f32>>
  %59 = aten.add %a_i32, %b_complex_f64 : (tensor<i32>, tensor<complex<f64>>) -> tensor<complex<f64>>
  %60 = aten.add %a_i64, %b_i1 : (tensor<i64>, tensor<i1>) -> tensor<i64>
  %61 = aten.add %a_i64, %b_ui8 : (tensor<i64>, tensor<ui8>) -> tensor<i64>
  %62 = aten.add %a_i64, %b_i8 : (tensor<i64>, tensor<i8>) -> tensor<i64>
  %63 = aten.add %a_i64, %b_i16 : (tensor<i64>, tensor<i16>) -> tensor<i64>
  %64 = aten.add %a_i64, %b_i32 : (tensor<i64>, tensor<i32>) -> tensor<i64>
  %65 = aten.add %a_i64, %b_i64 : (tensor<i64>, tensor<i64>) -> tensor<i64>
  %66 = aten.add %a_i64, %b_bf16 : (tensor<i64>, tensor<bf16>) -> tensor<bf16>
  %67 = aten.add %a_i64, %b_f16 : (tensor<i64>, tensor<f16>) -> tensor<f16>
  %68 = aten.add %a_i64, %b_f32 : (tensor<i64>, tensor<f32>) -> tensor<f32>
  %69 = aten.add %a_i64, %b_f64 : (tensor<i64>, tensor<f64>) -> tensor<f64>
  %70 = aten.add %a_i64, %b_complex_f32 : (tensor<i64>, tensor<complex<f32>>) -> tensor<complex<f32>>
  %71 = aten.add %a_i64, %b_complex_f64 : (tensor<i64>, tensor<complex<f64>>) -> tensor<complex<f64>>
  %72 = aten.add %a_bf16, %b_i1 : (tensor<bf16>, tensor<i1>) -> tensor<bf16>
  %73 = aten.add %a_bf16, %b_ui8 : (tensor<bf16>, tensor<ui8>) -> tensor<bf16>
  %74 = aten.add %a_bf16, %b_i8 : (tensor<bf16>, tensor<i8>) -> tensor<bf16>
  %75 = aten.add %a_bf16, %b_i16 : (tensor<bf16>, tensor<i16>) -> tensor<bf16>
  %76 = aten.add %a_bf16, %b_i32 : (tensor<bf16>, tensor<i32>) -> tensor<bf16>
  %77 = aten.add %a_bf16, %b_i64 : (tensor<bf16>, tensor<i64>) -> tensor<bf16>
  %78 = aten.add %a_bf16, %b_bf16 : (tensor<bf16>, tensor<bf16>) -> tensor<bf16>
  %79 = aten.add %a_bf16, %b_f16 : (tensor<bf16>, tensor<f16>) -> tensor<f32>
  %80 = aten.add %a_bf16, %b_f32 : (tensor<bf16>, tensor<f32>) -> tensor<f32>
  %81 = aten.add %a_bf16, %b_f64 : (tensor<bf16>, tensor<f64>) -> tensor<f64>
  %82 = aten.add %a_bf16, %b_complex_f32 : (tensor<bf16>, tensor<complex<f32>>) -> tensor<complex<f32>>
  %83 = aten.add %a_bf16, %b_complex_f64 : (tensor<bf16>, tensor<complex<f64>>) -> tensor<complex<f64>>
  %84 = aten.add %a_f16, %b_i1 : (tensor<f16>, tensor<i1>) -> tensor<f16>
  %85 = aten.add %a_f16, %b_ui8 : (tensor<f16>, tensor<ui8>) -> tensor<f16>
  %86 = aten.add %a_f16, %b_i8 : (tensor<f16>, tensor<i8>) -> tensor<f16>
  %87 = aten.add %a_f16, %b_i16 : (tensor<f16>, tensor<i16>) -> tensor<f16>
  %88 = aten.add %a_f16, %b_i32 : (tensor<f16>, tensor<i32>) -> tensor<f16>
  %89 = aten.add %a_f16, %b_i64 : (tensor<f16>, tensor<i64>) -> tensor<f16>
  %90 = aten.add %a_f16, %b_bf16 : (tensor<f16>, tensor<bf16>) -> tensor<f32>
  %91 = aten.add %a_f16, %b_f16 : (tensor<f16>, tensor<f16>) -> tensor<f16>
  %92 = aten.add %a_f16, %b_f32 : (tensor<f16>, tensor<f32>) -> tensor<f32>
  %93 = aten.add %a_f16, %b_f64 : (tensor<f16>, tensor<f64>) -> tensor<f64>
  %94 = aten.add %a_f16, %b_complex_f32 : (tensor<f16>, tensor<complex<f32>>) -> tensor<complex<f32>>
  %95 = aten.add %a_f16, %b_complex_f64 : (tensor<f16>, tensor<complex<f64>>) -> tensor<complex<f64>>
  %96 = aten.add %a_f32, %b_i1 : (tensor<f32>, tensor<i1>) -> tensor<f32>
  %97 = aten.add %a_f32, %b_ui8 : (tensor<f32>, tensor<ui8>) -> tensor<f32>
  %98 = aten.add %a_f32, %b_i8 : (tensor<f32>, tensor<i8>) -> tensor<f32>
  %99 = aten.add %a_f32, %b_i16 : (tensor<f32>, tensor<i16>) -> tensor<f32>
  %100 = aten.add %a_f32, %b_i32 : (tensor<f32>, tensor<i32>) -> tensor<f32>
  %101 = aten.add %a_f32, %b_i64 : (tensor<f32>, tensor<i64>) -> tensor<f32>
  %102 = aten.add %a_f32, %b_bf16 : (tensor<f32>, tensor<bf16>) -> tensor<f32>
  %103 = aten.add %a_f32, %b_f16 : (tensor<f32>, tensor<f16>) -> tensor<f32>
  %104 = aten.add %a_f32, %b_f32 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %105 = aten.add %a_f32, %b_f64 : (tensor<f32>, tensor<f64>) -> tensor<f64>
  %106 = aten.add %a_f32, %b_complex_f32 : (tensor<f32>, tensor<complex<f32>>) -> tensor<complex<f32>>
  %107 = aten.add %a_f32, %b_complex_f64 : (tensor<f32>, tensor<complex<f64>>) -> tensor<complex<f64>>
  %108 = aten.add %a_f64, %b_i1 : (tensor<f64>, tensor<i1>) -> tensor<f64>
  %109 = aten.add %a_f64, %b_ui8 : (tensor<f64>, tensor<ui8>) -> tensor<f64>
  %110 = aten.add %a_f64, %b_i8 : (tensor<f64>, tensor<i8>) -> tensor<f64>
  %111 = aten.add %a_f64, %b_i16 : (tensor<f64>, tensor<i16>) -> tensor<f64>
  %112 = aten.add %a_f64, %b_i32 : (tensor<f64>, tensor<i32>) -> tensor<f64>
  %113 = aten.add %a_f64, %b_i64 : (tensor<f64>, tensor<i64>) -> tensor<f64>
  %114 = aten.add %a_f64, %b_bf16 : (tensor<f64>, tensor<bf16>) -> tensor<f64>
  %115 = aten.add %a_f64, %b_f16 : (tensor<f64>, tensor<f16>) -> tensor<f64>
  %116 = aten.add %a_f64, %b_f32 : (tensor<f64>, tensor<f32>) -> tensor<f64>
  %117 = aten.add %a_f64, %b_f64 : (tensor<f64>, tensor<f64>) -> tensor<f64>
  %118 = aten.add %a_f64, %b_complex_f32 : (tensor<f64>, tensor<complex<f32>>) -> tensor<complex<f64>>
  %119 = aten.add %a_f64, %b_complex_f64 : (tensor<f64>, tensor<complex<f64>>) -> tensor<complex<f64>>
  %120 = aten.add %a_complex_f32, %b_i1 : (tensor<complex<f32>>, tensor<i1>) -> tensor<complex<f32>>
  %121 = aten.add %a_complex_f32, %b_ui8 : (tensor<complex<f32>>, tensor<ui8>) -> tensor<complex<f32>>
  %122 = aten.add %a_complex_f32, %b_i8 : (tensor<complex<f32>>, tensor<i8>) -> tensor<complex<f32>>
  %123 = aten.add %a_complex_f32, %b_i16 : (tensor<complex<f32>>, tensor<i16>) -> tensor<complex<f32>>
  %124 = aten.add %a_complex_f32, %b_i32 : (tensor<complex<f32>>, tensor<i32>) -> tensor<complex<f32>>
  %125 = aten.add %a_complex_f32, %b_i64 : (tensor<complex<f32>>, tensor<i64>) -> tensor<complex<f32>>
  %126 = aten.add %a_complex_f32, %b_bf16 : (tensor<complex<f32>>, tensor<bf16>) -> tensor<complex<f32>>
  %127 = aten.add %a_complex_f32, %b_f16 : (tensor<complex<f32>>, tensor<f16>) -> tensor<complex<f32>>
  %128 = aten.add %a_complex_f32, %b_f32 : (tensor<complex<f32>>, tensor<f32>) -> tensor<complex<f32>>
  %129 = aten.add %a_complex_f32, %b_f64 : (tensor<complex<f32>>, tensor<f64>) -> tensor<complex<f64>>
  %130 = aten.add %a_complex_f32, %b_complex_f32 : (tensor<complex<f32>>, tensor<complex<f32>>) -> tensor<complex<f32>>
  %131 = aten.add %a_complex_f32, %b_complex_f64 : (tensor<complex<f32>>, tensor<complex<f64>>) -> tensor<complex<f64>>
  %132 = aten.add %a_complex_f64, %b_i1 : (tensor<complex<f64>>, tensor<i1>) -> tensor<complex<f64>>
  %133 = aten.add %a_complex_f64, %b_ui8 : (tensor<complex<f64>>, tensor<ui8>) -> tensor<complex<f64>>
  %134 = aten.add %a_complex_f64, %b_i8 : (tensor<complex<f64>>, tensor<i8>) -> tensor<complex<f64>>
  %135 = aten.add %a_complex_f64, %b_i16 : (tensor<complex<f64>>, tensor<i16>) -> tensor<complex<f64>>
  %136 = aten.add %a_complex_f64, %b_i32 : (tensor<complex<f64>>, tensor<i32>) -> tensor<complex<f64>>
  %137 = aten.add %a_complex_f64, %b_i64 : (tensor<complex<f64>>, tensor<i64>) -> tensor<complex<f64>>
  %138 = aten.add %a_complex_f64, %b_bf16 : (tensor<complex<f64>>, tensor<bf16>) -> tensor<complex<f64>>
  %139 = aten.add %a_complex_f64, %b_f16 : (tensor<complex<f64>>, tensor<f16>) -> tensor<complex<f64>>
  %140 = aten.add %a_complex_f64, %b_f32 : (tensor<complex<f64>>, tensor<f32>) -> tensor<complex<f64>>
  %141 = aten.add %a_complex_f64, %b_f64 : (tensor<complex<f64>>, tensor<f64>) -> tensor<complex<f64>>
  %142 = aten.add %a_complex_f64, %b_complex_f32 : (tensor<complex<f64>>, tensor<complex<f32>>) -> tensor<complex<f64>>
  %143 = aten.add %a_complex_f64, %b_complex_f64 : (tensor<complex<f64>>, tensor<complex<f64>>) -> tensor<complex<f64>>
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
