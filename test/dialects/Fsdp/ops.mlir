// RUN: shardc-opt %s --split-input-file | shardc-opt --split-input-file | FileCheck %s

// Declarations: state, the mesh, and groups before and after the shard phase.
// CHECK-LABEL: module @declarations
//  CHECK-NEXT:   fsdp.parameter @wte.weight aliases ["lm_head.weight"] : tensor<8x4xf32>
//  CHECK-NEXT:   fsdp.parameter frozen @scale : tensor<4xf32>
//  CHECK-NEXT:   fsdp.buffer @bn.running_mean : tensor<4xf32>
//  CHECK-NEXT:   fsdp.mesh @mesh <shard = 4>
//  CHECK-NEXT:   fsdp.mesh @hybrid <replicate = 2, shard = 4>
//  CHECK-NEXT:   fsdp.group @root on @mesh policy <param = bf16, reduce = f32, cast_inputs = true> reshard default {
//  CHECK-NEXT:     fsdp.member @wte.weight keep f32
//  CHECK-NEXT:   }
//  CHECK-NEXT:   fsdp.group @flat on @mesh policy <> reshard always {
//  CHECK-NEXT:     fsdp.segment frozen f32 reduce f32 elements 64 shard 16 {
//  CHECK-NEXT:       fsdp.member @scale at 0
module @declarations {
  fsdp.parameter @wte.weight aliases ["lm_head.weight"] : tensor<8x4xf32>
  fsdp.parameter frozen @scale : tensor<4xf32>
  fsdp.buffer @bn.running_mean : tensor<4xf32>
  fsdp.mesh @mesh <shard = 4>
  fsdp.mesh @hybrid <replicate = 2, shard = 4>
  fsdp.group @root on @mesh policy <param = bf16, reduce = f32, cast_inputs = true> reshard default {
    fsdp.member @wte.weight keep f32
  }
  fsdp.group @flat on @mesh policy <> reshard always {
    fsdp.segment frozen f32 reduce f32 elements 64 shard 16 {
      fsdp.member @scale at 0
    }
  }
}

// -----

// A module has a path, a class, the number of a further call, and its group.
// CHECK-LABEL: func.func @modules
//       CHECK:   fsdp.module "fc" : "Linear" (%[[X:.*]] = %{{.*}} : tensor<4xf32>) -> tensor<4xf32> {
//  CHECK-NEXT:     fsdp.yield %[[X]] : tensor<4xf32>
//       CHECK:   fsdp.module "fc" : "Linear" call 1 group @fc (
//       CHECK:   fsdp.module "log" : "Logger" () -> () {
func.func @modules(%input: tensor<4xf32>) -> tensor<4xf32> {
  %0 = fsdp.module "fc" : "Linear" (%x = %input : tensor<4xf32>) -> tensor<4xf32> {
    fsdp.yield %x : tensor<4xf32>
  }
  %1 = fsdp.module "fc" : "Linear" call 1 group @fc (%x = %0 : tensor<4xf32>) -> tensor<4xf32> {
    fsdp.yield %x : tensor<4xf32>
  }
  fsdp.module "log" : "Logger" () -> () {
    fsdp.yield
  }
  return %1 : tensor<4xf32>
}

// -----

// State is read and written by name; a dtype changes at a module's boundary.
// CHECK-LABEL: func.func @state
//  CHECK-NEXT:   %[[MEAN:.*]] = fsdp.read @mean : tensor<4xf32>
//  CHECK-NEXT:   fsdp.write %[[MEAN]], @mean : tensor<4xf32>
//  CHECK-NEXT:   %[[NARROW:.*]] = fsdp.cast %[[MEAN]] at input : tensor<4xf32> -> tensor<4xbf16>
//  CHECK-NEXT:   fsdp.cast %[[NARROW]] at output : tensor<4xbf16> -> tensor<4xf32>
func.func @state() {
  %mean = fsdp.read @mean : tensor<4xf32>
  fsdp.write %mean, @mean : tensor<4xf32>
  %narrow = fsdp.cast %mean at input : tensor<4xf32> -> tensor<4xbf16>
  %wide = fsdp.cast %narrow at output : tensor<4xbf16> -> tensor<4xf32>
  return
}

