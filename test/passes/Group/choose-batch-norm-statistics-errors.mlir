// RUN: shardc-opt %s --verify-diagnostics --shardc-choose-batch-norm-statistics=stats=global

// expected-error@+1 {{E0204: expected local, sync or broadcast for batch norm statistics, got 'global'}}
module @unknown_word {
}
