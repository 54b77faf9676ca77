// RUN: shardc-opt %s --split-input-file --shardc-differentiate | FileCheck %s

// A^-T gX for the right-hand side, and of -gB X^T the half that is read.
// CHECK-LABEL: module @triangular
//       CHECK:   @step(%[[B:.*]]: tensor<3x2xf32>)
//       CHECK:     %[[A:.*]] = fsdp.view
//       CHECK:     %[[X:.*]] = aten.linalg_solve_triangular %[[A]], %[[B]] {upper = true}
//       CHECK:     fsdp.begin backward
//       CHECK:     %[[D_X:.*]] = aten.expand {{.*}} -> tensor<3x2xf32>
//  CHECK-NEXT:     %[[A_T:.*]] = aten.permute %[[A]] [1, 0]
//  CHECK-NEXT:     %[[D_B:.*]] = aten.linalg_solve_triangular %[[A_T]], %[[D_X]] {upper = false}
//  CHECK-NEXT:     %[[X_T:.*]] = aten.permute %[[X]] [1, 0]
//  CHECK-NEXT:     %[[ALL:.*]] = aten.matmul %[[D_B]], %[[X_T]]
//  CHECK-NEXT:     %[[MINUS:.*]] = aten.mul.Scalar %[[ALL]], -1
//       CHECK:     %[[IS_UPPER:.*]] = aten.ge
//       CHECK:     %[[D_A:.*]] = aten.where %[[IS_UPPER]], %[[MINUS]]
//       CHECK:     fsdp.reduce_scatter @root [@a](%[[D_A]])
module @triangular {
  fsdp.parameter @a : tensor<3x3xf32>
  fsdp.mesh @mesh <shard = 2>
  fsdp.group @root on @mesh policy <param = f32, reduce = f32> reshard default {
    fsdp.segment f32 reduce f32 elements 64 shard 32 {
      fsdp.member @a at 0
    }
  }
  func.func @step(%b: tensor<3x2xf32>) {
    fsdp.begin forward
    %root = fsdp.unshard @root : !fsdp.unsharded<@root>
    %a = fsdp.view %root[@a] : !fsdp.unsharded<@root> -> tensor<3x3xf32>
    %x = aten.linalg_solve_triangular %a, %b {upper = true} : (tensor<3x3xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
    %loss = aten.sum %x [0, 1] : (tensor<3x2xf32>) -> tensor<f32>
    fsdp.record_loss %loss : tensor<f32>
    return
  }
}

// -----

// Where only the eigenvalues are used nothing is divided by their differences.
// CHECK-LABEL: module @eigenvalues
//       CHECK:     %{{.*}}, %[[V:.*]] = aten.linalg_eigh
//       CHECK:     fsdp.begin backward
//   CHECK-NOT:     aten.div
//       CHECK:     %[[SCALED:.*]] = aten.mul %[[V]],
//  CHECK-NEXT:     %[[V_T:.*]] = aten.permute %[[V]] [1, 0]
//  CHECK-NEXT:     aten.matmul %[[SCALED]], %[[V_T]]
module @eigenvalues {
  fsdp.parameter @a : tensor<3x3xf32>
  fsdp.mesh @mesh <shard = 2>
  fsdp.group @root on @mesh policy <param = f32, reduce = f32> reshard default {
    fsdp.segment f32 reduce f32 elements 64 shard 32 {
      fsdp.member @a at 0
    }
  }
  func.func @step() {
    fsdp.begin forward
    %root = fsdp.unshard @root : !fsdp.unsharded<@root>
    %a = fsdp.view %root[@a] : !fsdp.unsharded<@root> -> tensor<3x3xf32>
    %w, %v = aten.linalg_eigh %a : (tensor<3x3xf32>) -> (tensor<3xf32>, tensor<3x3xf32>)
    %loss = aten.sum %w [0] : (tensor<3xf32>) -> tensor<f32>
    fsdp.record_loss %loss : tensor<f32>
    return
  }
}