// -----

// One program for every rank: gather, views, the reduction that is its dual,
// and the update of the local shard.
//       CHECK: fsdp.state @"root#0.momentum" "momentum" of @root[0] : tensor<4xf32>
//       CHECK: fsdp.state @"optimizer#count" "count" : tensor<f64>
// CHECK-LABEL: func.func @step
//       CHECK:   fsdp.begin forward
//  CHECK-NEXT:   %[[WHOLE:.*]] = fsdp.unshard @root : <@root>
//  CHECK-NEXT:   %[[W:.*]] = fsdp.view %[[WHOLE]][@w] : <@root> -> tensor<4xf32>
//  CHECK-NEXT:   fsdp.record_loss %{{.*}} : tensor<f32>
//       CHECK:   %[[SHARD:.*]] = fsdp.reduce_scatter @root [@w](%[[W]]) : (tensor<4xf32>) -> !fsdp.shard<@root>
//  CHECK-NEXT:   fsdp.begin update
//  CHECK-NEXT:   %{{.*}} = fsdp.gradient_norm %[[SHARD]] : (!fsdp.shard<@root>) -> tensor<2xf64>
//  CHECK-NEXT:   %learning_rate = fsdp.scalar learning_rate : tensor<f64>
//  CHECK-NEXT:   %[[OLD:.*]] = fsdp.read_shard @root[0] : tensor<4xf32>
//  CHECK-NEXT:   %[[SUM:.*]] = fsdp.gradient %[[SHARD]][0] : <@root> -> tensor<4xf32>
//  CHECK-NEXT:   %momentum = fsdp.read @"root#0.momentum" : tensor<4xf32>
//  CHECK-NEXT:   %[[NEW:.*]]:2 = fsdp.update "sgd" (%[[P:.*]] = %[[OLD]] : tensor<4xf32>, %[[G:.*]] = %[[SUM]] : tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
//  CHECK-NEXT:     fsdp.yield %[[P]], %[[G]] : tensor<4xf32>, tensor<4xf32>
//  CHECK-NEXT:   }
//  CHECK-NEXT:   fsdp.write_shard %[[NEW]]#0, @root[0] : tensor<4xf32>
//  CHECK-NEXT:   fsdp.write %[[NEW]]#1, @"root#0.momentum" : tensor<4xf32>
fsdp.state @"root#0.momentum" "momentum" of @root[0] : tensor<4xf32>
fsdp.state @"optimizer#count" "count" : tensor<f64>
func.func @step(%loss: tensor<f32>) {
  fsdp.begin forward
  %whole = fsdp.unshard @root : !fsdp.unsharded<@root>
  %w = fsdp.view %whole[@w] : !fsdp.unsharded<@root> -> tensor<4xf32>
  fsdp.record_loss %loss : tensor<f32>
  fsdp.begin backward
  %shard = fsdp.reduce_scatter @root [@w] (%w) : (tensor<4xf32>) -> !fsdp.shard<@root>
  fsdp.begin update
  %squares = fsdp.gradient_norm %shard : (!fsdp.shard<@root>) -> tensor<2xf64>
  %learning_rate = fsdp.scalar learning_rate : tensor<f64>
  %old = fsdp.read_shard @root[0] : tensor<4xf32>
  %sum = fsdp.gradient %shard[0] : !fsdp.shard<@root> -> tensor<4xf32>
  %momentum = fsdp.read @"root#0.momentum" : tensor<4xf32>
  %new:2 = fsdp.update "sgd" (%p = %old : tensor<4xf32>, %g = %sum : tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    fsdp.yield %p, %g : tensor<4xf32>, tensor<4xf32>
  }
  fsdp.write_shard %new#0, @root[0] : tensor<4xf32>
  fsdp.write %new#1, @"root#0.momentum" : tensor<4xf32>
  return
}

