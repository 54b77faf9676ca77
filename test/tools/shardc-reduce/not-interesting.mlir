// A script that finds nothing in the whole file would find nothing in a part.
// RUN: not shardc-reduce %s --test %S/has-gelu.sh 2>&1 | FileCheck %s

// CHECK: error: '{{.*}}has-gelu.sh' does not find '{{.*}}' interesting: it must exit with 0
func.func @step() {
  return
}