// -----

// The asynchronous forms: start on a stream, wait, reshard.
// CHECK-LABEL: func.func @asynchronous
//  CHECK-NEXT:   %[[GATHER:.*]] = fsdp.unshard_start @root on gather : <@root>
//  CHECK-NEXT:   %[[WHOLE:.*]] = fsdp.wait %[[GATHER]] : <@root> -> !fsdp.unsharded<@root>
//  CHECK-NEXT:   %[[W:.*]] = fsdp.view
//  CHECK-NEXT:   %[[REDUCE:.*]] = fsdp.reduce_scatter_start @root [@w](%[[W]]) on reduce
//  CHECK-NEXT:   fsdp.wait %[[REDUCE]] : <@root> -> !fsdp.shard<@root>
//  CHECK-NEXT:   fsdp.reshard %[[WHOLE]] : <@root>
func.func @asynchronous() {
  %gather = fsdp.unshard_start @root on gather : !fsdp.pending<@root>
  %whole = fsdp.wait %gather : !fsdp.pending<@root> -> !fsdp.unsharded<@root>
  %w = fsdp.view %whole[@w] : !fsdp.unsharded<@root> -> tensor<4xf32>
  %reduce = fsdp.reduce_scatter_start @root [@w] (%w) on reduce : (tensor<4xf32>) -> !fsdp.pending<@root>
  %shard = fsdp.wait %reduce : !fsdp.pending<@root> -> !fsdp.shard<@root>
  fsdp.reshard %whole : !fsdp.unsharded<@root>
  return
}

// -----

// Replicas sum what their shards have, and few ranks keep a group among them.
// CHECK-LABEL: module @more_axes
//       CHECK:   fsdp.mesh @mesh <replicate = 2, shard = 2, within_4 = 4>
//       CHECK:   fsdp.group @root on @mesh policy <> reshard always to 4 {
//       CHECK:     %[[KEPT:.*]] = fsdp.retain %{{.*}} : <@root> -> <@root>
//       CHECK:     fsdp.unshard @root from %[[KEPT]] as !fsdp.retained<@root> : <@root>
//       CHECK:     fsdp.unshard_start @root from %[[KEPT]] as !fsdp.retained<@root> on gather : <@root>
//       CHECK:     %[[SHARD:.*]] = fsdp.reduce_scatter
//       CHECK:     fsdp.all_reduce %[[SHARD]] over ["replicate"] : <@root>
//       CHECK:     %[[START:.*]] = fsdp.reduce_scatter_start
//       CHECK:     fsdp.all_reduce_start %[[START]] over ["replicate"] on replicate : <@root>
module @more_axes {
  fsdp.mesh @mesh <replicate = 2, shard = 2, within_4 = 4>
  fsdp.group @root on @mesh policy <> reshard always to 4 {
  }
  func.func @step(%x: tensor<4xf32>) {
    %whole = fsdp.unshard @root : !fsdp.unsharded<@root>
    %kept = fsdp.retain %whole : !fsdp.unsharded<@root> -> !fsdp.retained<@root>
    %again = fsdp.unshard @root from %kept as !fsdp.retained<@root> : !fsdp.unsharded<@root>
    %start = fsdp.unshard_start @root from %kept as !fsdp.retained<@root> on gather : !fsdp.pending<@root>
    %shard = fsdp.reduce_scatter @root [@w] (%x) : (tensor<4xf32>) -> !fsdp.shard<@root>
    %sum = fsdp.all_reduce %shard over ["replicate"] : !fsdp.shard<@root>
    %pending = fsdp.reduce_scatter_start @root [@w] (%x) on reduce : (tensor<4xf32>) -> !fsdp.pending<@root>
    %sum_start = fsdp.all_reduce_start %pending over ["replicate"] on replicate : !fsdp.pending<@root>
    return
  }
}
